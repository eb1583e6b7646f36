"""What changed between two policies, in words; what lets more through is marked."""

from __future__ import annotations

import pytest

from circumspect.policy.diff import changes, diff
from circumspect.policy.load import load

OLD = """
let:
  order: facts.get_order[args.order_id]
tools:
  refund:
    effect: write
    confirm: always
    confidence_cap: 0.5
    critical: true
    params: {amount: {source: user}}
    requires: [get_order]
    deny_unless:
      - {if: order.status == 'delivered', because: Only what arrived is refunded.}
    when:
      - {if: args.amount > 100, then: four_eyes, because: That is a lot.}
    limits:
      - {sum: amount, at_most: 200, per: order_id, window: 24h}
    verify: {call: get_order, args: {order_id: args.order_id}, expect: result.refunded}
  get_order: {effect: read}
"""


def changed(old: str, new: str, text: str = OLD) -> list[str]:
    assert old in text
    return diff(load(text), load(text.replace(old, new)))


def test_nothing_changed() -> None:
    assert diff(load(OLD), load(OLD)) == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("confirm: always", "confirm: when_implied", "refund: confirm always → when_implied [loosened]"),
        ("confirm: always", "confirm: four_eyes", "refund: confirm always → four_eyes [tightened]"),
        (
            "confirm: always",
            "confirm: always\n    keys_approve: true",
            "refund: keys_approve false → true [loosened]",
        ),
        ("effect: write", "effect: destructive", "refund: effect write → destructive [tightened]"),
        ("confidence_cap: 0.5", "confidence_cap: 0.9", "refund: confidence_cap 0.5 → 0.9 [loosened]"),
        ("confidence_cap: 0.5", "confidence_cap: 0.1", "refund: confidence_cap 0.5 → 0.1 [tightened]"),
        ("critical: true", "critical: false", "refund: critical true → false [loosened]"),
        ("source: user", "source: any", "refund: where 'amount' may come from: user → any [loosened]"),
        ("    requires: [get_order]\n", "", "refund: no longer: requires an earlier get_order [loosened]"),
        (
            "order.status == 'delivered'",
            "order.status != 'lost'",
            "refund: deny_unless: denied unless order.status == 'delivered' (Only what arrived is refunded.) → "
            "denied unless order.status != 'lost' (Only what arrived is refunded.) [look at it]",
        ),
        (
            "then: four_eyes",
            "then: confirm",
            "refund: when: four_eyes when args.amount > 100 (That is a lot.) → "
            "confirm when args.amount > 100 (That is a lot.) [loosened]",
        ),
        (
            "at_most: 200",
            "at_most: 500",
            "refund: limit sum of amount 200 per order_id within 24 hours → "
            "sum of amount 500 per order_id within 24 hours [loosened]",
        ),
        (
            "window: 24h",
            "window: 1h",
            "refund: limit sum of amount 200 per order_id within 24 hours → "
            "sum of amount 200 per order_id within 1 hour [loosened]",
        ),
        ("    limits:\n", "    unknown: ask\n    limits:\n", "refund: unknown deny → ask [loosened]"),
        (
            "    verify: {call: get_order, args: {order_id: args.order_id}, expect: result.refunded}\n",
            "",
            "refund: is no longer verified afterwards [loosened]",
        ),
        ("facts.get_order[", "facts.get_parcel[", "let: 'order' stands for another place [look at it]"),
        ("let:", "timezone: Asia/Jerusalem\nlet:", "timezone: UTC → Asia/Jerusalem [look at it]"),
        ("get_order: {effect: read}", "get_order: {deny: Broken.}", "get_order: is switched off: Broken. [tightened]"),
    ],
)
def test_a_change_in_words(old: str, new: str, says: str) -> None:
    if "deny: Broken." in new:
        old_text = "tools: {get_order: {effect: read}}"
        assert says in changed(old, new, old_text)
    else:
        assert says in changed(old, new)


def test_a_tool_that_is_no_longer_named_loses_its_conditions() -> None:
    lines = diff(load(OLD), load("tools: {get_order: {effect: read}}"))
    assert "refund: is no longer named" in lines
    assert any(line.startswith("refund: no longer: denied unless") and "[loosened]" in line for line in lines)


def test_a_new_tool_is_said_to_be_new() -> None:
    lines = diff(load("tools: {a: {effect: read}}"), load("tools: {a: {effect: read}, b: {effect: write}}"))
    assert lines[0] == "b: is named for the first time"


def test_switching_a_tool_on_again_is_a_loosening() -> None:
    assert diff(load("tools: {a: {deny: Broken.}}"), load("tools: {a: {effect: read}}")) == [
        "a: effect not said → read [look at it]",
        "a: is switched on again [loosened]",
    ]


def test_patterns_and_their_order() -> None:
    one, other = "{match: 'get_*', effect: read}", "{match: 'g*', effect: write}"
    assert diff(load(f"patterns: [{one}, {other}]"), load(f"patterns: [{other}, {one}]")) == [
        "patterns: are in another order; the first that fits holds [look at it]"
    ]
    assert diff(load(f"patterns: [{one}]"), load(f"patterns: [{one}, {other}]")) == ["pattern g*: is new [look at it]"]


def test_a_tenant_s_own_change() -> None:
    old = "tools: {a: {effect: write, confirm: always}}"
    new = old + "\ntenants: {acme: {tools: {a: {confirm: never}}}}"
    assert diff(load(old), load(new)) == ["a for tenant acme: confirm always → never [loosened]"]


def test_changes_can_be_counted() -> None:
    found = changes(load(OLD), load(OLD.replace("confirm: always", "confirm: never")))
    assert [change.direction for change in found] == ["loosened"]
