"""Applying a file: all of it or nothing, twice is once, and the difference is told in words."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from circumspect.demo.samples.apply_samples import apply_samples
from circumspect.errors import ConfigError
from circumspect.server.stores import access, policies, tenants
from circumspect.server.tenants.file_findings import TenantFileError
from circumspect.server.tenants.write_tenant_file import as_file
from circumspect.server.vault import open_vault
from circumspect.stores import tables
from circumspect.stores.log_tables import operator_log
from circumspect.values import Business, Plan, Tenant, TenantId

SHOP = TenantId("shop")

FULL = """\
version: 1
id: shop
language: he
plan: {name: gold, mode: adaptive, multiplier: 2}
adaptive_share: 0.5
model: offline
retention_days: 90
rate_per_minute: 120
redact: ['\\d{16}']
business:
  name: The Shop
  hours: 9 to 5
  policies: {returns: within 30 days}
  faqs:
    - {q: Where are you?, a: Haifa}
tools:
  - python: MODULE:find_order
  - http:
      name: save_note
      description: Save a note.
      effect: write
      parameters: {type: object, properties: {text: {type: string}}, required: [text]}
      request: {method: POST, url: "https://crm.example.com/notes", json: {text: "{text}"}}
      auth: {bearer: {secret: crm_token}}
secrets:
  crm_token: {env: CRM_TOKEN}
notify:
  webhooks: [{url: "https://example.com/hooks/private-part", secret: crm_token}]
  emails: [{to: [ops@example.com]}]
policy:
  tools:
    find_order: {effect: read}
    save_note: {effect: write, confirm: always}
"""

TOOLS = """
from circumspect import tool

@tool(effect="read")
def find_order(order_id: str) -> dict:
    '''Find an order.'''
    return {"order_id": order_id}
