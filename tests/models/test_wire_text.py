"""Text and JSON from outside: what is read is exactly what was written, or nothing."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect.models.wire_text import Unreadable, clean, clean_json, compact, read_object, strip_fence

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
OBJECTS = st.dictionaries(st.text(), JSON, max_size=5)


@given(ANY_TEXT)
def test_clean_text_can_always_be_encoded(text: str) -> None:
    clean(text).encode()


@given(st.text())
def test_text_that_was_clean_is_not_touched(text: str) -> None:
    assert clean(text) == text


def test_the_two_halves_of_a_letter_are_joined() -> None:
    assert clean("\ud83d\ude00") == "\U0001f600"
    assert clean("\ude00\ud83d") == "\ufffd\ufffd"


@given(OBJECTS)
def test_an_object_is_read_as_it_was_written(value: dict[str, object]) -> None:
    assert read_object(json.dumps(value)) == value
    assert read_object(compact(value)) == value  # type: ignore[arg-type]


@given(OBJECTS, st.data())
def test_a_part_of_an_object_is_never_completed(value: dict[str, object], data: st.DataObject) -> None:
    text = json.dumps(value)
    end = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(Unreadable):
        read_object(text[:end])


@given(ANY_TEXT)
def test_any_text_is_an_object_or_unreadable(text: str) -> None:
    with suppress(Unreadable):
        assert isinstance(read_object(text), dict)


def test_why_something_is_unreadable_does_not_quote_it() -> None:
    with pytest.raises(Unreadable) as caught:
        read_object('{"card": "4111 1111 1111 1111"')
    assert "4111" not in str(caught.value)


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '{"b": {"a": 1, "a": 1}}', '{"a": NaN}', '{"a": -Infinity}',
                                  '{"a": 1e999}', "null", "[1]", '{"a":' * 200 + "1" + "}" * 200])  # fmt: skip
def test_what_can_be_read_in_two_ways_or_none_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        read_object(text)


def test_an_object_in_a_code_fence_is_that_object_and_no_other_words_may_stand_beside_it() -> None:
    assert read_object('```json\n{"a": "1"}\n```') == read_object('```{"a": "1"}```') == {"a": "1"}
    for text in ('Here:\n```json\n{"a": 1}\n```', '```json\n{"a": 1}', '```\n{"a": 1}\n```\n```\n{"a": 2}\n```'):
        with pytest.raises(Unreadable):
            read_object(text)


def test_values_that_no_json_has_are_unreadable() -> None:
    with pytest.raises(Unreadable):
        clean_json({"a": [float("inf")]})


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ("```\n{}\n```\n", "{}"),
        ("{}", "{}"),
        ("see ```{}```", "see ```{}```"),
        ('```json {"a": 1}```', '{"a": 1}'),
        ('```json\r\n{"a": 1}\r\n```', '{"a": 1}\r'),
        ("```see```", "```see```"),
    ],
)
def test_a_reply_in_a_fence_is_unwrapped_and_nothing_else(text: str, inside: str) -> None:
    assert strip_fence(text) == inside
