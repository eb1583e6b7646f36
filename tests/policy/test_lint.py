"""Lint: a file that contradicts itself, or the tools it is about, is refused; what is only doubtful is a warning."""

from __future__ import annotations

import pytest
from tests.policy.policy_talk import spec

from circumspect.policy.keys.call_limit import CallLimit
from circumspect.policy.keys.tool_policy import ToolPolicy
from circumspect.policy.lint import lint
from circumspect.policy.load import check
from circumspect.policy.policy_file import Policy

TOOLS = {
    "cancel_order": spec("cancel_order", {"order_id": "string"}, effect="destructive"),
    "refund": spec("refund", {"order_id": "string", "amount": "number", "note": "string"}),
    "get_order": spec("get_order", {"order_id": "string"}, effect="read"),
    "get_user": spec("get_user", {"user_id": "string"}, effect="read"),
    "search": spec("search", {"from_city": "string", "to_city": "string"}, effect="read"),
    "read_mail": spec("read_mail", {"mail_id": "string"}, effect="read", open_world=True),
}


def findings(text: str, *, tools: bool = True) -> list[str]:
    return [f"{one.level} {one.line}: {one.problem}" for one in check(text, specs=TOOLS if tools else None)[1]]


def section(lines: str, tool: str = "refund") -> str:
    body = "\n".join(f"    {line}" for line in lines.splitlines())
    return f"tools:\n  {tool}:\n{body}\n"


