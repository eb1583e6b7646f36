"""The strictest verdict wins, whoever speaks; a rule that breaks denies."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect.policy.arguments import find_missing
from circumspect.policy.facts import Facts
from circumspect.policy.judge import judge, rule
from circumspect.policy.rules import HARD_STOPS, RULES
from circumspect.reasons import ReasonCode
from circumspect.values import (
    SEVERITY,
    Allow,
    Ask,
    Assessment,
    Confirm,
    Deny,
    Escalate,
    History,
    ToolCall,
    ToolSpec,
    Utterance,
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
        "session": History((Utterance("user", "cancel order 1", 0),)),
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


@pytest.mark.parametrize("mode", ["standard", "adaptive"])
def test_what_cannot_be_undone_is_confirmed_in_every_mode(mode):
    assert judge(facts(mode=mode), RULES)[0] == Confirm()


def test_an_assessment_is_read_in_adaptive_mode_only():
    unreadable = Assessment(0.0, reasons=(ReasonCode.ASSESSMENT_UNPARSABLE,))
    assert judge(facts(mode="standard", assessment=unreadable), RULES)[0] == Confirm()
    assert judge(facts(mode="adaptive", assessment=unreadable), RULES)[0].kind == "deny"


@pytest.mark.parametrize("mode", ["standard", "adaptive"])
def test_denials_hold_in_every_mode(mode):
    assert judge(facts(mode=mode, spec=None), RULES)[0].kind == "deny"
    assert judge(facts(mode=mode, effect=None), RULES)[0].kind == "deny"
    assert judge(facts(mode=mode, call=ToolCall("cancel_order", {"order_id": 7})), RULES)[0].kind == "deny"


FORM = ToolSpec(
    "change_address",
    parameters={
        "type": "object",
        "properties": {
            "address1": {"type": "string"},
            "address2": {"type": "string"},
            "city": {"type": "string"},
            "note": {"type": "string", "description": "A word for the driver. May be empty."},
            "door": {"type": "string", "minLength": 1, "description": "Optional."},
            "items": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
            "date": {"type": "string", "format": "date"},
        },
        "required": ["address1", "address2", "city", "note", "door"],
    },
    effect="write",
)
FILLED = {"address1": "12 Main Street", "address2": "4 B", "city": "Haifa", "note": "ring", "door": "2"}


@pytest.mark.parametrize(
    ("name", "is_missing"), [("address1", True), ("address2", False), ("city", True), ("note", False), ("door", True)]
)
def test_a_blank_counts_as_given_only_where_the_schema_or_the_name_leaves_it_open(name, is_missing):
    for blank in ("", "  "):
        assert find_missing(FORM, {**FILLED, name: blank}) == ((name,) if is_missing else ())
    assert find_missing(FORM, {key: value for key, value in FILLED.items() if key != name}) == (name,)


@pytest.mark.parametrize("items", ["sku 7", {"sku": "7"}, [7], [{"sku": 7}]])
def test_a_list_of_the_wrong_build_goes_back_to_the_model(items):
    verdict, findings = judge(facts(spec=FORM, call=ToolCall("change_address", {**FILLED, "items": items})), RULES)
    assert isinstance(verdict, Deny)
    assert "items" in verdict.problem
    assert not HARD_STOPS.intersection(finding.reason for finding in findings if finding.verdict.kind == "deny")


def test_a_value_of_the_wrong_form_is_asked_of_the_user():
    verdict, _ = judge(facts(spec=FORM, call=ToolCall("change_address", {**FILLED, "date": "soon"})), RULES)
    assert isinstance(verdict, Ask)
    assert verdict.invalid == {"date": "format:date"}
