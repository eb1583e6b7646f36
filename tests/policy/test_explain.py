"""What will happen to a call, in plain language."""

from __future__ import annotations

from circumspect.policy.explain import explain
from circumspect.policy.load import load
from circumspect.values import TenantId, ToolSpec

POLICY = load(
    """
let:
  order: facts.get_order[args.order_id]
tools:
  refund:
    effect: write
    confirm: always
    confidence_cap: 0.5
    critical: true
    params: {amount: {source: user}}
    requires: [{call: get_order, same: order_id}]
    deny_unless:
      - {if: order.status == 'delivered', because: Only what arrived is refunded.}
    when:
      - {if: args.amount > 100, then: four_eyes, because: That is a lot.}
    limits:
      - {sum: amount, at_most: 200, window: 24h}
    verify: {call: get_order, args: {order_id: args.order_id}, expect: result.refunded}
  delete_account: {effect: destructive, recovery: lookup}
  old_tool: {deny: It was replaced by refund.}
  strange: {confirm: always}
patterns:
  - {match: "get_*", effect: read}
tenants:
  acme: {tools: {refund: {unknown: ask}}}
"""
)


def test_a_governed_tool_is_explained_line_by_line() -> None:
    assert explain(POLICY, "refund") == "\n".join(
        [
            "refund",
            "- It changes something.",
            "- 'amount' must be in the user's own words.",
            "- Before it, get_order must have succeeded with the same order_id.",
            "- It is denied unless order.status == 'delivered'. Only what arrived is refunded.",
            "- When args.amount > 100, a colleague must approve it. That is a lot.",
            "- When that cannot be decided yet, the call is held: the model is told what to look up first.",
            "- ('order' is facts.get_order[args.order_id].)",
            "- Limit: refund: 'amount' may add up to at most 200 within 24 hours.",
            "- The user is asked to confirm it first.",
            "- However sure the model is, that counts for at most 0.5.",
            "- Afterwards get_order is called, and must show: result.refunded.",
            "- If a call is interrupted, it is never run again, and a person is told.",
            "- If it fails, a person is told.",
        ]
    )


def test_a_tenant_s_settings_are_explained() -> None:
    text = explain(POLICY, "refund", tenant=TenantId("acme"))
    assert text.startswith("refund for tenant acme\n")
    assert "the call is held: the user is asked." in text


def test_what_cannot_be_undone_is_confirmed_without_being_told_to() -> None:
    text = explain(POLICY, "delete_account")
    assert "cannot be taken back" in text
    assert "asked to confirm it first" in text
    assert "looked up whether it happened" in text


def test_a_tool_that_is_switched_off() -> None:
    assert explain(POLICY, "old_tool").splitlines()[1:] == [
        "- It is switched off. Every call is denied: It was replaced by refund."
    ]


def test_a_tool_that_a_pattern_covers() -> None:
    lines = explain(POLICY, "get_order").splitlines()
    assert "- It is covered by the pattern get_*." in lines
    assert "- It only reads: a call changes nothing." in lines


def test_a_tool_that_nobody_described_is_denied() -> None:
    assert "Every call is denied until someone says" in explain(POLICY, "strange")
    assert "The policy file does not name it, and nothing declares what it does." in explain(POLICY, "unheard_of")


def test_what_the_tool_declares_counts_where_the_file_is_silent() -> None:
    text = explain(POLICY, "unheard_of", spec=ToolSpec("unheard_of", effect="write", recovery="keyed"))
    assert "- The policy file does not name it." in text
    assert "- It changes something." in text
    assert "run again with the same key" in text