@pytest.mark.parametrize(
    ("tool", "lines", "problem"),
    [
        ("cancel_order", "confirm: never", "error 3: what cannot be undone is never run without a confirmation"),
        ("get_order", "confirm: always", "error 3: a tool that changes nothing has nothing to confirm"),
        ("get_order", "confirm: four_eyes", "error 3: a tool that changes nothing has nothing to confirm"),
        ("get_order", "keys_approve: true", "error 3: a tool that changes nothing has nothing to approve"),
        ("cancel_order", "effect: write", "error 3: effect 'write' is looser than what the tool declares"),
        ("refund", "deny: Broken.\nconfirm: always", "error 3: a tool that is switched off has no use for confirm"),
        ("refund", 'deny: " "', "error 3: 'deny' says no reason"),
        ("refund", "effect: write\nlimits: [{}]", "error 4: a limit is either on the count or on a sum"),
        ("refund", "effect: write\nlimits: [{count: 1, sum: amount}]", "error 4: a limit is either on the count"),
        ("refund", "effect: write\nlimits: [{sum: amount}]", "error 4: 'sum' and 'at_most' belong together"),
        ("refund", "effect: write\nlimits: [{count: 1, at_most: 3}]", "error 4: 'sum' and 'at_most' belong together"),
        ("refund", "effect: write\nlimits: [{sum: note, at_most: 3}]", "error 4: 'note' of 'refund' is no number"),
        ("refund", "effect: write\nlimits: [{count: 1, per: oder_id}]", "error 4: 'refund' has no parameter 'oder_id'"),
        ("refund", "effect: write\nlimits: [{count: 1, across: refnd}]", "error 4: no tool is named 'refnd'"),
        ("refund", "effect: write\nparams: {ammount: {source: user}}", "error 4: 'refund' has no parameter 'ammount'"),
        ("refund", 'effect: write\nphrase: {en: "pay {sum}"}', "error 4: 'refund' has no parameter 'sum'"),
        ("refund", "effect: write\nphrase: {fr: payer}", "warning 4: no one is spoken to in 'fr'"),
        ("refund", "effect: write\nrequires: [get_oder]", "error 4: no tool is named 'get_oder'"),
        ("refund", "effect: write\nrequires: [refund]", "error 4: 'refund' requires itself"),
        (
            "refund",
            "effect: write\nrequires: [{call: get_order, same: amount}]",
            "error 4: 'get_order' has no parameter 'amount'",
        ),
        (
            "refund",
            "effect: write\nidempotent: false\nrecovery: keyed",
            "error 5: recovery 'keyed' runs an interrupted call again, and the tool is not idempotent",
        ),
        ("get_order", "recovery: keyed", "warning 3: a read is simply made again"),
        (
            "refund",
            "effect: write\nlimits: [{count: 1, window: 24h}]",
            "warning 4: the calls of all people count together",
        ),
        (
            "refund",
            "effect: write\nlimits: [{count: 1, per: person}]",
            "error 4: within a conversation there is nobody else to count apart",
        ),
        (
            "refund",
            "effect: write\nlimits: [{count: 1, per: [person, tenant], window: 24h}]",
            "error 4: 'per' names person and tenant",
        ),
        (
            "refund",
            "effect: write\ndeny_unless: [{if: 'person.name == args.note', because: x}]",
            "error 4: nothing is known of a person under 'name'",
        ),
        ("refund", "effect: write\nconfidence_cap: 1", "warning 4: a cap of 1 caps nothing"),
        ("refund", "effect: write\nunknown: ask", "warning 4: there is no condition that could be unknown"),
        ("refund", "critical: true", "warning 2: nothing here says what 'refund' does"),
        (
            "cancel_order",
            "when: [{if: 'true', then: confirm, because: x}]",
            "warning 3: it is confirmed anyway",
        ),
        (
            "refund",
            "effect: write\nverify: {call: cancel_order, args: {order_id: args.order_id}, expect: result.ok}",
            "error 4: 'cancel_order' changes something",
        ),
        (
            "refund",
            "effect: write\nverify: {call: get_order, args: {}, expect: result.ok}",
            "error 4: 'get_order' needs 'order_id'",
        ),
        (
            "get_order",
            "verify: {call: get_user, args: {user_id: '1'}, expect: result.ok}",
            "error 3: a read has no effect to verify",
        ),
    ],
)
def test_a_contradiction(tool: str, lines: str, problem: str) -> None:
    assert any(found.startswith(problem) for found in findings(section(lines, tool))), findings(section(lines, tool))


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        ("args.oder_id == '1'", "'refund' has no parameter 'oder_id'"),
        ("args.amount - 100 > 0.0", "this does not work"),
        ("facts.get_oder[args.order_id].x == 1", "no tool is named 'get_oder'"),
        ("latest.get_usr.x == 1", "no tool is named 'get_usr'"),
        ("order.x == oder.x", "undeclared reference to 'oder.x'"),
        ("facts.search[args.order_id].x == 1", "nothing says by which parameter the results of 'search' are kept"),
        ("latest.read_mail.paid", "strangers can write what 'read_mail' returns"),
        ("call.args.x == 1", "'call' only has a meaning in a requirement"),
        ("result.x == 1", "'result' only has a meaning in `verify`"),
        ("user_of.name == 'x'", "'refund' has no parameter 'user_id'"),
    ],
)
def test_a_condition_that_makes_no_sense(condition: str, problem: str) -> None:
    text = "let:\n  order: facts.get_order[args.order_id]\n  user_of: facts.get_user[args.user_id]\n" + section(
        f'effect: write\ndeny_unless:\n  - if: "{condition}"\n    because: x'
    )
    found = [one for one in findings(text) if one.startswith("error")]
    assert len(found) == 1
    assert problem in found[0]
    assert found[0].startswith("error 8: ")


@pytest.mark.parametrize(
    ("let", "problem"),
    [
        ("args: facts.x", "'args' cannot be a name"),
        ("in: facts.get_order", "'in' cannot be a name"),
        ("two words: latest.get_order", "'two words' cannot be a name"),
        ("a: b.x\n  b: a.x", "goes round in a circle"),
        ("a: args.x + 1.0", "must be a place"),
        ("a: latest.get_order", "'a' is not used"),
    ],
)
def test_a_name_that_cannot_be(let: str, problem: str) -> None:
    assert any(problem in found for found in findings(f"let:\n  {let}\n"))


