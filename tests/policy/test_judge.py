"""The strictest verdict wins, whoever speaks; a rule that breaks denies."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect.policy.facts import Facts
from circumspect.policy.judge import judge, rule
from circumspect.policy.rules import RULES
from circumspect.reasons import ReasonCode
from circumspect.turn import (
    SEVERITY,
    Allow,
    Ask,
    Assessment,
    Confirm,
    Deny,
    Escalate,
    Heard,
    Session,
    ToolCall,
    ToolSpec,
)

SPEC = ToolSpec(
    "cancel_order",
    parameters={"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
    effect="destructive",
)
NOW = datetime(2026, 3, 31, tzinfo=UTC)
verdicts = st.sampled_from([Allow(), Confirm(), Confirm(by="colleague"), Ask(missing=("x",)), Escalate(), Deny("no")])


def facts(**changed):
    settings = {
        "call": ToolCall("cancel_order", {"order_id": "1"}),
        "spec": SPEC,
        "policy": None,
        "effect": "destructive",
        "mode": "adaptive",
        "now": NOW,
        "assessment": Assessment(0.9),
        "session": Session((Heard("user", "cancel order 1", 0),)),
    }
    return Facts(**{**settings, **changed})


def saying(verdict):
    @rule(ReasonCode.LOW_CONFIDENCE)
    def some_claim(_facts):
        return verdict

    return some_claim


@given(st.lists(verdicts, max_size=6), verdicts)
def test_adding_a_rule_never_loosens_a_verdict(spoken, one_more):
    rules = [saying(verdict) for verdict in spoken]
    before, _ = judge(facts(), rules)
    after, _ = judge(facts(), [*rules, saying(one_more)])
    assert SEVERITY[after.kind] >= SEVERITY[before.kind]
    assert SEVERITY[after.kind] >= SEVERITY[one_more.kind]


@given(st.permutations(RULES), st.sampled_from(["standard", "adaptive"]), st.sampled_from(["read", "write", None]))
def test_the_order_of_rules_does_not_change_how_strict_the_verdict_is(rules, mode, effect):
    one = facts(mode=mode, effect=effect)
    assert judge(one, rules)[0].kind == judge(one, RULES)[0].kind


@given(st.sets(st.sampled_from(RULES)))
def test_fewer_of_our_own_rules_are_never_stricter_than_all_of_them(some):
    one = facts(call=ToolCall("cancel_order", {}), assessment=None)
    assert SEVERITY[judge(one, list(some))[0].kind] <= SEVERITY[judge(one, RULES)[0].kind]


def test_a_rule_that_crashes_denies_and_says_so():
    @rule(ReasonCode.LOW_CONFIDENCE)
    def broken(_facts):
        raise ZeroDivisionError

    verdict, (finding,) = judge(facts(), [broken])
    assert verdict.kind == "deny"
    assert finding.reason is ReasonCode.RULE_FAILED


@pytest.mark.parametrize("nonsense", [None, True, "allow", object()])
def test_a_rule_that_answers_nonsense_denies(nonsense):
    verdict, (finding,) = judge(facts(), [saying(nonsense)])
    assert verdict.kind == "deny"
    assert finding.reason is ReasonCode.RULE_FAILED


def test_every_rule_has_a_sentence_for_the_operator():
    for one in RULES:
        assert one.sentence.endswith(".")
        assert one.name.replace("_", " ") not in one.sentence


def test_what_adaptive_adds_is_not_asked_in_standard_mode():
    assert judge(facts(mode="standard", assessment=None), RULES)[0] == Allow()
    assert judge(facts(mode="adaptive"), RULES)[0] == Confirm()


@pytest.mark.parametrize("mode", ["standard", "adaptive"])
def test_denials_hold_in_every_mode(mode):
    assert judge(facts(mode=mode, spec=None), RULES)[0].kind == "deny"
    assert judge(facts(mode=mode, effect=None), RULES)[0].kind == "deny"
    assert judge(facts(mode=mode, call=ToolCall("cancel_order", {"order_id": 7})), RULES)[0].kind == "ask"
