"""A rule that is made of a held call: one change to the text, everything else word for word as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect.policy.amend import Amendment, HeldCall, propose
from circumspect.policy.edit import add, put, rename
from circumspect.policy.load import load, read_yaml
from circumspect.policy.rule_lines import RULE_KEYS, LineFinder
from circumspect.policy.rules import RULES
from circumspect.values import TenantId, ToolCall, ToolSpec

TEXT = """\
# מדיניות: what the shop may do
version: 1
tools:
  # money goes out
  refund:
    effect: write
    confirm: four_eyes   # two people
    when:
      - if: args.amount > 100
        then: four_eyes
        because: Large refunds are looked at.
      - if: args.amount > 5000
        then: deny
        because: Nobody refunds that much.
    limits:
      - {count: 3, per: [order_id], window: "24h"}
  cancel: {effect: destructive}
  move: {effect: write, confirm: always}
  close: {deny: Not before the audit is over.}
patterns:
  - match: get_*
    effect: read
"""
SHOP = TenantId("shop")


def spec(name: str, effect: str = "write") -> ToolSpec:
    parameters = {
        "type": "object",
        "properties": {"order_id": {"type": "string"}, "amount": {"type": "number"}},
    }
    return ToolSpec(name=name, description=name, parameters=parameters, effect=effect)  # type: ignore[arg-type]


SPECS = {one: spec(one) for one in ("refund", "cancel", "move", "close", "other")} | {"get_it": spec("get_it", "read")}


def held(tool: str, rule: str, **more: object) -> HeldCall:
    return HeldCall(ToolCall(tool, {"order_id": "A'1", "amount": 120}), rule, **more)  # type: ignore[arg-type]


def proposals(tool: str, rule: str, **more: object) -> dict[str, Amendment]:
    return {one.key: one for one in propose(TEXT, held(tool, rule, **more), SHOP, SPECS)}


def changed(amended: str) -> list[str]:
    """Lines that are not as they were; nothing else may differ."""
    before = TEXT.splitlines()
    return [line for line in amended.splitlines() if line not in before]


def test_four_eyes_become_a_question_and_a_question_becomes_none() -> None:
    found = proposals("refund", "a_colleague_approved")
    assert changed(found["ask_user"].text) == ["    confirm: always   # two people"]
    assert [one.direction for one in found["ask_user"].changes] == ["loosened"]
    found = proposals("move", "asked_for_confirmations_are_given")
    assert changed(found["never_ask"].text) == ["  move: {effect: write, confirm: never}"]
    found = proposals("close", "the_policy_leaves_the_tool_on")
    assert changed(found["switch_on"].text) == ["  close: {confirm: always}"]


def test_what_cannot_be_undone_is_never_let_through_without_a_yes() -> None:
    found = proposals("cancel", "what_cannot_be_undone_is_confirmed")
    assert not [one for one in found.values() if one.aim == "let_through"]
    assert changed(found["four_eyes"].text) == ["  cancel: {confirm: four_eyes, effect: destructive}"]
    assert [one.direction for one in found["four_eyes"].changes] == ["tightened"]


def test_a_condition_goes_on_holding_but_for_such_a_call() -> None:
    found = proposals("refund", "its_conditions_hold", because="Nobody refunds that much.")
    only = [one for one in found.values() if one.aim == "let_through"]
    assert [one.about for one in only] == ["Nobody refunds that much."]
    assert load(only[0].text).tools["refund"].when[1].condition == (
        "(args.amount > 5000) && !(args.order_id == 'A\\'1' && args.amount == 120)"
    )
    found = proposals("refund", "limits_are_kept")
    assert load(found["one_more:4"].text).tools["refund"].limits[0].count == 4


def test_calls_like_this_are_always_held() -> None:
    found = proposals("move", "a_wish_is_not_a_command")
    rule = load(found["four_eyes_from:amount ≥ 120"].text).tools["move"].when[0]
    assert (rule.condition, rule.then) == ("args.amount >= 120", "four_eyes")
    assert load(found["deny_from:amount ≥ 120"].text).tools["move"].when[0].then == "deny"
    assert "deny_for:order_id = A'1" not in found, "an order's number is no kind of call"
    found = proposals("other", "a_change_is_not_guessed")
    assert load(found["always_ask"].text).tools["other"].confirm == "always"
    assert load(found["never_ask"].text).tools["other"].confirm == "never"
    assert "four_eyes" not in proposals("get_it", "required_arguments_are_present"), "nothing is confirmed of a read"


def test_a_value_without_a_source_may_come_from_anywhere() -> None:
    found = proposals("move", "every_value_has_a_source", missing=("order_id",))
    assert load(found["any_source:order_id"].text).tools["move"].params["order_id"].source == "any"


def test_the_line_of_a_rule_is_found() -> None:
    lines = LineFinder(TEXT, load(TEXT))
    found = {
        rule: lines.find(rule, "refund", SHOP)
        for rule in ("a_colleague_approved", "limits_are_kept", "every_value_has_a_source", "the_tool_exists")
    }
    assert {rule: (one.number, one.is_key) if one else None for rule, one in found.items()} == {
        "a_colleague_approved": (7, True),
        "limits_are_kept": (15, True),
        "every_value_has_a_source": (5, False),
        "the_tool_exists": None,
    }
    spoke = lines.find("its_conditions_hold", "refund", SHOP, "Nobody refunds that much.")
    assert spoke is not None
    assert TEXT.splitlines()[spoke.number - 1].strip() == "- if: args.amount > 5000"
    pattern = lines.find("somebody_said_what_the_tool_does", "get_it", SHOP)
    assert pattern is not None
    assert TEXT.splitlines()[pattern.number - 1].strip() == "effect: read"


def test_rules_that_read_a_key_are_rules() -> None:
    assert set(RULE_KEYS) <= {one.name for one in RULES}


@pytest.mark.parametrize(
    "text",
    ["", "# nothing\n", "version: 1\n", "version: 1\ntools:\n", "version: 1\ntools: {}\n", "tools:\n  a:\n"],
)
def test_what_is_not_there_is_made(text: str) -> None:
    made = put(text, ("tools", "a", "confirm"), "always")
    assert read_yaml(made)[0]["tools"]["a"] == {"confirm": "always"}
    assert text.removesuffix("tools: {}\n").strip() in made


@given(
    st.sampled_from(["refund", "cancel", "move", "new one", "true", "א"]),
    st.sampled_from(["confirm", "deny", "x"]),
    st.one_of(st.text(max_size=20), st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False)),
)
def test_only_the_one_place_changes(tool: str, key: str, value: object) -> None:
    before, _, _ = read_yaml(TEXT)
    made = put(TEXT, ("tools", tool, key), value)  # type: ignore[arg-type]
    after, _, findings = read_yaml(made)
    assert not findings
    assert after["tools"][tool].pop(key) == value
    before["tools"].setdefault(tool, {}).pop(key, None)
    assert after == before
    assert [line for line in TEXT.splitlines() if "#" in line and "confirm" not in line] == [
        line for line in made.splitlines() if "#" in line and line in TEXT
    ][:2]


def test_items_come_first_and_keys_change_their_name() -> None:
    item = {"if": "true", "then": "ask", "because": "x: y"}
    made = read_yaml(add(TEXT, ("tools", "refund", "when"), item))[0]  # type: ignore[arg-type]
    assert made["tools"]["refund"]["when"][0] == item
    assert len(made["tools"]["refund"]["when"]) == 3
    assert read_yaml(add(TEXT, ("tools", "cancel", "when"), item))[0]["tools"]["cancel"]["when"] == (item,)  # type: ignore[arg-type]
    assert "  close: {confirm: always}\n" in rename(TEXT, ("tools", "close", "deny"), "confirm", "always")
