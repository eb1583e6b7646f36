"""Limits: how often, how much, per what, since when."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.policy_talk import NOW, facts, ran, ruled, user

from circumspect.policy.keys.call_limit import CallLimit, say_window
from circumspect.policy.keys.meaning import explain_clause
from circumspect.policy.keys.tool_policy import ToolPolicy
from circumspect.policy.limits import check_limit
from circumspect.policy.policy_file import Policy
from circumspect.reasons import ReasonCode
from circumspect.values import (
    SEVERITY,
    Allow,
    ConversationId,
    Deny,
    Execution,
    ExecutionId,
    PastCall,
    TenantId,
    ToolCall,
    TurnId,
)


def limited(**settings: object) -> Policy:
    return Policy(tools={"refund": ToolPolicy(effect="write", limits=(CallLimit.model_validate(settings),))})


def refund(amount: object = 10, **more: object) -> ToolCall:
    return ToolCall("refund", {"order_id": "1", "amount": amount, **more})


def refunded(amount: object = 10, **more: object) -> PastCall:
    return ran("refund", **{"order_id": "1", "amount": amount, **more})


def test_the_call_that_is_one_too_many_is_denied() -> None:
    once = limited(count=1)
    assert ruled(once, refund())[0] == Allow()
    verdict, findings = ruled(once, refund(), refunded())
    assert verdict == Deny("refund: at most 1 call in a conversation.")
    assert [finding.reason for finding in findings] == [ReasonCode.LIMIT_REACHED]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SKU-3", "SKU-3 "),
        ("SKU-3", "sku-3"),
        ("SKU-3", "SKU\u20113"),
        ("SKU-3", "SKU-3."),
        ("#4711", "4711"),
        ("4711", 4711),
        (4711, 4711.0),
        ("4711", "\u0664\u0667\u0661\u0661"),
        ("ACC-4711", "ACC 4711"),
        ("Хельга", "хельга"),
        ("2026-05-01", "2026-5-1"),
        ("https://shop.example/a/", "shop.example/a"),
        (["a1", "b2"], ["b2", "a1"]),
    ],
)
def test_a_value_in_another_spelling_makes_no_room(one: object, other: object) -> None:
    assert ruled(limited(count=1, per="order_id"), refund(order_id=other), refunded(order_id=one))[0].kind == "deny"
    shared = limited(sum="amount", at_most=15, per="order_id")
    assert ruled(shared, refund(order_id=other), refunded(order_id=one))[0].kind == "deny"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SKU-3", "SKU-31"),
        ("1-11", "11-1"),
        ("007", "7"),
        ("10.0.1.11", "10.0.11.1"),
        ("v1.1.1.py", "v11.1.py"),
        ("dave.b@corp.example", "daveb@corp.example"),
        ("a/b", "ab"),
        (1.5, 15),
    ],
)
def test_another_value_is_counted_apart(one: object, other: object) -> None:
    assert ruled(limited(count=1, per="order_id"), refund(order_id=other), refunded(order_id=one))[0] == Allow()


def test_only_successful_calls_count() -> None:
    assert ruled(limited(count=1), refund(), ran("refund", "Error", ok=False, order_id="1"))[0] == Allow()


def test_a_call_whose_outcome_nobody_knows_counts() -> None:
    open_call = Execution(
        id=ExecutionId("e"), tenant=TenantId("t"), conversation=ConversationId("c"), turn=TurnId("u"), call=refund(),
        effect="write", recovery="blind", state="indeterminate", token="", lease_until=NOW, started_at=NOW,
    )  # fmt: skip
    known = replace(facts(limited(count=1), refund()), unsettled=(open_call,))
    assert check_limit(CallLimit(count=1), known) is not None


def test_counted_apart_for_each_value() -> None:
    each = limited(count=1, per="order_id")
    assert ruled(each, refund(order_id="2"), refunded())[0] == Allow()
    assert ruled(each, refund(order_id="1"), refunded())[0] == Deny(
        "refund: at most 1 call for the same order_id in a conversation."
    )


def test_counted_together_with_other_tools() -> None:
    together = limited(count=1, across=["exchange"], per="order_id")
    assert isinstance(ruled(together, refund(), ran("exchange", order_id="1"))[0], Deny)
    assert ruled(together, refund(), ran("exchange", order_id="2"))[0] == Allow()


def test_amounts_add_up_with_this_call() -> None:
    most = limited(sum="amount", at_most=100)
    assert ruled(most, refund(60), refunded(40))[0] == Allow()
    assert ruled(most, refund(60.01), refunded(40))[0] == Deny(
        "refund: 'amount' may add up to at most 100 in a conversation."
    )


@pytest.mark.parametrize("amount", ["10", None, True, float("nan"), float("inf"), [1]])
def test_an_amount_that_cannot_be_added_up_is_denied(amount: object) -> None:
    assert ruled(limited(sum="amount", at_most=100), refund(amount))[0] == Deny(
        "'amount' must be a number, because it is limited."
    )


def test_a_negative_amount_makes_no_room() -> None:
    assert isinstance(ruled(limited(sum="amount", at_most=100), refund(150), refunded(-100))[0], Deny)


def test_the_file_s_own_words_are_used() -> None:
    assert ruled(limited(count=1, because="Once is enough."), refund(), refunded())[0] == Deny("Once is enough.")


def test_a_window_of_time_forgets_what_is_older() -> None:
    day = limited(count=1, window="24h")
    assert ruled(day, refund(), ran("refund", at=NOW - timedelta(hours=25), order_id="1"))[0] == Allow()
    assert isinstance(ruled(day, refund(), ran("refund", at=NOW - timedelta(hours=23), order_id="1"))[0], Deny)
    local = (NOW - timedelta(hours=23)).replace(tzinfo=None)
    assert isinstance(ruled(day, refund(), ran("refund", at=local, order_id="1"))[0], Deny)


def test_a_call_without_a_time_counts_in_every_window() -> None:
    assert isinstance(ruled(limited(count=1, window="1s"), refund(), refunded())[0], Deny)


def test_a_turn_ends_when_the_user_speaks() -> None:
    turn = limited(count=1, window="turn")
    assert isinstance(ruled(turn, refund(), user("refund me"), refunded())[0], Deny)
    assert ruled(turn, refund(), user("refund me"), refunded(), user("and again"))[0] == Allow()


def test_limits_say_window() -> None:
    assert explain_clause(CallLimit(count=3, per=("user", "shop"), window="7d"), "refund") == (
        "refund: at most 3 calls for the same user and shop within 7 days."
    )
    assert say_window("1h") == "within 1 hour"
    assert say_window("turn") == "before the user speaks again"


AMOUNTS = st.integers(-5, 50) | st.floats(-5, 50) | st.text(max_size=2) | st.none()


@given(
    st.lists(AMOUNTS, max_size=4),
    AMOUNTS,
    st.one_of(
        st.builds(CallLimit, count=st.integers(1, 3), per=st.sampled_from([(), ("order_id",)])),
        st.builds(CallLimit, sum=st.just("amount"), at_most=st.floats(1, 100)),
    ),
    st.builds(CallLimit, count=st.integers(1, 3), window=st.sampled_from(["turn", "conversation", "2w"])),
)
def test_one_more_limit_never_loosens_the_verdict(
    before: list[object], amount: object, limit: CallLimit, more: CallLimit
) -> None:
    verdicts = []
    for limits in ((limit,), (limit, more)):
        policy = Policy(tools={"refund": ToolPolicy(effect="write", limits=limits)})
        verdict, findings = ruled(policy, refund(amount), *(refunded(one) for one in before))
        assert ReasonCode.RULE_FAILED not in [finding.reason for finding in findings]
        verdicts.append(SEVERITY[verdict.kind])
    assert verdicts[0] <= verdicts[1]


# --- whose calls count ------------------------------------------------------------------------------------------------


def elsewhere(policy: Policy, *others: PastCall) -> str:
    """What becomes of a refund after these in other conversations."""
    known = facts(policy, refund())
    known = replace(known, session=replace(known.session, elsewhere=others))
    return "denied" if check_limit(known.policy.limits[0], known) else "allowed"  # type: ignore[union-attr]


MINE, THEIRS = refunded(at=NOW), replace(refunded(at=NOW), same_person=False)


@pytest.mark.parametrize(
    ("per", "after_mine", "after_theirs"),
    [
        ({}, "denied", "denied"),
        ({"per": "tenant"}, "denied", "denied"),
        ({"per": "person"}, "denied", "allowed"),
        ({"per": "conversation"}, "allowed", "allowed"),
        ({"per": ["person", "order_id"]}, "denied", "allowed"),
    ],
)
def test_a_limit_counts_everybodys_calls_or_one_persons_or_one_conversations(
    per: dict[str, object], after_mine: str, after_theirs: str
) -> None:
    policy = limited(count=1, window="24h", **per)
    assert (elsewhere(policy, MINE), elsewhere(policy, THEIRS)) == (after_mine, after_theirs)


def test_a_call_elsewhere_whose_outcome_nobody_knows_counts_too() -> None:
    policy = limited(count=1, window="24h", per="person")
    assert elsewhere(policy, replace(MINE, ok=False, unknown=True)) == "denied"
    assert elsewhere(policy, replace(MINE, ok=False)) == "allowed"


@pytest.mark.parametrize("window", ["turn", "conversation"])
@pytest.mark.parametrize("per", [{}, {"per": "order_id"}, {"per": "person"}])
def test_calls_elsewhere_use_up_no_limit_of_a_turn_or_a_conversation(per: dict[str, object], window: str) -> None:
    assert elsewhere(limited(count=1, window=window, **per), MINE) == "allowed"


def test_per_person_and_a_parameter_counts_for_both() -> None:
    policy = limited(count=1, window="24h", per=["person", "order_id"])
    assert elsewhere(policy, refunded(order_id="2", at=NOW)) == "allowed"


def test_a_parameter_that_is_called_person_is_written_out() -> None:
    once = limited(count=1, per="args.person")
    assert ruled(once, refund(person="ann"), refunded(person="bob"))[0] == Allow()
    assert isinstance(ruled(once, refund(person="ann"), refunded(person="ann"))[0], Deny)


def test_a_limit_says_whose_calls_it_counts() -> None:
    limit = CallLimit(count=2, window="24h", per=("person", "order_id"))
    said = explain_clause(limit, "refund")
    assert said == "refund: at most 2 calls for the same order_id of one person within 24 hours."
