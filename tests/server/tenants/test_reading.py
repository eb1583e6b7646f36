"""A tenant file is read whole or refused whole, with every finding at its line."""

from __future__ import annotations

import orjson
import pytest

from circumspect.server.tenants.read_tenant_file import schema

SMALL = """\
id: shop
business: {name: The Shop}
"""


def said(reading):
    folder = f"{reading.path.parent}/"
    return [str(one).replace(folder, "") for one in reading.findings]


def test_a_name_is_all_that_a_tenant_needs(reading):
    found = reading(SMALL)
    assert said(found) == []
    assert (found.file.id, found.file.plan.name, found.file.language) == ("shop", "pro", "en")


def test_everything_that_is_wrong_is_said_at_once_with_its_line_and_what_to_do(reading):
    found = reading(
        """\
        id: shop
        langauge: en
        plan: {name: pro, mode: adaptiv}
        business:
          name: The Shop
          hour: 9 to 5
        retention_days: 0
        redact: ["(unclosed"]
        tools:
          - python: shop.tools
          - python: shop:tools
            http: {name: x, request: {url: "https://example.com"}}
        """
    )
    lines = said(found)
    assert found.is_broken
    for expected in (
        "tenant.yaml:2: unknown key 'langauge'; did you mean 'language'?",
        "tenant.yaml:3: 'mode' cannot be this; did you mean 'adaptive'?",
        "tenant.yaml:6: unknown key 'hour'; did you mean 'hours'?",
    ):
        assert expected in lines
    for start in (
        "tenant.yaml:7: 'retention_days': input should be greater than or equal to 1",
        "tenant.yaml:8: item 1 of 'redact': this is not a regular expression",
        "tenant.yaml:10: 'python' is not written as it should be",
        "tenant.yaml:11: item 2 of 'tools': write exactly one of python, http, mcp, business and client",
    ):
        assert any(line.startswith(start) for line in lines), lines
    assert len(lines) == 7


def test_missing_keys_say_what_belongs_there(reading):
    lines = said(reading("language: en\n"))
    assert any("'id' is missing; The tenant's id" in line for line in lines)
    assert any("'business' is missing" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "'id' is missing"),
        ("[1, 2]\n", "the file must have settings below it"),
        ("id: shop\nid: other\nbusiness: {name: x}\n", "'id' is here twice"),
        ("id: &a shop\nbusiness: {name: *a}\n", "*a repeats something"),
        ("id: [\n", "this is not YAML"),
        ("id: shop\nbusiness: {name: x}\n---\nid: other\n", "not one YAML document"),
        ("id: ../shop\nbusiness: {name: x}\n", "'id' is not written as it should be"),
        ("id: shop\nbusiness: {name: x, phone: 123}\n", "'phone' must be text; Put it in quotes."),
        ("id: shop\nbusiness: {name: x}\ntools: {python: a:b}\n", "'tools' must be a list"),
    ],
)
def test_what_is_not_a_tenant_file_is_refused(reading, text, problem):
    lines = said(reading(text))
    assert any(problem in line for line in lines), lines


def test_a_file_that_is_not_there_is_a_finding(tmp_path):
    from circumspect.server.tenants.read_tenant_file import read

    assert "there is no file" in str(read(tmp_path / "none.yaml").findings[0])


# --- policy ---------------------------------------------------------------------------------------------------------


def test_an_inline_policy_is_kept_as_it_was_written(reading):
    found = reading(
        SMALL
        + """\
policy:

  # Nobody cancels without a yes.
  version: 1
# a remark on the far left
  tools:
    cancel_order: {effect: destructive, confirm: always}   # always

# about the language
language: en
"""
    )
    assert found.policy.text == (
        "# Nobody cancels without a yes.\nversion: 1\n# a remark on the far left\ntools:\n"
        "  cancel_order: {effect: destructive, confirm: always}   # always\n"
    )
    policy, findings = found.policy.check(None)
    assert findings == ()
    assert policy.tools["cancel_order"].confirm == "always"


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\nlanguage: en\n", "\n# the end\n"])
def test_an_inline_policy_may_be_the_last_thing_or_not(reading, end):
    found = reading(SMALL + "policy:\n  tools:\n    refund: {effect: destructive}" + end)
    assert found.policy.text == "tools:\n  refund: {effect: destructive}\n"


def test_an_inline_policy_in_braces_is_kept_too(reading):
    found = reading(
        SMALL + "policy: {tools: {refund: {effect: destructive},\n  lookup: {effect: read}}}\nlanguage: en\n"
    )
    assert found.policy.text == "{tools: {refund: {effect: destructive},\n  lookup: {effect: read}}}\n"
    policy, findings = found.policy.check(None)
    assert findings == ()
    assert set(policy.tools) == {"refund", "lookup"}


@pytest.mark.parametrize("break_", ["\u2028", "\u2029", "\x85"])
@pytest.mark.parametrize("policy", ["\n  version: 1\n  tools: {refund: {effect: read}}", " {version: 1, tools: {}}"])
def test_a_line_separator_in_a_description_moves_no_line_of_an_inline_policy(reading, break_, policy):
    business = f'id: shop\nbusiness: {{name: The Shop, description: "We sell{break_}tyres{break_}and wheels"}}\n'
    plain = reading(SMALL + f"policy:{policy}\n")
    found = reading(business + f"policy:{policy}\n")
    assert found.policy.text == plain.policy.text
    assert found.policy.check(None)[1] == ()