"""


@pytest.fixture
def full(module, monkeypatch) -> str:
    monkeypatch.setenv("CRM_TOKEN", "s3cret-token")
    return FULL.replace("MODULE", module(TOOLS))


def whats(applied):
    return [f"{one.kind} {one.what}" for one in applied.changes]


async def test_everything_a_file_says_is_stored(apply, full, store, settings):
    applied = await apply(full)
    assert applied.created
    assert applied.warnings == ()
    row = await store.tx(tenants.get, SHOP)
    assert row.tenant.business == Business(
        "The Shop", hours="9 to 5", policies={"returns": "within 30 days"}, faqs=row.tenant.business.faqs
    )
    assert row.tenant.business.faqs[0].answer == "Haifa"
    assert (row.tenant.plan, row.tenant.language) == (Plan("gold", "adaptive", 2.0), "he")
    assert (row.tenant.adaptive_share, row.settings["retention_days"]) == (0.5, 90)
    assert (await store.tx(policies.current, SHOP)).text.startswith("tools:\n  find_order")
    assert await open_vault(settings).secrets_of(store, SHOP) == {"crm_token": "s3cret-token"}
    assert set(await store.tool_specs(SHOP)) == {"find_order", "save_note"}


async def test_no_secret_is_in_what_is_stored_shown_or_logged(apply, full, store, caplog):
    applied = await apply(full)
    assert "s3cret" not in repr(applied)
    assert "private-part" not in "".join(str(one) for one in applied.changes if "webhook" not in one.what)

    def everything(connection):
        names = sa.inspect(connection).get_table_names()
        return "".join(str(connection.execute(sa.text(f"SELECT * FROM {name}")).all()) for name in names)

    assert "s3cret" not in await store.tx(everything)
    assert "s3cret" not in caplog.text


async def test_applying_twice_changes_nothing(apply, full, store):
    await apply(full)
    before = await store.tx(tenants.revision, SHOP)
    again = await apply(full)
    assert (again.created, again.changes) == (False, ())
    assert await store.tx(tenants.revision, SHOP) == before
    assert len(await store.tx(policies.versions, SHOP)) == 1
    log, _ = await _log(store)
    assert len(log) == 1


async def _log(store):
    rows = await store.tx(lambda connection: connection.execute(sa.select(operator_log)).all())
    return rows, rows[0] if rows else None


async def test_a_dry_run_shows_the_difference_and_writes_nothing(apply, full, store):
    told = await apply(full, dry_run=True)
    assert told.created
    assert told.dry_run
    assert "added secret crm_token" in whats(told)
    assert await store.tx(tenants.get, SHOP) is None
    assert await store.get_plan("gold") is None
    await apply(full)
    changed = full.replace("9 to 5", "9 to 6").replace("within 30", "within 14").replace("Haifa", "Acre")
    told = await apply(changed, dry_run=True)
    assert [str(one) for one in told.changes] == [
        "~ business.hours: '9 to 5' → '9 to 6'",
        "~ business.policies.returns: 'within 30 days' → 'within 14 days'",
        "~ faq Where are you?: answer",
    ]
    assert (await store.tx(tenants.get, SHOP)).tenant.business.hours == "9 to 5"
    assert (await apply(full)).changes == ()


async def test_what_a_file_no_longer_says_is_removed(apply, full, store):
    await apply(full)
    smaller = full.replace("retention_days: 90\n", "").replace("  hours: 9 to 5\n", "")
    smaller = smaller[: smaller.index("  - http:")] + smaller[smaller.index("policy:") :].replace(
        "    save_note: {effect: write, confirm: always}\n", ""
    )
    told = await apply(smaller + "secrets: {}\n")
    gone = {one.what for one in told.changes if one.kind == "removed"}
    assert gone == {
        "business.hours",
        "retention_days",
        "tool save_note",
        "webhook https://example.com/hooks/private-part",
        "e-mail to ops@example.com",
        "secret crm_token",
    }
    assert {one.what for one in told.changes if one.kind == "changed"} == {"policy", "policy of save_note"}
    row = await store.tx(tenants.get, SHOP)
    assert row.tenant.business.hours == ""
    assert "retention_days" not in row.settings
    assert await store.tx(access.get_sealed_secrets, SHOP) == {}


async def test_a_policy_that_lets_more_through_is_marked(apply, full, store):
    await apply(full)
    told = await apply(full.replace("confirm: always", "confirm: never"))
    shown = [str(one) for one in told.changes]
    assert shown[0] == "~ policy: version 1 → 2"
    assert any("save_note" in line and "[loosened]" in line for line in shown)
    told = await apply(full.replace("confirm: always}", "confirm: never}  # sic"))
    assert [str(one) for one in told.changes] == [
        "~ policy: version 2 → 3; nothing that could change a verdict",
    ]


async def test_a_changed_secret_is_said_to_have_changed_and_no_more(apply, full, store, settings, monkeypatch):
    await apply(full)
    before = await store.tx(tenants.revision, SHOP)
    monkeypatch.setenv("CRM_TOKEN", "another one")
    told = await apply(full)
    assert [str(one) for one in told.changes] == ["~ secret crm_token"]
    assert await open_vault(settings).secrets_of(store, SHOP) == {"crm_token": "another one"}
    assert await store.tx(tenants.revision, SHOP) > before


async def test_what_a_file_does_not_mention_of_policy_and_secrets_stays(apply, store):
    small = "id: shop\nbusiness: {name: The Shop}\n"
    await apply(small + "policy: {tools: {}}\n")
    await store.tx(access.put_secret, SHOP, "by_hand", "sealed", 1.0)
    told = await apply(small)
    assert told.changes == ()
    assert await store.tx(policies.current, SHOP) is not None
    assert "by_hand" in await store.tx(access.get_sealed_secrets, SHOP)


async def test_a_plan_is_changed_for_everyone_who_has_it_and_that_is_said(apply, store):
    await apply("id: one\nplan: {name: gold, mode: standard}\nbusiness: {name: One}\n")
    other = await store.tx(tenants.revision, TenantId("one"))
    told = await apply("id: two\nplan: {name: gold, mode: adaptive}\nbusiness: {name: Two}\n")
    assert "~ plan gold: mode standard → adaptive (for 1 other tenant too)" in [str(one) for one in told.changes]
    assert (await store.tx(tenants.get, TenantId("one"))).tenant.plan.mode == "adaptive"
    assert await store.tx(tenants.revision, TenantId("one")) > other


async def test_a_plan_that_is_only_named_has_to_be_there(apply, store):
    with pytest.raises(ConfigError, match="There is no plan 'platinum'"):
        await apply("id: one\nplan: platinum\nbusiness: {name: One}\n")
    assert await store.tx(tenants.get, TenantId("one")) is None


async def test_nothing_of_a_file_is_written_when_the_end_of_it_fails(apply, full, store):
    def no_vault(_):
        class Broken:
            def seal(self, text):
                raise ConfigError("the vault is shut")

            def unseal(self, text):
                raise ConfigError("the vault is shut")

        return Broken()

    with pytest.raises(ConfigError, match="the vault is shut"):
        await apply(full, vault=no_vault)
    assert await store.tx(tenants.get, SHOP) is None
    assert await store.tx(policies.current, SHOP) is None
    assert await store.get_plan("gold") is None


async def test_a_policy_is_held_against_the_tools(apply, full, store):
    with pytest.raises(TenantFileError) as refused:
        await apply(full.replace("    find_order: {effect", "    find_ordr: {effect"))
    assert any("no tool is named 'find_ordr'; did you mean 'find_order'?" in one for one in refused.value.findings)
    assert await store.tx(tenants.get, SHOP) is None


async def test_all_that_is_wrong_with_tools_and_policy_is_said_together(apply, module):
    name = module("from circumspect import tool\n\n@tool\ndef look(): 'Look.'\n\ndef plain(order_id): ...\n")
    with pytest.raises(TenantFileError) as refused:
        await apply(
            f"""\
            id: shop
            business: {{name: The Shop}}
            enabled_tools: [look]
            tools:
              - python: {name}:look
              - python: {name}:lok
              - python: no_such_module_here:tools
              - python: {name}:plain
              - python: {name}:look
            policy:
              tols: {{}}
            """
        )
    text = "\n".join(refused.value.findings)
    for part in (
        f":6: '{name}' has no 'lok'; did you mean 'look'?",
        ":7: There is no Python module 'no_such_module_here'",
        f":8: {name}:plain is neither a tool nor makes any; Decorate it with @tool",
        ":9: there are two tools named 'look'",
        ":11: unknown key 'tols'",
    ):
        assert part in text, text
    assert len(refused.value.findings) == 5


async def test_an_effect_that_nobody_declares_is_a_warning(apply, module):
    name = module("from circumspect import tool\n\n@tool\ndef look(): 'Look.'\n")
    applied = await apply(f"id: shop\nbusiness: {{name: x}}\ntools: [{{python: '{name}:look'}}]\n")
    assert any("nobody says what 'look' does, so its calls are denied" in one for one in applied.warnings)
    declared = await apply(
        f"id: shop\nbusiness: {{name: x}}\ntools: [{{python: '{name}:look'}}]\npolicy: {{tools: {{look: {{effect: read}}}}}}\n"
    )
    assert declared.warnings == ()


async def test_an_enabled_tool_has_to_exist(apply, module):
    name = module("from circumspect import tool\n\n@tool(effect='read')\ndef look(): 'Look.'\n")
    with pytest.raises(TenantFileError, match="no tool is named 'loook'; did you mean 'look'"):
        await apply(f"id: shop\nbusiness: {{name: x}}\nenabled_tools: [loook]\ntools: [{{python: '{name}:look'}}]\n")


async def test_what_was_applied_is_in_the_operators_log(apply, full, store):
    await apply(full, by="dana")
    _, row = await _log(store)
    assert (row.operator, row.action, row.tenant) == ("dana", "apply", "shop")
    assert "+ secret crm_token" in row.detail["changes"]


async def test_a_tenant_that_a_program_made_becomes_one_that_is_served(apply, store):
    await store.put_tenant(Tenant(SHOP, Business("The Shop")))
    assert await store.tx(tenants.revisions) == {}
    applied = await apply("id: shop\nbusiness: {name: The Shop}\n")
    assert applied.created
    assert list(await store.tx(tenants.revisions)) == ["shop"]


async def test_what_is_shown_can_be_applied_and_changes_nothing(apply, full, store, write):
    await apply(full)

    def shown(connection):
        row = tenants.get(connection, SHOP)
        return as_file(row, policies.current(connection, SHOP), access.get_sealed_secrets(connection, SHOP))

    text = await store.tx(shown)
    assert "s3cret" not in text
    assert "# Secrets that are stored: crm_token" in text
    applied = await apply(text)
    assert applied.changes == ()


async def test_texts_with_line_separators_come_back_as_they_were(apply, store):
    said = "We sell\u2028tyres\x85and\u2029wheels"
    head = "tools:\n  refund:\n    effect: destructive\n    deny_unless:\n"
    policy = f'{head}      - {{if: "true", because: "{said}"}}\n'
    indented = "".join(f"  {line}\n" for line in policy.removesuffix("\n").split("\n"))
    tool = "tools: [{http: {name: refund, description: Pay back, request: {url: 'https://example.com'}}}]\n"
    await apply(f'id: shop\nbusiness: {{name: The Shop, description: "{said}"}}\n{tool}policy:\n{indented}')

    def shown(connection):
        return as_file(tenants.get(connection, SHOP), policies.current(connection, SHOP))

    assert (await store.tx(policies.current, SHOP)).text == policy
    assert (await apply(await store.tx(shown))).changes == ()


async def test_the_samples_are_applied_once_and_then_left_alone(apply, store, settings, clock):
    first = await apply_samples(store, settings, clock=clock)
    assert [one.tenant for one in first] == ["shop", "shop-he", "shop-ru"]
    assert all(one.created and one.warnings == () for one in first)
    await store.tx(policies.put_policy, SHOP, "tools: {}\n", "h", at=clock.now(), created_by="a person")
    assert await apply_samples(store, settings, clock=clock) == ()
    assert (await store.tx(policies.current, SHOP)).created_by == "a person"


@pytest.mark.parametrize("name", ["shop", "shop-he", "shop-ru"])
async def test_a_shown_sample_can_be_applied_and_changes_nothing(name, apply, store, settings, clock):
    await apply_samples(store, settings, clock=clock)

    def shown(connection):
        return as_file(tenants.get(connection, TenantId(name)), policies.current(connection, TenantId(name)))

    assert (await apply(await store.tx(shown))).changes == ()


# --- documents ------------------------------------------------------------------------------------------------------


@pytest.fixture
async def library(store):
    from circumspect.knowledge.search import Library
    from circumspect.stores import knowledge_tables

    made = [knowledge_tables.documents, knowledge_tables.passages]
    await store.tx(lambda connection: tables.metadata.create_all(connection, tables=made))
    return Library(store)


SMALL = "id: shop\nbusiness: {name: The Shop}\n"


async def test_documents_can_be_searched_after_the_file_was_applied(apply, write, library, store):
    write("# Guarantee\n\nTyres carry a guarantee of two years.\n", "docs/guarantee.md")
    write("We open at nine.\n", "docs/hours.txt")
    applied = await apply(SMALL + "documents: [docs/*]\n")
    assert "added document docs/guarantee.md" in whats(applied)
    (found, *_) = await library.search("shop", "how long is the guarantee on tyres")
    assert (found.document, "two years" in found.text) == ("docs/guarantee.md", True)
    assert (await apply(SMALL + "documents: [docs/*]\n")).changes == ()


async def test_documents_are_replaced_removed_or_left_alone(apply, write, library, store):
    write("Old words.\n", "a.md")
    write("Other words.\n", "b.md")
    await apply(SMALL + "documents: [a.md, b.md]\n")
    write("New words.\n", "a.md")
    told = await apply(SMALL + "documents: [a.md]\n", dry_run=True)
    assert whats(told) == ["changed document a.md", "removed document b.md"]
    assert (await library.document("shop", "a.md")).text.startswith("Old")
    await apply(SMALL + "documents: [a.md]\n")
    assert (await library.document("shop", "a.md")).text.startswith("New")
    assert await library.document("shop", "b.md") is None
    assert (await apply(SMALL)).changes == ()
    assert len(await library.documents("shop")) == 1


async def test_a_document_that_is_too_large_is_refused_with_how_large_it_may_be(apply, write):
    write("x" * 25_000_001, "large.md")
    with pytest.raises(TenantFileError, match=r"large\.md has 25\.0 MB, and 25 MB is the limit") as refused:
        await apply(SMALL + "documents:\n  - large.md\n")
    assert "Split it into parts. A file may have 25 MB and 5,000,000 characters of text." in str(refused.value)


async def test_a_document_that_cannot_be_read_is_refused_at_its_line(apply, write, library, store):
    write("", "empty.md")
    with pytest.raises(TenantFileError, match=r"tenant.yaml:4: empty.md has no text in it"):
        await apply(SMALL + "documents:\n  - empty.md\n")
    assert await store.tx(tenants.get, SHOP) is None
