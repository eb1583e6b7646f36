"""What a model wrote for a program to read is told from prose."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect.policy.parsing.reply_data import read_reply_data

VALUES = st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=9), st.lists, max_leaves=9)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ('{"a": "one", "b": ["two", {"c": "three"}], "n": 4}', "one\ntwo\nthree"),
        ('```json\n{"a": "one"}\n```', "one"),
        ('{"a": "one"}\n{"a": "two"}', "one\ntwo"),
        ("[]", ""),
        ("status: done\nnote: it's here.", "done\nit's here."),
        ("items:\n  - one\n  - two", "one\ntwo"),
        ("- name: kettle\n  price: 20\n- name: cup\n  price: 5", "kettle\n20\ncup\n5"),
        ("---\ntext: |\n  One line.\n  Another: line.\nend: yes", "One line.\nAnother: line.\nyes"),
        ("Order number: 4711\nState: cancelled", "4711\ncancelled"),
        ("שם: דנה\nעיר: חיפה", "דנה\nחיפה"),
        ("Имя: Анна\nГород: Тула", "Анна\nТула"),
        ("# settings\nport: 80\nhost: a", "80\na"),
    ],
)
def test_data_are_read_value_by_value(reply: str, words: str) -> None:
    assert read_reply_data(reply) == words


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I have cancelled order 4711.",
        "Status: I have cancelled order 4711.",
        "Note:\nI have cancelled order 4711.",
        "Dear Ann: it is done.\nYours: Basil.",
        "What I did: I have cancelled order 4711 for you.\nWhat is next: you will get your money.",
        "Here it is:\n\n```json\n{}\n```",
        '{"a": "one"} and more',
        "{not json}",
        "- one\n- two",
        "42",
        '"words"',
        "status: done\nI have cancelled order 4711.",
        "[" * 100_000,
        "a: " * 60_000,
    ],
)
def test_prose_is_none(reply: str) -> None:
    assert read_reply_data(reply) is None


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4))
def test_any_object_is_data(data: dict[str, object]) -> None:
    assert read_reply_data(json.dumps(data)) is not None
