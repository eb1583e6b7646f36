"""Forms as models of one to eight billion parameters fill them in, and what must come out of each.

Every row is a text and the fields that have to be read from it. The second half is the other way round: what can be
taken in two ways, and above all a refusal, is never read as a permission.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect.forms import make_choice, make_form, make_list, make_share, make_text
from circumspect.forms.reading import FilledForm, read_form
from circumspect.policy.parsing import critique_text
from circumspect.values import FormRules, ModelReply, ModelUsage, ToolCall

FORM = make_form(
    {
        "user_intent": make_text(60),
        "decision": make_choice(("RETRIEVE", "REASON_ONLY", "USE_TOOL", "CLARIFY", "ESCALATE")),
        "confidence": make_share(),
        "tools_needed": make_list(make_choice(("cancel_order", "send_email"))),
        "gaps": make_list(make_text(40), 3),
        "retrieval_needed": {"type": "boolean"},
        "attempts": {"type": "integer", "minimum": 1, "maximum": 10},
    },
    title="analyse_request",
)
RULES = FormRules(synonyms={"user_intent": ("intent", "goal"), "gaps": ("missing", "unknowns")})
I = "user_intent"  # noqa: E741
D, C, T, G, R = "decision", "confidence", "tools_needed", "gaps", "retrieval_needed"

WHERE_THE_OBJECT_STANDS = {
    "bare": '{"decision": "CLARIFY"}',
    "byte order mark": '\ufeff{"decision": "CLARIFY"}',
    "space around": '\n\n  {"decision": "CLARIFY"}  \n',
    "fence": '```json\n{"decision": "CLARIFY"}\n```',
    "fence without a language": '```\n{"decision": "CLARIFY"}\n```',
    "fence of another language": '```javascript\n{"decision": "CLARIFY"}\n```',
    "tildes": '~~~json\n{"decision": "CLARIFY"}\n~~~',
    "open fence": '```json\n{"decision": "CLARIFY"}',
    "sure": 'Sure! Here is the JSON:\n{"decision": "CLARIFY"}',
    "certainly, fenced": 'Certainly! Here is the response:\n\n```json\n{"decision": "CLARIFY"}\n```\n\nLet me know!',
    "words after": '{"decision": "CLARIFY"}\n\nI hope this helps.',
    "thinking": '<think>The user wants a refund. {maybe}</think>\n{"decision": "CLARIFY"}',
    "tool call tags": '<tool_call>\n{"name": "analyse_request", "arguments": {"decision": "CLARIFY"}}\n</tool_call>',
    "function tags": '<function=analyse_request>{"decision": "CLARIFY"}</function>',
    "python tag": '<|python_tag|>{"name": "analyse_request", "parameters": {"decision": "CLARIFY"}}',
    "tool calls": '[TOOL_CALLS] [{"name": "analyse_request", "arguments": {"decision": "CLARIFY"}}]',
    "end of turn": '{"decision": "CLARIFY"}<|im_end|>',
    "end of sequence": '{"decision": "CLARIFY"}</s>',
    "its own name": '{"analyse_request": {"decision": "CLARIFY"}}',
    "a response": '{"response": {"decision": "CLARIFY"}}',
    "properties, as in the schema": '{"type": "object", "properties": {"decision": "CLARIFY"}}',
    "said twice alike": '{"decision": "CLARIFY"}\n{"decision": "CLARIFY"}',
    "after an example of something else": 'Given {"order_id": "12345"}: {"decision": "CLARIFY"}',
    "a placeholder first": 'For {order_id} I say {"decision": "CLARIFY"}',
}

HOW_IT_IS_WRITTEN = {
    "trailing comma": ('{"decision": "CLARIFY",}', {D: "CLARIFY"}),
    "python": ("{'decision': 'CLARIFY', 'retrieval_needed': True}", {D: "CLARIFY", R: True}),
    "python's none": ("{'decision': 'CLARIFY', 'user_intent': None}", {D: "CLARIFY"}),
    "smart quotes": ("{“decision”: “CLARIFY”}", {D: "CLARIFY"}),
    "bare keys": ('{decision: "CLARIFY", retrieval_needed: false}', {D: "CLARIFY", R: False}),
    "comments": ('{"decision": "CLARIFY" // the number lacks\n}', {D: "CLARIFY"}),
    "block comment": ('{/* step 8 */ "decision": "CLARIFY"}', {D: "CLARIFY"}),
    "line break in a text": ('{"decision": "CLARIFY", "user_intent": "to\ncancel"}', {D: "CLARIFY", I: "to cancel"}),
    "quotes in a text": (
        '{"user_intent": "says "cancel it" now", "decision": "CLARIFY"}',
        {D: "CLARIFY", I: 'says "cancel it" now'},
    ),
    "no closing brace": ('{"decision": "CLARIFY", "user_intent": "to cancel"', {D: "CLARIFY", I: "to cancel"}),
    "cut in a text": ('{"decision": "CLARIFY", "user_intent": "to canc', {D: "CLARIFY"}),
    "cut in a key": ('{"decision": "CLARIFY", "user_int', {D: "CLARIFY"}),
    "cut in a list": ('{"decision": "CLARIFY", "gaps": ["number", "da', {D: "CLARIFY"}),
    "missing comma": ('{"decision": "CLARIFY" "user_intent": "to cancel"}', {D: "CLARIFY", I: "to cancel"}),
    "labelled lines": ("DECISION: CLARIFY\nCONFIDENCE: 0.8", {D: "CLARIFY", C: 0.8}),
    "bold labels": ("**Decision:** Clarify\n**Confidence:** 80%", {D: "CLARIFY", C: 0.8}),
    "bold labels, colon outside": ("**Decision**: clarify\n**User intent**: to cancel", {D: "CLARIFY", I: "to cancel"}),
    "bullets": ("- Decision: USE_TOOL\n- Tools needed: cancel_order, send_email",
                {D: "USE_TOOL", T: ["cancel_order", "send_email"]}),
    "headings": ("### Decision: ESCALATE\n### Intent: a person", {D: "ESCALATE", I: "a person"}),
    "equals": ("decision = RETRIEVE\nretrieval_needed = yes", {D: "RETRIEVE", R: True}),
    "brackets": ("decision: [use tool]\nconfidence: [0.7]", {D: "USE_TOOL", C: 0.7}),
    "labels after prose": ("I have thought about it.\n\nDECISION: CLARIFY", {D: "CLARIFY"}),
}  # fmt: skip

KEYS_AND_VALUES = {
    "camel case": ({"userIntent": "to cancel", "toolsNeeded": ["send_email"]}, {I: "to cancel", T: ["send_email"]}),
    "title case": ({"User Intent": "to cancel", "Decision": "CLARIFY"}, {I: "to cancel", D: "CLARIFY"}),
    "kebab case": ({"user-intent": "to cancel", "retrieval-needed": True}, {I: "to cancel", R: True}),
    "upper case": ({"DECISION": "CLARIFY", "CONFIDENCE": 0.4}, {D: "CLARIFY", C: 0.4}),
    "another word": ({"intent": "to cancel", "missing": ["number"]}, {I: "to cancel", G: ["number"]}),
    "the own word beats the other": ({"intent": "other", "user_intent": "to cancel"}, {I: "to cancel"}),
    "a key too many": ({"decision": "CLARIFY", "mood": "angry"}, {D: "CLARIFY"}),
    "nothing": ({"decision": "CLARIFY", "confidence": None, "gaps": None}, {D: "CLARIFY"}),
    "the word null": ({"user_intent": "null", "decision": "CLARIFY"}, {I: "", D: "CLARIFY"}),
    "lower case choice": ({"decision": "use_tool"}, {D: "USE_TOOL"}),
    "choice with a space": ({"decision": "Use tool"}, {D: "USE_TOOL"}),
    "choice with a dash": ({"decision": "reason-only"}, {D: "REASON_ONLY"}),
    "choice in camel case": ({"decision": "reasonOnly"}, {D: "REASON_ONLY"}),
    "choice with a full stop": ({"decision": "CLARIFY."}, {D: "CLARIFY"}),
    "bold choice": ({"decision": "**CLARIFY**"}, {D: "CLARIFY"}),
    "choice in brackets": ({"decision": "[CLARIFY]"}, {D: "CLARIFY"}),
    "seven": ({"confidence": 7}, {C: 0.7}),
    "seven and a half": ({"confidence": 7.5}, {C: 0.75}),
    "ninety-five": ({"confidence": 95}, {C: 0.95}),
    "percent": ({"confidence": "95%"}, {C: 0.95}),
    "of ten": ({"confidence": "8/10"}, {C: 0.8}),
    "of five": ({"confidence": "4 out of 5"}, {C: 0.8}),
    "a comma": ({"confidence": "0,85"}, {C: 0.85}),
    "without its nought": ({"confidence": ".85"}, {C: 0.85}),
    "high": ({"confidence": "high"}, {C: 0.75}),
    "Medium": ({"confidence": "Medium"}, {C: 0.5}),
    "very low": ({"confidence": "very low"}, {C: 0.25}),
    "high, in Russian": ({"confidence": "высокая"}, {C: 0.75}),
    "below nothing": ({"confidence": -0.3}, {C: 0.0}),
    "a little above one": ({"confidence": 1.2}, {C: 1.0}),
    "yes": ({"retrieval_needed": "Yes"}, {R: True}),
    "no, as a word": ({"retrieval_needed": "false"}, {R: False}),
    "a number in quotes": ({"attempts": "3"}, {"attempts": 3}),
    "a whole number with a point": ({"attempts": 3.0}, {"attempts": 3}),
    "a number above its limit": ({"attempts": 30}, {"attempts": 10}),
    "a number for a text": ({"user_intent": 12345}, {I: "12345"}),
    "a list for a text": ({"user_intent": ["to cancel", "to complain"]}, {I: "to cancel, to complain"}),
    "one line for a list": ({"gaps": "the number"}, {G: ["the number"]}),
    "lines for a list": ({"gaps": "1. the number\n2. the date"}, {G: ["the number", "the date"]}),
    "objects for texts": ({"gaps": [{"name": "number"}, {"text": "date"}]}, {G: ["number", "date"]}),
    "more than was asked for": ({"gaps": ["a", "b", "c", "d", "e"]}, {G: ["a", "b", "c"]}),
    "one tool for a list": ({"tools_needed": "send_email"}, {T: ["send_email"]}),
    "tools with their signs": ({"tools_needed": "cancel_order(), send_email()"}, {T: ["cancel_order", "send_email"]}),
    "a tool that is none": ({"tools_needed": ["wipe_disk", "send_email"]}, {T: ["send_email"]}),
    "no tools, in a word": ({"tools_needed": "none"}, {T: []}),
}  # fmt: skip


def read(text: object) -> FilledForm:
    return read_form(text if isinstance(text, str) else json.dumps(text, ensure_ascii=False), FORM, RULES)


@pytest.mark.parametrize("text", WHERE_THE_OBJECT_STANDS.values(), ids=WHERE_THE_OBJECT_STANDS)
def test_the_object_is_found_wherever_it_stands(text):
    assert read(text).get("decision") == "CLARIFY"


@pytest.mark.parametrize(("text", "fields"), HOW_IT_IS_WRITTEN.values(), ids=HOW_IT_IS_WRITTEN)
def test_what_was_written_is_read_however_it_was_written(text, fields):
    assert fields.items() <= dict(read(text).fields).items()
    if text.startswith("{") and "cut" not in text:
        assert read(text).get("decision") == fields["decision"]


@pytest.mark.parametrize(("said", "fields"), KEYS_AND_VALUES.values(), ids=KEYS_AND_VALUES)
def test_keys_are_matched_and_values_made_to_fit(said, fields):
    filled = read(said)
    assert dict(filled.fields) == fields
    assert filled.mendings, "whatever was mended is told"


def test_a_long_text_is_cut_at_the_end_of_a_word_and_nothing_else_is_lost():
    filled = read({"user_intent": "to have it sent again " * 20, "decision": "CLARIFY"})
    assert filled.get("decision") == "CLARIFY"
    assert len(filled.get_text(I)) <= 60
    assert filled.get_text(I).endswith(" it…")


def test_a_form_that_is_as_it_should_be_needs_no_mending():
    whole = {I: "x", D: "CLARIFY", C: 0.4, T: [], G: ["date"], R: False, "attempts": 1}
    assert read(whole) == FilledForm(whole)


def test_the_arguments_of_a_forced_call_are_the_form():
    call = ToolCall("analyse_request", {"decision": "use tool", "confidence": "high"})
    filled = read_form(ModelReply("", ModelUsage("m"), (call,)), FORM, RULES)
    assert (filled.get(D), filled.get(C)) == ("USE_TOOL", 0.75)


# --- what is not read -------------------------------------------------------------------------------------------------

IN_DOUBT = {
    "two objects that differ": '{"decision": "ESCALATE"} {"decision": "USE_TOOL"}',
    "a draft, and another": 'First: {"decision": "ESCALATE"}. No, rather {"decision": "REASON_ONLY"}.',
    "a key twice": '{"decision": "ESCALATE", "decision": "USE_TOOL"}',
    "a key twice, and broken": '{"decision": "ESCALATE", "decision": "USE_TOOL", "user_intent": "x',
    "a key in two spellings": '{"decision": "ESCALATE", "Decision": "USE_TOOL"}',
    "a choice and its opposite": '{"decision": "not USE_TOOL"}',
    "two choices": '{"decision": "ESCALATE or USE_TOOL"}',
    "two choices by a bar": '{"decision": "ESCALATE|USE_TOOL"}',
    "on a condition": '{"decision": "USE_TOOL if the user agrees"}',
    "a question": '{"decision": "USE_TOOL?"}',
    "a sentence": "I think that USE_TOOL would be the decision.",
    "one that can be read and one that cannot": '{"decision": "USE_TOOL"} {"decision": "NEITHER"}',
    "a list": '{"decision": ["ESCALATE", "USE_TOOL"]}',
    "inside of something else": '{"rejected": {"decision": "USE_TOOL"}}',
    "nothing": "",
    "a refusal": "I'm sorry, but I can't help with that.",
}


@pytest.mark.parametrize("text", IN_DOUBT.values(), ids=IN_DOUBT)
def test_what_can_be_taken_in_two_ways_is_not_taken(text):
    assert read(text).get("decision") is None


@pytest.mark.parametrize("said", ["not 9", "9?", "9 or 2", "high, no, low", "not high", "2-9", True, [9], {}, 1e9, "∞"])
def test_a_confidence_that_says_no_one_thing_is_none(said):
    assert read({"confidence": said, "decision": "CLARIFY"}).get("confidence") is None


@pytest.mark.parametrize("said", ["maybe", "not true", "true or false", "", 2, [True], "nope"])
def test_a_yes_that_is_not_plainly_said_is_none(said):
    assert read({"retrieval_needed": said, "decision": "CLARIFY"}).get("retrieval_needed") is None


def test_a_number_at_a_cut_may_have_gone_on():
    assert read('{"decision": "CLARIFY", "confidence": 0.9').get("confidence") is None


REFUSALS = {
    "do not": '{"decision": "do not PROCEED"}',
    "never": '{"decision": "Never proceed"}',
    "don't": '{"decision": "DON\'T PROCEED"}',
    "not, with an underscore": '{"decision": "NOT_PROCEED"}',
    "cannot": "DECISION: cannot proceed",
    "in Russian": '{"decision": "не PROCEED"}',
    "a condition that broke off": '{"decision": "PROCEED", "reasoning": "only if the us',
    "a condition beside it": '{"decision": "PROCEED only after a yes"}',
    "crossed out": '{"decision": "~~PROCEED~~ ESCALATE"}',
    "a second thought": '{"decision": "PROCEED"}\nOn second thought:\n{"decision": "ESCALATE"}',
    "a second thought that broke off": '{"decision": "PROCEED"}\nOn second thought:\n{"decision": "ESC',
    "a second thought in a line": '{"decision": "PROCEED"}\nDECISION: ESCALATE',
    "quoted": "The user says that I must answer PROCEED.",
    "a key twice": '{"decision": "ESCALATE", "decision": "PROCEED"}',
    "a key twice, in another case": '{"decision": "ESCALATE", "DECISION": "PROCEED"}',
    "inside of what was rejected": '{"decision": "ESCALATE", "rejected": {"decision": "PROCEED"}}',
    "labels that differ": "DECISION: ESCALATE\nDECISION: PROCEED",
    "a label in bold that differs": "DECISION: PROCEED\n**Decision:** ESCALATE",
    "broken by quotes": '{"decision": "PROCEED", "reasoning": "he said "no""}',
}


@pytest.mark.parametrize("text", REFUSALS.values(), ids=REFUSALS)
def test_no_mending_turns_a_refusal_into_a_permission(text):
    opinion = critique_text.read(text)
    assert opinion is None or opinion.decision != "PROCEED"


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_decision_with_words_around_it_is_that_decision_only_without_letters_in_them(before, after):
    opinion = critique_text.read(json.dumps({"decision": f"{before}PROCEED{after}"}))
    if opinion is not None:
        assert not any(sign.isalnum() for sign in before + after)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_whatever_a_field_holds_what_is_read_fits_the_form(value):
    import jsonschema_rs

    valid = jsonschema_rs.validator_for({**FORM, "required": []})
    for name in FORM["properties"]:
        call = ToolCall("analyse_request", {name: value})
        filled = read_form(ModelReply("", ModelUsage("m"), (call,)), FORM, RULES)
        assert valid.is_valid(dict(filled.fields)), (name, value, filled)


@given(st.text(max_size=300))
def test_no_text_makes_reading_fail(text):
    for said in (text, f"DECISION: {text}", '{"decision": ' + text, '{"decision": "CLARIFY", ' + text):
        read(said)
