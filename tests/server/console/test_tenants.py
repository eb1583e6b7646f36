"""Plans and tenants: what is changed holds, what it costs is measured, a key is seen once, and code is never edited."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
import sqlalchemy as sa
from tests.server.console.building import SAME, Browsing, ConsoleHouse, overflow, serious
from tests.stores import postgres_server

from circumspect.demo.demo_data import seed_demo
from circumspect.knowledge.read_document import read_document
from circumspect.policy.load import load
from circumspect.prompts import load_default_prompt
from circumspect.server.console.pages import tenants as page_module
from circumspect.server.console.pages.tenants import compare_modes, tool_row
from circumspect.server.stores import access, tenants
from circumspect.server.stores.tenants import TenantRow
from circumspect.server.vault import open_vault
from circumspect.stores import SqlStore, knowledge
from circumspect.stores.admin import UsageRow
from circumspect.stores.tables import turns
from circumspect.values import Plan, TenantId, ToolSpec

PAYLOAD = '<img src=x onerror="document.title=1"><script>document.title=2</script>{{7*7}}'
SHOP = TenantId("shop")


def row_of(house: ConsoleHouse, tenant: str = "shop") -> TenantRow:
    async def look(store: SqlStore) -> TenantRow | None:
        return await store.tx(tenants.get, TenantId(tenant))

    found = house.stored(look)
    assert found is not None
    return found


@pytest.fixture
def as_before(house: ConsoleHouse) -> Iterator[TenantRow]:
    """The shop is as it was when the test ends."""
    row = row_of(house)
    yield row

    async def back(store: SqlStore) -> None:
        await store.tx(tenants.put_plan, row.tenant.plan)
        await store.tx(tenants.put, row.tenant, row.settings or {})

    house.stored(back)


def test_the_share_of_adaptive_conversations_is_moved(
    browsing: Browsing, house: ConsoleHouse, as_before: TenantRow
) -> None:
    with browsing.as_("root") as page:
        page.goto("/tenants")
        page.click("main a[href='/tenants/shop']")
        page.wait_for_selector("#share")
        page.focus("#share")
        for _ in range(3):
            page.keyboard.press("ArrowDown")
        assert page.inner_text("#share-now") == "97"
        page.click("form[action='/tenants/shop'] button")
        page.wait_for_selector(".notice.good[role=status]")
        assert page.input_value("#share") == "97"
    after = row_of(house)
    assert after.tenant == replace(as_before.tenant, adaptive_share=0.97)
    assert after.settings == as_before.settings
    assert after.revision > as_before.revision, "workers hear of it"


def test_a_tenant_goes_to_a_standard_plan_and_the_slider_says_why_it_rests(
    browsing: Browsing, house: ConsoleHouse, as_before: TenantRow
) -> None:
    with browsing.as_("root", expected=("409",)) as page:
        page.goto("/tenants/shop")
        page.select_option("select[name=plan]", "free")
        page.click("form[action='/tenants/shop'] button")
        page.fill("#typed", "shop")
        page.click("button.danger")
        page.wait_for_selector(".notice.good[role=status]")
        assert page.is_disabled("#share")
        assert "plan's mode is standard" in page.inner_text("main")
    assert row_of(house).tenant.plan.name == "free"
    assert row_of(house).tenant.adaptive_share == as_before.tenant.adaptive_share


def test_the_mode_of_a_plan_is_switched_for_all_who_have_it(
    browsing: Browsing, house: ConsoleHouse, as_before: TenantRow
) -> None:
    before = as_before.tenant.plan
    with browsing.as_("root", expected=("409",)) as page:
        page.goto("/tenants")
        form = page.locator("tr", has=page.locator("input[name=name][value=pro]"))
        form.locator("select").select_option("standard")
        form.locator("input[name=multiplier]").fill("1.5")
        form.locator("button").click()
        page.wait_for_selector("#typed")
        said = page.inner_text("main")
        assert "shop-ru" in said
        assert "cancel_order" in said
        assert row_of(house).tenant.plan == before, "one click changes nothing"
        page.fill("#typed", "pro")
        page.click("button.danger")
        page.wait_for_selector(".notice.good[role=status]")
        assert row_of(house).tenant.plan == Plan("pro", "standard", 1.5)
        assert row_of(house, "shop-ru").tenant.plan.mode == "standard"
        page.click("form.notice button")
        page.wait_for_selector(".notice.good[role=status]")
    assert row_of(house).tenant.plan == before, "taken back as it was"


def test_what_a_plan_affects_is_what_the_database_says(house: ConsoleHouse, as_before: TenantRow) -> None:
    since = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=30)

    def count(connection: sa.Connection) -> tuple[int, int]:
        mine = [turns.c.tenant.in_(["shop", "shop-he", "shop-ru"]), turns.c.started_at >= since.timestamp()]
        ended = sa.select(sa.func.count(turns.c.id)).where(*mine, turns.c.outcome.is_not(None))
        return connection.scalar(ended) or 0, connection.scalar(ended.where(turns.c.outcome == "acted")) or 0

    async def look(store: SqlStore) -> tuple[int, int]:
        return await store.tx(count)

    messages, acted = house.stored(look)
    assert messages > acted > 0
    with house.visitor("root") as visitor:
        answer = visitor.post("/plans", data={"name": "pro", "mode": "standard"}, headers=SAME)
    assert answer.status_code == 409
    assert f"{messages} messages, {acted} of them with something done" in answer.text
    assert row_of(house) == as_before


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"mode": "adaptive", "multiplier": "2"}, 303),  # costs something, takes nothing away
        ({"mode": "adaptive", "quota": "10"}, 409),
        ({"mode": "standard"}, 409),
        ({"mode": "standard", "typed": "Pro"}, 409),
        ({"mode": "standard", "name": "nobody-has-it"}, 303),
    ],
)
def test_a_plan_asks_for_its_name_when_it_takes_something_away(
    house: ConsoleHouse, as_before: TenantRow, change: dict[str, str], status: int
) -> None:
    with house.visitor("root") as visitor:
        assert visitor.post("/plans", data={"name": "pro", **change}, headers=SAME).status_code == status


def test_a_share_of_nothing_asks_for_the_name_as_a_standard_plan_does(
    house: ConsoleHouse, as_before: TenantRow
) -> None:
    said = {"plan": "pro", "language": "en", "share": "0"}
    with house.visitor("root") as visitor:
        asked = visitor.post("/tenants/shop", data=said, headers=SAME)
        assert asked.status_code == 409
        assert "no second opinion" in asked.text
        assert row_of(house) == as_before
        assert visitor.post("/tenants/shop", data={**said, "typed": "shop"}, headers=SAME).status_code == 303
    assert row_of(house).tenant.adaptive_share == 0


def test_who_has_some_tenants_changes_no_plan(house: ConsoleHouse, as_before: TenantRow) -> None:
    with house.visitor("their-admin") as visitor:
        page = visitor.get("/tenants").text
        assert 'action="/plans"' not in page
        assert "Kestrel" not in page
        answer = visitor.post("/plans", data={"name": "pro", "mode": "standard"}, headers=SAME)
        assert answer.status_code == 403
        assert visitor.get("/tenants/shop").status_code == 404
        assert visitor.get("/tenants/shop/document?id=x").status_code == 404
        said = {"plan": "free", "language": "en", "name": "k", "scopes": "chat"}
        assert visitor.post("/tenants/shop", data=said, headers=SAME).status_code == 404
        assert visitor.post("/tenants/shop/keys", data=said, headers=SAME).status_code == 404
    assert row_of(house) == as_before


def keys_of(house: ConsoleHouse, tenant: str = "shop") -> dict[str, access.KeyRow]:
    async def look(store: SqlStore) -> Any:
        return await store.tx(access.list_keys, frozenset({TenantId(tenant)}))

    return {row.id: row for row in house.stored(look)}


def test_a_key_is_made_seen_once_rotated_and_revoked(browsing: Browsing, house: ConsoleHouse) -> None:
    with browsing.as_("root") as page:
        page.goto("/tenants/shop")
        page.fill("#keys input[name=name]", "backend")
        page.check("#keys input[value=read]")
        page.click("#keys button.primary")
        page.wait_for_selector("#new-key")
        key = page.inner_text("#new-key")
        assert house.client(key).get("/v1/conversations").status_code == 200
        id_ = key.split("_")[1]
        assert keys_of(house)[id_].scopes == ("chat", "read")
        page.reload()
        assert key not in page.content()
        assert page.query_selector("#new-key") is None
        page.click(f"form[action$='/{id_}/rotate'] button")
        page.wait_for_selector("#new-key")
        newer = page.inner_text("#new-key")
        assert newer != key
        assert house.client(newer).get("/v1/conversations").status_code == 200
        assert keys_of(house)[id_].expires_at is not None, "the old one ends, but not yet"
        page.click(f"details:has(form[action$='/{id_}/revoke']) summary")
        page.click(f"form[action$='/{id_}/revoke'] button")
        page.wait_for_selector("#keys .badge.off")
        assert page.query_selector("#new-key") is None
    assert keys_of(house)[id_].revoked_at is not None


def test_a_key_is_changed_only_under_its_own_tenant(house: ConsoleHouse) -> None:
    house.token("shop-ru", "chat")
    id_ = next(iter(keys_of(house, "shop-ru")))
    with house.visitor("root") as visitor:
        for did in ("rotate", "revoke"):
            assert visitor.post(f"/tenants/shop/keys/{id_}/{did}", headers=SAME).status_code == 404
    assert keys_of(house, "shop-ru")[id_].revoked_at is None


@pytest.mark.parametrize(
    "wrong", [{"name": ""}, {"scopes": []}, {"scopes": ["everything"]}, {"days": "0"}, {"days": "x"}]
)
def test_a_key_that_cannot_be_is_refused_with_words(house: ConsoleHouse, wrong: dict[str, Any]) -> None:
    before = keys_of(house)
    with house.visitor("root") as visitor:
        said = {"name": "k", "scopes": ["chat"], "days": "", **wrong}
        answer = visitor.post("/tenants/shop/keys", data=said, headers=SAME)
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert keys_of(house) == before


def test_a_key_that_stands_in_web_pages_may_do_nothing_else(house: ConsoleHouse) -> None:
    before = keys_of(house)
    with house.visitor("root") as visitor:
        for scopes in (["chat", "widget"], list(access.SCOPES)):
            said = {"name": "page", "scopes": scopes, "days": ""}
            answer = visitor.post("/tenants/shop/keys", data=said, headers=SAME)
            assert answer.status_code == 422
            assert "anybody can read it" in answer.text
    assert keys_of(house) == before


def test_only_admins_see_tenants(house: ConsoleHouse) -> None:
    for name in ("noa", "rita"):
        with house.visitor(name) as visitor:
            assert "/tenants" not in visitor.get("/").text
            assert visitor.get("/tenants/shop").status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("path", ["/plans", "/tenants/shop", "/tenants/shop/keys", "/tenants/shop/keys/{}/revoke"])
def test_another_site_changes_no_tenant(house: ConsoleHouse, path: str, site: str) -> None:
    house.token("shop", "chat")
    before, keys = row_of(house), keys_of(house)
    said = {"name": "pro", "mode": "standard", "plan": "free", "language": "ru", "scopes": "admin"}
    with house.visitor("root") as visitor:
        answer = visitor.post(path.format(next(iter(keys))), data=said, headers={"Sec-Fetch-Site": site})
    assert answer.status_code == 403
    assert (row_of(house), keys_of(house)) == (before, keys)


def test_secrets_are_shown_by_name_and_the_page_of_a_tenant_edits_no_tools(house: ConsoleHouse) -> None:
    async def seal(store: SqlStore) -> None:
        sealed = open_vault(house.settings).seal("the value of the secret")
        await store.tx(access.put_secret, SHOP, "crm_token", sealed, time.time())

    house.stored(seal)
    with house.visitor("root") as visitor:
        page = visitor.get("/tenants/shop").text
    assert "crm_token" in page
    assert "the value of the secret" not in page
    posts = {route.path for route in page_module.router.routes if "POST" in route.methods}  # type: ignore[attr-defined]
    assert not [path for path in posts if re.search("tool|secret|setting|document|business", path)]
    main = page[page.index("<main") : page.index("</main>")]
    names = set(re.findall(r'<(?:input|select|textarea)[^>]* name="([^"]+)"', main))
    assert names <= {"plan", "language", "share", "name", "days", "scopes", "file", "id"}


def test_tools_say_what_they_do_and_what_is_asked_before(house: ConsoleHouse) -> None:
    with house.visitor("root") as visitor:
        page = unescape(visitor.get("/tenants/shop").text)
    row = page.split('<code dir="ltr">delete_account</code>')[1].split("</tr>")[0]
    assert "irreversible" in row
    assert "40%" in row
    assert ">always<" in row
    policy = load("version: 1\ntools:\n  pay: {effect: write, confirm: four_eyes}\n  old: {deny: Gone.}\n")
    paid = tool_row(ToolSpec("pay"), policy, SHOP, frozenset({"pay"}))
    assert (paid.effect, paid.confirm, paid.cap, paid.enabled) == ("write", "four_eyes", 0.6, True)
    gone = tool_row(ToolSpec("old", effect="destructive"), policy, SHOP, frozenset())
    assert (gone.denied, gone.confirm, gone.enabled) == ("Gone.", "always", False)
    assert tool_row(ToolSpec("new"), policy, SHOP, None).cap is None


def test_how_turns_are_run_is_shown_as_the_file_says_it(house: ConsoleHouse, as_before: TenantRow) -> None:
    shipped = load_default_prompt("standard").id
    said = {
        "confirm_seconds": 600,
        "escalate_failures": True,
        "hand_over_apologies": True,
        "review": {"controller": "heuristic"},
        "temperatures": {"draft": 0.5},
        "prompts": {"standard": shipped},
        "understanding": {
            "profile": "service",
            "ignore": ["advice"],
            "topics": [{"name": "warranty", "phrases": ["warrant*", PAYLOAD]}],
        },
    }

    async def put(store: SqlStore) -> None:
        await store.tx(tenants.put, as_before.tenant, {**(as_before.settings or {}), **said})

    house.stored(put)
    with house.visitor("root") as visitor:
        page = visitor.get("/tenants/shop").text
        card = page.split('id="choices-title"')[1].split("</section>")[0]
        rows = {
            key: unescape(value)
            for key, value in re.findall(r'<code dir="ltr">([\w.]+)</code></td><td>(.*)</td>', card)
        }
        assert visitor.get(re.findall(r'href="([^"]+)"', rows["prompts.standard"])[0]).status_code == 200
    assert rows["confirm_seconds"] == "<bdi>600</bdi>"
    assert rows["escalate_failures"] == "<bdi>true</bdi>"
    assert rows["hand_over_apologies"] == "<bdi>true</bdi>"
    assert rows["review.controller"] == "<bdi>heuristic</bdi>"
    assert rows["temperatures.draft"] == "<bdi>0.5</bdi>"
    assert rows["understanding.ignore"] == "<bdi>advice</bdi>"
    assert rows["understanding.topics.1.name"] == "<bdi>warranty</bdi>"
    assert PAYLOAD not in card


def _used(mode: Any, messages: int, tokens: int, cost: float) -> UsageRow:
    return UsageRow(SHOP, "2026-03", mode, "m", messages, 1, 2, 3, 4, tokens, 0, cost, cost)


def test_modes_are_compared_by_what_a_message_cost() -> None:
    both = compare_modes([_used("adaptive", 10, 1000, 0.5), _used("standard", 5, 1000, 0.5)])
    assert both.difference == pytest.approx(-0.5)
    assert not both.in_tokens
    free = compare_modes([_used("adaptive", 10, 1000, 0), _used("standard", 10, 2000, 0)])
    assert free.in_tokens
    assert free.difference == pytest.approx(-0.5)
    assert compare_modes([_used("adaptive", 10, 1000, 0.5)]).difference is None
    assert compare_modes([]).difference is None


def test_a_document_is_shown_with_the_tree_of_its_sections(browsing: Browsing, house: ConsoleHouse) -> None:
    text = f"# Terms\n\nFirst.\n\n## Refunds {PAYLOAD}\n\nWithin 30 days. {PAYLOAD}\n\n### Gifts\n\nNever.\n"

    async def add(store: SqlStore) -> None:
        await store.tx(knowledge.put, SHOP, read_document(text.encode(), "terms & more.md"), "en")

    house.stored(add)
    with browsing.as_("root", width=1440) as page:
        page.goto("/tenants/shop")
        page.click("main a[href*='/document?']")
        page.wait_for_selector(".tree")
        assert page.inner_text(".tree ul ul ul a") == "Gifts"
        page.click(".tree ul ul ul a")
        page.wait_for_url("**#s1.1.1")
        assert "Never." in page.inner_text(".part:target")
        assert PAYLOAD in page.inner_text("main article")
        assert page.title().startswith("Terms")
        assert page.query_selector("main img") is None
        assert serious(page) == []
    with house.visitor("root") as visitor:
        assert visitor.get("/tenants/shop/document?id=nothing").status_code == 404
        assert visitor.get("/tenants/shop-he/document?id=terms%20%26%20more.md").status_code == 404


def test_text_of_a_tenant_stays_text(browsing: Browsing, house: ConsoleHouse, as_before: TenantRow) -> None:
    business = replace(as_before.tenant.business, name=PAYLOAD, description=PAYLOAD, policies={PAYLOAD: PAYLOAD})

    async def write(store: SqlStore) -> None:
        await store.tx(tenants.put, replace(as_before.tenant, business=business), as_before.settings or {})

    house.stored(write)
    with browsing.as_("root") as page:
        page.goto("/tenants/shop")
        page.fill("#keys input[name=name]", PAYLOAD)
        page.click("#keys button.primary")
        page.wait_for_selector("#new-key")
        assert PAYLOAD in page.inner_text("#keys table")
        for path in ("/tenants/shop", "/tenants", "/usage?by=tenant", "/policies"):
            page.goto(path)
            assert PAYLOAD in page.inner_text("main")
            assert page.title() not in ("1", "2")
            assert page.query_selector("main img") is None


def test_what_was_done_is_in_the_log(house: ConsoleHouse, as_before: TenantRow) -> None:
    with house.visitor("root") as visitor:
        said = {"plan": "pro", "language": "ru", "share": "50"}
        assert visitor.post("/tenants/shop", data=said, headers=SAME).status_code == 303
        assert "change_tenant" in visitor.get("/tenants/shop").text
    assert (row_of(house).tenant.language, row_of(house).tenant.adaptive_share) == ("ru", 0.5)


@pytest.mark.parametrize(
    "said",
    [
        {"plan": "pro", "language": "xx", "share": "50"},
        {"plan": "no plan", "language": "en", "share": "50"},
        {"plan": "none-such", "language": "en", "share": "50"},
        {"plan": "pro", "language": "en", "share": "101"},
        {"plan": "pro", "language": "en", "share": "many"},
    ],
)
def test_what_cannot_be_is_refused(house: ConsoleHouse, said: dict[str, str]) -> None:
    before = row_of(house)
    with house.visitor("root") as visitor:
        assert visitor.post("/tenants/shop", data=said, headers=SAME).status_code == 422
    assert row_of(house) == before


def test_a_tenant_that_cannot_be_served_is_still_shown(house: ConsoleHouse) -> None:
    async def add(store: SqlStore) -> None:
        row = await store.tx(tenants.get, TenantId("shop-ru"))
        assert row is not None
        broken = {"tools": [{"python": "no_such_package:tools"}]}
        await store.tx(tenants.put, replace(row.tenant, id=TenantId("broken")), broken)

    async def remove(store: SqlStore) -> None:
        await store.tx(lambda connection: connection.execute(sa.text("DELETE FROM tenants WHERE id = 'broken'")))

    house.stored(add)
    try:
        with house.visitor("root") as visitor:
            answer = visitor.get("/tenants/broken")
        assert answer.status_code == 200
        assert "cannot be served now" in answer.text
    finally:
        house.stored(remove)


@pytest.mark.parametrize(("language", "theme"), [("en", "light"), ("he", "dark"), ("ru", "dark")])
def test_the_pages_of_tenants_can_be_used_by_everyone(browsing: Browsing, language: str, theme: str) -> None:
    with browsing.as_("root", language=language, theme=theme) as page:
        for path in ("/tenants", "/tenants/shop-he"):
            page.goto(path)
            assert serious(page) == [], path
            for width in (1440, 768, 360):
                page.set_viewport_size({"width": width, "height": 900})
                assert overflow(page) <= 0, (path, width)


@pytest.mark.postgres
def test_the_pages_of_administrators_work_on_postgresql() -> None:
    try:
        with postgres_server.running() as server:
            server.sql("CREATE DATABASE console")
            made = ConsoleHouse(server.url("console"))

            async def furnished(store: SqlStore) -> None:
                await made._furnish(store)
                await seed_demo(store, made.settings, share=0.05)

            made.stored(furnished)
            with made, made.visitor("root") as visitor:
                month = f"{made.app.state.services.clock.now():%Y-%m}"
                for path in (
                    "/policies",
                    "/policies/shop",
                    "/policies/shop/diff?from=0&to=1",
                    "/tenants",
                    "/tenants/shop",
                    "/usage?by=model",
                    f"/usage?tenant=shop&period={month}",
                    f"/usage.csv?period={month}",
                ):
                    assert visitor.get(path).status_code == 200, path
                said = {"text": "version: 1", "most": "50"}
                tried = visitor.post("/policies/shop/trial", data=said, headers=SAME)
                assert "decided again" in tried.text
                made_key = visitor.post("/tenants/shop/keys", data={"name": "k", "scopes": "chat"}, headers=SAME)
                assert 'id="new-key"' in made_key.text
    except postgres_server.NoPostgres as reason:
        pytest.skip(f"NOT TESTED ON POSTGRESQL: {reason}")
