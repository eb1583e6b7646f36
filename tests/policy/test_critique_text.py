"""G15: an opinion is read only where it is clearly given."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from circumspect.policy.parsing.critique_text import read
from circumspect.values import Critique

ASK = Critique("ASK_USER", reasoning="not confirmed yet", message="Shall I cancel it?")
JSON = '{"decision": "ASK_USER", "reasoning": "not confirmed yet", "message": "Shall I cancel it?"}'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(JSON, id="bare"),
        pytest.param(f"  \n{JSON}\n", id="space around"),
        pytest.param(f"```json\n{JSON}\n```", id="fenced"),
        pytest.param(f"```\n{JSON}\n```\n", id="fenced without a language"),
        pytest.param(f"Here is my decision:\n```json\n{JSON}\n```\nI hope this helps.", id="words around a fence"),
        pytest.param(f"Let me think. The arguments are fine. {JSON} That is all.", id="words around"),
        pytest.param(f'The arguments were {{"order_id": "12345"}}. {JSON}', id="another object first"),
        pytest.param(f"The order {{order_id}} is fine. {JSON}", id="a placeholder first"),
        pytest.param(f"{JSON}\n{JSON}", id="said twice"),
        pytest.param(JSON.replace("ASK_USER", "ask_user"), id="lower case"),
        pytest.param(JSON.replace("ASK_USER", "Ask user"), id="with a space"),
        pytest.param(JSON.replace("ASK_USER", "ASK_USER."), id="with a full stop"),
        pytest.param(JSON.replace("ASK_USER", "**askUser**"), id="in camel case, and bold"),
        pytest.param(JSON.replace("reasoning", "Reason"), id="another name for a field"),
        pytest.param("DECISION: ask_user\n**Reasoning:** not confirmed yet\nMESSAGE: Shall I cancel it?", id="lines"),
        pytest.param(JSON.replace('"decision"', '"Decision"'), id="key in another case"),
        pytest.param(JSON[:-1] + ",}", id="trailing comma"),
        pytest.param(JSON[:-1] + "} // done", id="comment"),
        pytest.param(JSON[:-1] + ', "confidence": 9}', id="more than was asked for"),
        pytest.param(JSON.replace('"', "'"), id="single quotes"),
    ],
)
def test_form_does_not_matter(text):
    assert read(text) == ASK


@pytest.mark.parametrize("decision", ["PROCEED", "ASK_USER", "ESCALATE"])
def test_each_decision_is_read(decision):
    assert read(json.dumps({"decision": decision})) == Critique(decision)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("PROCEED", id="a word"),
        pytest.param('"PROCEED"', id="a string"),
        pytest.param('["PROCEED"]', id="a list"),
        pytest.param("{}", id="an empty object"),
        pytest.param('{"decision": "MAYBE"}', id="unknown decision"),
        pytest.param('{"decision": "do not PROCEED"}', id="not the decision"),
        pytest.param('{"decision": "PROCEED, if the user agrees"}', id="on a condition"),
        pytest.param('{"decision": "not PROCEED"}', id="not"),
        pytest.param('{"decision": "PROCEED?"}', id="a question"),
        pytest.param("DECISION: PROCEED\nDECISION: ESCALATE", id="two labels that differ"),
        pytest.param("DECISION: do not proceed", id="a label with its opposite"),
        pytest.param("I would not say DECISION: PROCEED", id="a label in a sentence"),
        pytest.param('{"decision": "PROCEED | ASK_USER"}', id="two in one"),
        pytest.param('{"decision": null}', id="null"),
        pytest.param('{"decision": true}', id="a flag"),
        pytest.param('{"decision": ["PROCEED"]}', id="in a list"),
        pytest.param('{"critique": {"decision": "PROCEED"}}', id="inside another object"),
        pytest.param('{"decision": "PROCEED", "decision": "ESCALATE"}', id="the key twice"),
        pytest.param('{"decision": "PROCEED", "Decision": "ESCALATE"', id="broken and twice"),
        pytest.param('{"decision": "PROCEED", "Decision": "ESCALATE"}', id="the key twice in two spellings"),
        pytest.param('{"decision": "PROCEED"} {"decision": "ESCALATE"}', id="two that differ"),
        pytest.param('{"decision": "PROCEED"} then {"decision": "WAIT"}', id="two, one unknown"),
        pytest.param('{"decision": "PROCEED"} and {"decision": "ESC', id="a second one broke off"),
        pytest.param('{"decision": "PROCEED", "reasoning": "it is fine unl', id="broke off"),
        pytest.param('{"decision": "PROCEED", "reasoning": "he said "yes""}', id="broken by quotes"),
        pytest.param('{"decision": "PROCEED"' + ', "a": {' * 500, id="deep"),
        pytest.param('{"a": 1}' * 100 + '{"decision": "PROCEED"}', id="lost among many"),
    ],
)
def test_anything_else_is_no_opinion(text):
    assert read(text) is None


def test_an_opinion_quoted_inside_the_reasoning_is_not_the_opinion():
    text = json.dumps({"decision": "ESCALATE", "reasoning": 'the user wrote {"decision": "PROCEED"}'})
    opinion = read(f"My view: {text}")
    assert opinion is not None
    assert opinion.decision == "ESCALATE"


def test_words_of_another_type_are_read_as_words_or_left_out():
    assert read('{"decision": "PROCEED", "reasoning": 7, "message": null}') == Critique("PROCEED", reasoning="7")


def test_control_characters_are_replaced():
    assert read('{"decision": "PROCEED", "message": "a\\u0000b"}') == Critique("PROCEED", message="a\ufffdb")


@settings(max_examples=1000)
@given(st.text(max_size=200))
def test_any_text_is_read_without_complaint(text):
    assert read(text) is None or '"' in text or "'" in text or "decision" in text.lower()


@settings(max_examples=500)
@given(st.integers(0, len(JSON) - 2), st.sampled_from(["PROCEED", "ESCALATE"]))
def test_an_opinion_that_breaks_off_anywhere_is_no_opinion(cut, decision):
    assert read(JSON.replace("ASK_USER", decision)[: cut or -1]) is None


@pytest.mark.parametrize("text", ["{" * 1_000_000, '{"a":' * 200_000, '{"a":1}' * 100_000])
def test_a_hostile_megabyte_is_no_opinion(text):
    assert read(text) is None
