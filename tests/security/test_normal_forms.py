"""Rows of marks without end cost no more than other text of their length: the sorting of marks is the square of a row."""

from __future__ import annotations

import ast
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.source_trees import read_tree

import circumspect
from circumspect.normal_forms import MOST_MARKS, PARTING, Form, is_mark, normalise

FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")
HIGH, LOW, TO_TWO, HALF_WIDTH = "\u0315", "\u0300", "\u0f73", "\uff9e"
MAY_SORT = {
    "normal_forms.py": "parts long rows first",
    "server/credentials.py": "a password is short, and what is kept of it must not change",
}


def longest_row(text: str) -> int:
    longest = row = 0
    for sign in text:
        row = row + 1 if unicodedata.combining(sign) else 0
        longest = max(longest, row)
    return longest


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("marks", [HIGH + LOW, HIGH, TO_TWO, HALF_WIDTH, HIGH + TO_TWO + LOW, "\u0344"])
def test_no_row_is_longer_than_twice_what_writing_needs(form: Form, marks: str):
    said = "a" + marks * 2_000
    assert longest_row(normalise(form, said)) <= 2 * MOST_MARKS
    assert longest_row(normalise(form, marks * 2_000)) <= 2 * MOST_MARKS


def test_every_sign_that_is_sorted_is_known_as_one():
    signs = [chr(place) for place in range(sys.maxunicode + 1) if not 0xD800 <= place < 0xE000]
    sorted_ = [sign for sign in signs if unicodedata.combining(unicodedata.normalize("NFKD", sign)[0])]
    assert [f"{ord(sign):x}" for sign in sorted_ if not is_mark(sign)] == []
    long = [sign for sign in sorted_ if longest_row(normalise("NFKC", "a" + sign * 300)) > 2 * MOST_MARKS]
    assert [f"{ord(sign):x}" for sign in long] == []


@pytest.mark.parametrize("form", FORMS)
@given(text=st.text(st.sampled_from("aאがｶﾞ№" + HIGH + LOW + "é"), max_size=400))
def test_rows_that_writing_has_come_out_as_they_always_did(form: Form, text: str):
    said = normalise(form, text)
    assert said.replace(PARTING, "") == said or longest_row(text) >= MOST_MARKS
    if longest_row(unicodedata.normalize("NFD", text)) <= MOST_MARKS:
        assert said == unicodedata.normalize(form, text)


def test_nobody_sorts_marks_on_their_own():
    root = Path(circumspect.__file__).parent
    found = set()
    for path in root.rglob("*.py"):
        for node in ast.walk(read_tree(path)):
            if isinstance(node, ast.Attribute) and ast.unparse(node) == "unicodedata.normalize":
                found.add(path.relative_to(root).as_posix())
            if isinstance(node, ast.ImportFrom) and node.module == "unicodedata":
                assert not {one.name for one in node.names} & {"normalize", "*"}, path
    assert found == set(MAY_SORT)
