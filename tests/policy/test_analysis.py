"""The form: what a model is asked to fill in, what is read of it, and that code has the last word (S1, S3, S4)."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect.forms.reading import read_form
from circumspect.policy.understanding import analysis as analyses
from circumspect.policy.understanding.analysis import (
    ACTIONS,
    INTENT,
    MOST_GAPS,
    MOST_QUERIES,
    NAME,
    REASON,
    SYNONYMS,
    Analysis,
    Routed,
    Routing,
    route,
    schema,
)
from circumspect.prompts import prompt
from circumspect.values import FormRules, ModelReply, ModelUsage, ToolCall

FILLED = {
    "spam_score": 0.1,
    "spam_reason": "About our product.",
    "user_intent": "Set up single sign-on.",
    "topic": "sign-on",
    "category": "how-to",
    "context": "",
    "subqueries": ["single sign-on", "SAML"],
    "action_plan": ["Find the guide.", "List the steps."],
    "intent_confidence": 0.92,
    "uncertainties": [],
    "action": "normal",
    "clarification_question": "",
}


def reply(text: object) -> ModelReply:
    return ModelReply(text if isinstance(text, str) else json.dumps(text, ensure_ascii=False), ModelUsage("m"))


def read_analysis(said: ModelReply) -> Analysis | None:
    return analyses.read_analysis(read_form(said, schema("Shop", "English"), FormRules(synonyms=SYNONYMS)))


def read(**changed: object) -> Analysis | None:
    return read_analysis(reply(FILLED | changed))


# --- the form -------------------------------------------------------------------------------------------------------


def test_the_fields_come_in_the_order_of_the_seven_steps():
    form = schema("Harbour CRM", "Russian")
    steps = [field["description"].partition(",")[0] for field in form["properties"].values()]
    assert steps == sorted(steps)
    assert {step[-1] for step in steps} == set("1234567")
    assert form["required"] == list(form["properties"]) == list(FILLED)


def test_the_form_speaks_of_the_business_and_asks_for_the_language():
    told = json.dumps(schema("Harbour CRM", "Russian"))
    assert "Harbour CRM" in told
    assert "in Russian" in told
    assert "$" not in told


def test_what_is_filled_in_rightly_is_valid_and_too_long_or_too_much_is_not():
    valid = jsonschema_rs.validator_for(schema("Shop", "English"))
    assert valid.is_valid(FILLED)
    for wrong in (
        {"spam_score": 1.1},
        {"spam_reason": "x" * 151},
        {"user_intent": "x" * 301},
        {"subqueries": []},
        {"subqueries": ["x"] * 11},
        {"action_plan": ["x"] * 11},
        {"uncertainties": ["x"] * 6},
        {"clarification_question": "x" * 301},
        {"action": "escalate"},
        {"more": 1},
    ):
        assert not valid.is_valid(FILLED | wrong), wrong
    for name in FILLED:
        assert not valid.is_valid({key: value for key, value in FILLED.items() if key != name})


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_is_the_name_of_a_template_with_a_response(action):
    """S3: no mapping table anywhere."""
    assert prompt(f"synthetic/{action}").text.count("\n## Response\n$response") == 1


# --- what was filled in -----------------------------------------------------------------------------------------------


def test_a_form_is_read_from_text_from_a_fence_and_from_a_forced_call():
    whole = read()
    assert whole == read_analysis(reply(f"Here it is:\n```json\n{json.dumps(FILLED)}\n```"))
    assert whole == read_analysis(ModelReply("", ModelUsage("m"), (ToolCall(NAME, FILLED),)))
    assert whole == read_analysis(reply({NAME: FILLED}))
    assert whole is not None
    assert whole.to_json() == FILLED


def test_a_form_that_broke_off_is_read_as_far_as_it_goes_and_the_rest_is_the_worst():
    text = json.dumps(FILLED)
    broken = read_analysis(reply(text[: text.index('"intent_confidence"')]))
    assert broken is not None
    assert broken.user_intent == "Set up single sign-on."
    assert broken.intent_confidence == 0.0
    assert route(broken).action == "clarify"


@pytest.mark.parametrize(
    ("said", "read_as"),
    [
        (0.8, 0.8),
        ("0.8", 0.8),
        ("80%", 0.8),
        ("0,8", 0.8),
        (9, 0.9),
        (95, 0.95),
        (-1, 0.0),
        (True, 0.0),
        ("high", 0.75),
        ("not 9", 0.0),
        (None, 0.0),
    ],
)
def test_numbers_are_brought_to_scale_and_what_is_none_is_the_lowest(said, read_as):
    assert read(intent_confidence=said).intent_confidence == pytest.approx(read_as)


def test_a_spam_score_that_is_none_neither_blocks_nor_clears():
    analysis = read(spam_score="who knows")
    assert analysis.spam_score == 0.5
    assert route(analysis).action == "normal"


def test_texts_are_one_line_and_cut_at_their_limits():
    analysis = read(
        user_intent="word \n" * 200, spam_reason="z" * 500, subqueries=["q\nr"] * 3 + [f"q{n}" for n in range(20)]
    )
    assert len(analysis.user_intent) <= INTENT
    assert analysis.user_intent.endswith("word…")
    assert "\n" not in analysis.user_intent
    assert len(analysis.spam_reason) == REASON
    assert len(analysis.subqueries) == MOST_QUERIES
    assert analysis.subqueries[0] == "q r"


def test_lists_may_come_as_lines_or_objects_and_are_without_their_marks():
    assert read(action_plan="1. Look.\n2) Tell.\n- Ask.").action_plan == ("Look.", "Tell.", "Ask.")
    assert read(subqueries=[{"query": "prices"}, {"x": 1}, 7, None]).subqueries == ("prices", "7")
    assert len(read(uncertainties=[f"gap {n}" for n in range(9)]).uncertainties) == MOST_GAPS


def test_without_searches_the_intent_is_searched_for():
    assert read(subqueries=[]).subqueries == ("Set up single sign-on.",)


@pytest.mark.parametrize(
    "garbage", ["", "I cannot do that.", "[]", "{}", "null", '{"user_intent": ""}', '{"user_intent": {}}', "{{{{"]
)
def test_garbage_is_no_analysis(garbage):
    assert read_analysis(reply(garbage)) is None


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=4)
    )
)
def test_whatever_a_field_holds_reading_never_fails_and_limits_hold(value):
    for name in FILLED:
        fields = FILLED | {name: value}
        analysis = read_analysis(ModelReply("", ModelUsage("m"), (ToolCall(NAME, fields),)))
        if analysis is not None:
            assert 0 <= analysis.spam_score <= 1
            assert 0 <= analysis.intent_confidence <= 1
            assert analysis.action in ACTIONS
            assert len(analysis.user_intent) <= INTENT
            assert not any("\n" in text for text in (analysis.user_intent, *analysis.subqueries, *analysis.action_plan))


@given(st.text(max_size=200))
def test_no_text_makes_reading_fail(text):
    read_analysis(reply(text))


# --- code's last word -------------------------------------------------------------------------------------------------

ROUTES = [
    # spam, confidence, categories, guardian's spam score -> action
    (0.1, 0.9, (), 0.0, "normal"),
    (0.69, 0.6, (), 0.0, "normal"),
    (0.7, 0.9, (), 0.0, "block"),
    (0.1, 0.9, (), 0.7, "block"),
    (0.1, 0.59, (), 0.0, "clarify"),
    (0.9, 0.1, (), 0.0, "block"),
    (0.0, 1.0, ("hate",), 0.0, "guardian_block"),
    (1.0, 0.0, ("hate",), 1.0, "guardian_block"),
]


@pytest.mark.parametrize(("spam", "confidence", "categories", "screened", "action"), ROUTES)
@pytest.mark.parametrize("chosen", ACTIONS)
def test_numbers_and_categories_decide_whatever_the_model_chose(chosen, spam, confidence, categories, screened, action):
    """S4, and the override is told."""
    analysis = Analysis("x", confidence, chosen, spam_score=spam)
    assert route(analysis, categories, screened) == Routed(action, overridden=chosen != action)


def test_thresholds_can_be_set():
    strict = Routing(spam=0.5, clarity=0.95)
    assert route(Analysis("x", 0.9, "normal", spam_score=0.5), routing=strict).action == "block"
    assert route(Analysis("x", 0.9, "normal"), routing=strict).action == "clarify"


@given(st.floats(0, 1), st.floats(0, 1), st.sampled_from(ACTIONS), st.booleans())
def test_no_choice_of_the_model_lets_through_what_code_holds(spam, confidence, chosen, flagged):
    routed = route(Analysis("x", confidence, chosen, spam_score=spam), ("hate",) if flagged else ())
    assert (routed.action == "normal") == (not flagged and spam < 0.7 and confidence >= 0.6)