def test_findings_in_an_inline_policy_are_at_their_line_of_the_tenant_file(reading):
    found = reading(SMALL + "policy:\n  # why\n  version: 1\n  tools:\n    refund: {efect: destructive}\n")
    findings = found.policy.check(None)[1]
    assert str(findings[0]).rpartition("/")[2].startswith("tenant.yaml:7: unknown key 'efect'")


def test_a_policy_is_checked_even_if_the_rest_of_the_file_is_broken(reading):
    lines = said(reading(SMALL + "langauge: en\npolicy:\n  tols: {}\n"))
    assert any(":3: unknown key 'langauge'" in line for line in lines)
    assert any(":5: unknown key 'tols'" in line for line in lines)


def test_a_policy_file_is_found_beside_the_tenant_file_and_speaks_for_itself(reading, write):
    write("tools:\n  refund: {efect: destructive}\n", "rules/policy.yaml")
    found = reading(SMALL + "policy: rules/policy.yaml\n")
    assert any("policy.yaml:2: unknown key 'efect'" in str(one) for one in found.policy.check(None)[1])


def test_a_policy_file_that_is_missing_is_said_at_its_line(reading):
    assert any(":3: there is no file" in line for line in said(reading(SMALL + "policy: none.yaml\n")))


# --- secrets --------------------------------------------------------------------------------------------------------


def test_secrets_come_from_the_environment_and_from_files(reading, write, monkeypatch):
    monkeypatch.setenv("CRM_TOKEN", "from the environment")
    write("from a file\n", "token.txt")
    found = reading(SMALL + "secrets: {crm: {env: CRM_TOKEN}, mail: {file: token.txt}}\n")
    assert found.findings == ()
    assert found.secrets == {"crm": "from the environment", "mail": "from a file"}
    assert "from the environment" not in repr(found)


def test_a_secret_that_is_not_there_is_said_at_its_line(reading, monkeypatch):
    monkeypatch.delenv("CRM_TOKEN", raising=False)
    lines = said(reading(SMALL + "secrets:\n  crm: {env: CRM_TOKEN}\n  mail: {file: none.txt}\n"))
    assert any(":4: the environment variable CRM_TOKEN is not set" in line for line in lines)
    assert any(":5: the secret cannot be read from" in line for line in lines)


@pytest.mark.parametrize(
    "section",
    [
        "secrets: {crm: sk-live-1234567890}",
        "secrets: {crm: {env: sk-live-1234567890}}",
        "secrets: {crm: {value: sk-live-1234567890}}",
        "secrets: [sk-live-1234567890]",
        "id: [sk-live-1234567890]",
        "language: sk-live-1234567890",
    ],
)
def test_a_secret_in_the_wrong_place_is_refused_and_not_repeated(reading, section):
    start = SMALL if not section.startswith("id") else "business: {name: x}\n"
    found = reading(start + section + "\n")
    assert found.is_broken
    assert not any("1234567890" in line for line in said(found))


def test_a_tool_that_needs_a_secret_nobody_gives_is_refused_with_a_hint(reading, monkeypatch):
    monkeypatch.setenv("TOKEN", "x")
    lines = said(
        reading(
            SMALL
            + """\
secrets: {crm_token: {env: TOKEN}}
tools:
  - http:
      name: find
      request: {url: "https://crm.example.com/find"}
      auth: {bearer: {secret: crm_tokn}}
  - mcp:
      name: desk
      url: https://desk.example.com/mcp
      headers: {Authorization: {secret: desk_token}}
notify: {webhooks: [{url: "https://example.com/hook", secret: hook}]}
"""
        )
    )
    assert any(":8: there is no secret 'crm_tokn'; did you mean 'crm_token'?" in line for line in lines), lines
    assert any(":9: there is no secret 'desk_token'" in line for line in lines)
    assert any(":13: there is no secret 'hook'" in line for line in lines)


# --- tools and documents --------------------------------------------------------------------------------------------


def test_an_http_tool_is_checked_at_its_line(reading):
    lines = said(
        reading(
            SMALL
            + """\
tools:
  - http: {name: find, request: {url: "https://crm.example.com/{customer}"}}
  - http: {name: save, request: {method: PUSH, url: "https://crm.example.com"}}
"""
        )
    )
    assert any(":5:" in line and "PUSH" not in line and "'method' cannot be this" in line for line in lines), lines
    lines = said(reading(SMALL + 'tools:\n  - http: {name: find, request: {url: "https://x.example.com/{who}"}}\n'))
    assert any(":4: find: the request names '{who}'" in line for line in lines), lines


def test_documents_are_found_by_pattern(reading, write):
    write("a", "docs/a.md")
    write("b", "docs/b.md")
    found = reading(SMALL + "documents: [docs/*.md, docs/a.md]\n")
    assert [path.name for path in found.documents] == ["a.md", "b.md"]
    assert any(
        ":3: there is no file 'docs/*.pdf'" in line for line in said(reading(SMALL + "documents: [docs/*.pdf]\n"))
    )


def test_the_published_schema_describes_every_key():
    published = schema()
    orjson.dumps(published)
    assert published["title"] == "Circumspect tenant"
    for name, section in {"": published, **published["$defs"]}.items():
        if name in ("", "BusinessSection", "NotifySection", "PlanSection", "WebhookSection"):
            assert all("description" in field for field in section["properties"].values()), name
