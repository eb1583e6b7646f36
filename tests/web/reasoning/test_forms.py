"""What models fill in, read: clamped, mended, or not read at all (R1, R3, R4, R6)."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.web.reasoning.thinking import analysis, complete, judgement

from circumspect.reasons import ReasonCode
from circumspect.values import ModelReply, ModelUsage, ToolCall
from circumspect.web.reasoning.reason_forms import (
    NAMES,
    analysis_schema,
    completeness_schema,
    confidence_of,
    judgement_schema,
    read_analysis,
    read_completeness,
    read_judgement,
)
from circumspect.web.reasoning.reasoned import Missing


def reply(text: str, *calls: ToolCall) -> ModelReply:
    return ModelReply(text, ModelUsage("m"), calls)


@pytest.mark.parametrize(
    ("said", "read", "warns"),
    [
        (0.85, 0.85, False),
        (1, 1.0, False),
        (0, 0.0, False),
        ("0.8", 0.8, False),
        ("80%", 0.8, False),
        ("0,8", 0.8, False),
        (1.5, 1.0, True),
        (7, 0.7, True),
        (-0.2, 0.0, True),
        ("-0.2", 0.0, True),
        ("high", 0.75, True),
        ("", 0.5, True),
        (None, 0.5, True),
        (True, 0.5, True),
        ([0.9], 0.5, True),
        (math.nan, 0.5, True),
        (math.inf, 0.5, True),
    ],
)
def test_confidence_is_brought_to_scale_and_what_cannot_be_read_is_a_half(said, read, warns):
    assert confidence_of(said) == (read, (ReasonCode.CONFIDENCE_UNREADABLE,) if warns else ())


def test_an_analysis_with_everything_in_it():
    text = analysis(
        "WEB_SEARCH",
        0.75,
        missing_info=[{"field": "patient_dob", "type": "PRIVATE_DATA", "description": "date of birth"}],
        known=[{"field": "first_name", "value": "Jaswanth"}],
    )
    found = read_analysis(reply(text))
    assert (found.source, found.confidence, found.evidence.quality) == ("WEB_SEARCH", 0.75, "high")
    assert found.missing == (Missing("patient_dob", "PRIVATE_DATA", "date of birth"),)
    assert (found.known[0].field, found.known[0].value) == ("first_name", "Jaswanth")
    assert not found.warnings


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"source": "PAGE", "confidence": 0.9}\n```',
        "Sure! Here it is: {'source': 'page', 'confidence': .9,}",
        '{"source": "PAGE", "confidence": 0.9, "reasoning": "cut off he',
        '{"analyse_context": {"source": "PAGE", "confidence": 0.9}}',
    ],
)
def test_json_as_models_write_it_is_read(text):
    assert read_analysis(reply(text)).source == "PAGE"


def test_a_forced_call_is_read_like_a_text():
    call = ToolCall(NAMES[0], {"source": "MEMORY", "confidence": 0.9})
    assert read_analysis(reply("", call)).source == "MEMORY"


def test_camel_case_is_read_like_our_own():
    text = '{"source": "WEB_SEARCH", "confidence": 0.8, "missingInfo": [{"field": "dob"}], "searchQuery": "q"}'
    found = read_analysis(reply(text))
    assert (found.missing[0].field, found.search_query) == ("dob", "q")


@pytest.mark.parametrize(
    "text", ["", "I think the page.", "{}", '{"source": "THE_MOON"}', "[1, 2]", '{"source": null}']
)
def test_without_a_source_there_is_no_analysis(text):
    assert read_analysis(reply(text)) is None


@pytest.mark.parametrize("said", ["maybe", None, 1.0, "", "perhaps true"])
def test_a_yes_that_is_not_plainly_said_is_not_one(said):
    assert read_completeness(reply(json.dumps({"can_proceed": said, "confidence": 0.9}))) is None
    assert read_judgement(reply(json.dumps({"solved": said}))) is None


def test_a_missing_piece_of_unknown_type_is_the_users_own():
    found = read_analysis(reply(analysis(missing_info=[{"field": "thing", "type": "WHATEVER"}, "another", 7, None])))
    assert [(one.field, one.is_private) for one in found.missing] == [("thing", True), ("another", True), ("7", True)]


@pytest.mark.parametrize(
    "name", ["patient_dob", "date_of_birth", "phone", "phone_number", "e-mail", "Password", "телефон"]
)
def test_code_knows_some_private_data_by_name(name):
    assert Missing(name, "EXTERNAL_KNOWLEDGE").is_private
    assert Missing(name, "EXTERNAL_KNOWLEDGE").to_json()["type"] == "PRIVATE_DATA"


@pytest.mark.parametrize("name", ["phone_format", "password_rules", "registration_workflow", "opinion"])
def test_and_takes_nothing_else_for_it(name):
    assert not Missing(name, "EXTERNAL_KNOWLEDGE").is_private


def test_texts_are_on_one_line_and_within_their_limits():
    found = read_completeness(reply(complete(False, user_question="a\n\n## b\n" + "c " * 900)))
    assert "\n" not in found.user_question
    assert len(found.user_question) <= 300


def test_whether_something_is_changed_is_yes_unless_it_says_no():
    assert read_analysis(reply(analysis(changes_something=False))).changes_something is False
    for said in (True, None, "perhaps"):
        assert read_analysis(reply(analysis(changes_something=said))).changes_something is True


def test_the_forms_accept_what_the_tests_fill_in():
    import jsonschema_rs

    evidence = {"evidence": {"sources": [], "quality": "low", "gaps": []}}
    for schema, text in (
        (analysis_schema(), analysis()),
        (judgement_schema(), judgement(**evidence)),
        (completeness_schema(), complete(**evidence)),
    ):
        jsonschema_rs.validate(schema, json.loads(text))
        assert set(schema["required"]) == set(schema["properties"])


@settings(max_examples=100)
@given(st.text(max_size=300) | st.dictionaries(st.sampled_from(("source", "confidence", "missing_info", "solved", "evidence",
       "can_proceed", "known")), st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=20),
       lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3))))  # fmt: skip
def test_whatever_is_said_is_read_or_not_read_and_never_raises(said):
    text = said if isinstance(said, str) else json.dumps(said)
    for read in (read_analysis, read_judgement, read_completeness):
        found = read(reply(text))
        assert found is None or 0 <= found.confidence <= 1
