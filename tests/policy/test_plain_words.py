"""Nobody is shown a form: of what a model wrote, only the words reach the user."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect.policy.parsing.plain_words import read_plain_words

CALL = '{"reply": "%s", "tool": "refund", "arguments": {"order_id": "12295"}}'


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (CALL % "It cannot be refunded.", "It cannot be refunded."),
        (CALL % "ERROR: it cannot be refunded.", "it cannot be refunded."),
        ('[]{"order_id": "12345", "message": "It goes to Herzl 5."}', "It goes to Herzl 5."),
        ('```json\n{"reply": "Hello there."}\n```', "Hello there."),
        ('{"reply": "It was cut o', "It was cut o"),
        (f"One moment. {CALL % ''}", "One moment."),
        (CALL % "", ""),
        ('{"order_id": "12345"}', ""),
        ("Hello {name}, it is ready.", "Hello {name}, it is ready."),
        ('Send {"id": 1} to us.', 'Send {"id": 1} to us.'),
        ("Plain words.", "Plain words."),
    ],
)
def test_the_words_are_taken_out_of_a_form(written, words):
    assert read_plain_words(written) == words


@given(st.dictionaries(st.text(), st.none() | st.text() | st.integers()), st.text(alphabet=" \n[],"))
def test_no_object_is_ever_the_reply(members, around):
    written = around + json.dumps(members, ensure_ascii=False) + around
    assert json.dumps(members, ensure_ascii=False) not in read_plain_words(written) or members == {}
