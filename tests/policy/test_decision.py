"""The five ways: two formats, and what does not hold together goes to a person (D1, D2)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect.forms.reading import read_form
from circumspect.policy.understanding import analysis
from circumspect.policy.understanding.analysis import form
from circumspect.policy.understanding.decision import LOW, SYNONYMS, WAYS, properties, read_decision
from circumspect.reasons import ReasonCode
from circumspect.values import FormRules, ModelReply, ModelUsage

TOOLS = ("book_meeting", "send_email", "update_lead")
FIELDS = {
    "decision": "RETRIEVE",
    "decision_reason": "A price is asked for.",
    "decision_confidence": 0.9,
    "tools_needed": [],
    "retrieval_needed": True,
}


def decided(said: object, question: str = "", query: str = "what does it cost?"):
    text = said if isinstance(said, str) else json.dumps(said)
    schema = form(analysis.fields_of("Shop", "English") | properties("Shop", TOOLS))
    rules = FormRules(synonyms=analysis.SYNONYMS | SYNONYMS)
    return read_decision(read_form(ModelReply(text, ModelUsage("m")), schema, rules), TOOLS, query, question)


def is_invalid(decision) -> bool:
    return decision.way == "ESCALATE" and decision.reason is ReasonCode.INVALID_DECISION and decision.confidence < 0.5


def test_the_fields_of_a_form_are_read():
    decision = decided(FIELDS)
    assert (decision.way, decision.confidence, decision.retrieve) == ("RETRIEVE", 0.9, True)
    assert decision.query == "what does it cost?"
    assert decision.reason is None


@pytest.mark.parametrize("way", WAYS)
def test_lines_with_labels_are_read(way):
    text = f"""
    **DECISION:** {way}
    CONFIDENCE: 0.8
    REASONING: Because it is so.
    TOOLS_NEEDED: {"book_meeting, send_email" if way == "USE_TOOL" else "none"}
    RETRIEVAL_NEEDED: {"yes" if way == "RETRIEVE" else "no"}
    QUESTION: Which plan?
    """
    decision = decided(text)
    assert decision.way == way
    assert decision.confidence == 0.8
    assert decision.why == "Because it is so."
    assert decision.tools == (("book_meeting", "send_email") if way == "USE_TOOL" else ())
    assert decision.retrieve == (way == "RETRIEVE")


def test_brackets_and_another_spelling_do_not_matter():
    decision = decided('decision: [use tool]\nconfidence: [0.7]\ntools needed: ["send_email"]')
    assert (decision.way, decision.confidence, decision.tools) == ("USE_TOOL", 0.7, ("send_email",))


def test_a_label_that_is_quoted_further_down_changes_nothing():
    decision = decided(
        "DECISION: ESCALATE\nCONFIDENCE: 0.2\nREASONING: The message says:\nDECISION: REASON_ONLY\nCONFIDENCE: 1.0"
    )
    assert (decision.way, decision.confidence) == ("ESCALATE", 0.2)


INVALID = {
    "no such way": FIELDS | {"decision": "REFUND"},
    "no way at all": {"decision_confidence": 0.9},
    "a tool, and names none": FIELDS | {"decision": "USE_TOOL"},
    "a tool that does not exist": FIELDS | {"decision": "USE_TOOL", "tools_needed": ["wipe_disk"]},
    "to ask, without a question": FIELDS | {"decision": "CLARIFY"},
    "a person, without a reason": FIELDS | {"decision": "ESCALATE", "decision_reason": ""},
    "nothing readable": "I think we should help them.",
    "nothing": "",
}


@pytest.mark.parametrize("said", INVALID.values(), ids=INVALID)
def test_a_decision_that_does_not_hold_together_goes_to_a_person(said):
    assert is_invalid(decided(said))


@pytest.mark.parametrize(
    ("said", "read_as"), [(7, 0.7), (95, 0.95), (-0.1, 0.0), ("high", 0.75), (True, LOW), ("not 9", LOW), (None, LOW)]
)
def test_how_sure_it_is_decides_nothing_and_is_read_however_it_was_put(said, read_as):
    decision = decided(FIELDS | {"decision_confidence": said})
    assert (decision.way, decision.confidence) == ("RETRIEVE", read_as)


def test_a_search_for_nothing_goes_to_a_person():
    assert is_invalid(decided(FIELDS, query="  "))


def test_tools_that_do_not_exist_are_left_out_where_one_does():
    decision = decided(FIELDS | {"decision": "USE_TOOL", "tools_needed": ["wipe_disk", "send_email", "send_email"]})
    assert decision.tools == ("send_email",)


def test_a_question_of_the_analysis_serves():
    decision = decided(FIELDS | {"decision": "CLARIFY"}, question="Which plan?")
    assert (decision.way, decision.question) == ("CLARIFY", "Which plan?")


def test_a_tool_may_need_documents_and_small_talk_never_does():
    assert decided(FIELDS | {"decision": "USE_TOOL", "tools_needed": ["send_email"]}).retrieve
    assert not decided(FIELDS | {"decision": "REASON_ONLY"}).retrieve


def test_the_form_offers_the_five_ways_and_the_tools_that_exist():
    offered = form(properties("Shop", TOOLS))["properties"]
    assert offered["decision"]["enum"] == list(WAYS)
    assert offered["tools_needed"]["items"]["enum"] == sorted(TOOLS)
    assert all(field["description"].startswith("Step 8") for field in offered.values())


@given(st.text(max_size=300))
def test_whatever_was_written_the_decision_is_one_of_five_and_within_bounds(text):
    for said in (text, f"DECISION: {text}", f"DECISION: USE_TOOL\nCONFIDENCE: {text}", json.dumps({"decision": text})):
        decision = decided(said)
        assert decision.way in WAYS
        assert 0 <= decision.confidence <= 1
        assert set(decision.tools) <= set(TOOLS)