def test_how_facts_are_kept() -> None:
    assert "error 1: 'updated_by' needs a 'key'" in findings("facts: {get_order: {updated_by: refund}}")
    assert "error 1: 'get_order' has no parameter 'id'" in findings("facts: {get_order: {key: id}}")
    assert "error 1: no tool is named 'get_oder'" in findings("facts: {get_oder: {key: order_id}}")
    assert "warning 1: this says nothing" in findings("facts: {get_order: {}}")
    keyed = "facts: {search: {key: to_city}}\n" + section(
        "effect: write\ndeny_unless:\n  - if: facts.search[args.note].free\n    because: x"
    )
    assert findings(keyed) == []


def test_a_requirement_that_is_switched_off_can_never_be_met() -> None:
    text = section("effect: write\nrequires: [get_order]") + "  get_order: {deny: Broken.}\n"
    assert "error 4: 'get_order' is switched off" in findings(text)


def test_patterns_are_patterns_and_the_narrower_comes_first() -> None:
    lines = [f"  - {{match: '{match}', effect: read}}" for match in ("get_*", "get_u*", "search")]
    found = findings("\n".join(("patterns:", *lines)))
    assert "warning 3: 'get_*' comes first and covers 'get_u*'" in found
    assert "error 4: 'search' is no pattern" in found
    assert findings("patterns: [{match: 'x_*', effect: read}]") == ["warning 1: no tool needs 'x_*'"]


def test_a_pattern_is_held_against_every_tool_it_covers() -> None:
    condition = "deny_unless: [{if: args.order_id != '', because: x}]"
    found = findings(f"patterns:\n  - match: '*'\n    effect: write\n    {condition}\n")
    assert any("'get_user' has no parameter 'order_id'" in one for one in found)
    assert any("effect 'write' is looser than what the tool declares, 'destructive'" in one for one in found)


def test_a_tenant_may_loosen_but_it_is_said() -> None:
    text = section("effect: write\nconfirm: always") + "tenants:\n  acme:\n    tools:\n      refund: {confirm: never}\n"
    assert findings(text) == ["warning 8: for tenant 'acme' this is looser than above: confirm always → never"]


def test_a_tenant_s_override_is_held_against_what_it_overrides() -> None:
    text = section("effect: destructive") + "tenants:\n  acme:\n    tools:\n      refund: {confirm: never}\n"
    assert any("error 7: what cannot be undone" in one for one in findings(text))
    off = section("effect: write\nconfirm: always") + "tenants:\n  acme:\n    tools:\n      refund: {deny: Not here.}\n"
    assert findings(off) == []


def test_a_time_zone_that_does_not_exist() -> None:
    assert findings("timezone: Mars/Olympus") == ["error 1: no time zone 'Mars/Olympus'"]


def test_unknown_tools_are_only_known_with_the_tools() -> None:
    text = section("effect: write\nrequires: [whatever]", "some_tool")
    assert findings(text, tools=False) == []
    assert "error 2: no tool is named 'some_tool'" in findings(text)


def test_a_policy_made_in_python_can_be_linted_too() -> None:
    policy = Policy(tools={"pay": ToolPolicy(effect="destructive", confirm="never", limits=(CallLimit(),))})
    assert [(one.level, one.line) for one in lint(policy)] == [("error", 0), ("error", 0)]


def test_a_file_without_fault_has_no_findings() -> None:
    text = "let:\n  order: facts.get_order[args.order_id]\n" + section(
        "effect: write\nrequires: [{call: get_order, same: order_id}]\n"
        "deny_unless:\n"
        "  - {if: order.status == 'delivered' && args.amount <= order.total, because: Only what arrived.}\n"
        "limits: [{sum: amount, at_most: 100, per: order_id, window: 24h}]\n"
        "verify: {call: get_order, args: {order_id: args.order_id}, expect: result.refunded}"
    )
    assert findings(text) == []
