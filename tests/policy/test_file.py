"""The model of the policy file: which section holds for a tool, and what the file's hash covers."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from circumspect.errors import PolicyError
from circumspect.policy.keys.clauses import Requirement
from circumspect.policy.keys.tool_policy import ToolPolicy, cap_of, effect_of
from circumspect.policy.load import load
from circumspect.policy.policy_file import Policy
from circumspect.values import TenantId, ToolSpec

ACME = TenantId("acme")


def test_the_stricter_of_file_and_tool_holds() -> None:
    assert effect_of(ToolSpec("t", effect="destructive"), ToolPolicy(effect="read")) == "destructive"
    assert effect_of(ToolSpec("t", effect="read"), ToolPolicy(effect="write")) == "write"
    assert effect_of(None, ToolPolicy()) is None


def test_without_a_cap_in_the_file_the_effect_decides() -> None:
    assert cap_of("write", None) == 0.6
    assert cap_of("destructive", ToolPolicy(confirm="always")) == 0.6
    assert cap_of("read", None) == 1.0
    assert cap_of("write", ToolPolicy(confidence_cap=0.2)) == 0.2


PATTERNS = """
tools:
  get_secret: {effect: write, confirm: always}
patterns:
  - {match: "get_user_*", effect: read, critical: true}
  - {match: "get_*", effect: read}
"""


def test_the_exact_name_wins_then_the_first_pattern_that_fits() -> None:
    policy = load(PATTERNS)
    secret, name, order = policy.of("get_secret", None), policy.of("get_user_name", None), policy.of("get_order", None)
    assert secret
    assert secret.confirm == "always"
    assert name
    assert name.critical
    assert order
    assert not order.critical
    assert policy.of("Get_order", None) is None
    assert policy.of("set_order", None) is None


def test_a_tenant_replaces_single_settings() -> None:
    policy = Policy.model_validate(
        {
            "tools": {"refund": {"effect": "write", "confirm": "always", "limits": [{"count": 1}]}},
            "patterns": [{"match": "get_*", "effect": "read"}],
            "tenants": {
                "acme": {
                    "tools": {
                        "refund": {"limits": [{"count": 3}]},
                        "get_x": {"critical": True},
                        "own": {"effect": "read"},
                    }
                }
            },
        }
    )
    theirs, general = policy.of("refund", ACME), policy.of("refund", None)
    assert theirs
    assert theirs.confirm == "always"
    assert theirs.limits[0].count == 3
    assert general
    assert general.limits[0].count == 1
    covered = policy.of("get_x", ACME)
    assert covered
    assert covered.effect == "read"
    assert covered.critical
    assert policy.of("own", ACME) == ToolPolicy(effect="read")
    assert policy.of("own", None) is None


def test_conditions_see_the_names_of_the_file_and_of_the_tool() -> None:
    policy = Policy.model_validate(
        {"let": {"a": "args.a", "b": "args.b"}, "timezone": "UTC", "tools": {"t": {"let": {"b": "args.other"}}}}
    )
    section = policy.of("t", ACME)
    assert section
    assert dict(section.scope.let) == {"a": "args.a", "b": "args.other"}
    assert section.scope.tenant == "acme"


def test_what_is_compiled_is_shared_between_tenants() -> None:
    policy = Policy.model_validate({"let": {"a": "args.a"}, "tools": {"t": {"effect": "read"}}})
    one, other = policy.of("t", ACME), policy.of("t", None)
    assert one
    assert other
    assert one.scope.compiled is other.scope.compiled


@pytest.mark.parametrize(
    "change",
    [
        {"timezone": "Asia/Jerusalem"},
        {"let": {"a": "args.b"}},
        {"facts": {"get_order": {"key": "order_id"}}},
        {"patterns": [{"match": "get_*", "effect": "read"}, {"match": "*", "effect": "write"}]},
        {"patterns": [{"match": "*", "effect": "write"}, {"match": "get_*", "effect": "read"}]},
        {"tools": {"t": {"unknown": "ask"}}},
        {"tools": {"t": {"requires": ["x"]}}},
        {"tools": {"t": {"deny_unless": [{"if": "true", "because": "y"}]}}},
        {"tools": {"t": {"limits": [{"count": 1}]}}},
        {"tools": {"t": {"limits": [{"count": 2}]}}},
        {"tools": {"t": {"params": {"p": {"source": "user"}}}}},
        {"tenants": {"acme": {"tools": {"t": {"unknown": "ask"}}}}},
    ],
)
def test_the_hash_changes_with_everything_that_can_change_a_verdict(change: dict[str, Any]) -> None:
    plain, changed = Policy(), Policy.model_validate(change)
    assert plain.hash != changed.hash
    assert changed.hash == Policy.model_validate(change).hash


def test_the_order_of_patterns_is_part_of_the_hash() -> None:
    one = {"match": "get_*", "effect": "read"}
    other = {"match": "*", "effect": "write"}
    assert (
        Policy.model_validate({"patterns": [one, other]}).hash != Policy.model_validate({"patterns": [other, one]}).hash
    )


def test_short_forms() -> None:
    policy = Policy.model_validate({"tools": {"t": {"requires": ["a", {"call": "b", "same": "id"}]}}})
    assert policy.tools["t"].requires == (Requirement(call=("a",)), Requirement(call=("b",), same=("id",)))


def test_nothing_unknown_gets_in() -> None:
    with pytest.raises(ValidationError):
        ToolPolicy.model_validate({"confrim": "always"})


STRANGERS = """
tools:
  read_mail: {effect: read, open_world: true}
  get_order: {effect: read}
tenants:
  acme: {tools: {get_order: {open_world: true}}}
"""


def test_a_file_marks_tools_that_strangers_speak_through_and_never_takes_such_a_mark_away() -> None:
    policy = load(STRANGERS)
    tools = {one.name: one for one in (ToolSpec("read_mail"), ToolSpec("get_order"), ToolSpec("look", open_world=True))}

    def names(tenant: TenantId | None) -> list[str]:
        return [name for name, spec in policy.mark_strangers(tools, tenant).items() if spec.open_world]

    assert names(None) == ["read_mail", "look"]
    assert names(ACME) == ["read_mail", "get_order", "look"]
    assert load("version: 1").mark_strangers(tools, ACME) is tools


def test_what_strangers_write_decides_nothing_whoever_marked_it() -> None:
    pay = "  pay: {effect: write, deny_unless: [{if: latest.read_mail.paid, because: Only what is paid.}]}"
    with pytest.raises(PolicyError, match="strangers can write what 'read_mail' returns"):
        load(STRANGERS.replace("tenants:", f"{pay}\ntenants:"))
