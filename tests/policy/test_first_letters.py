"""Alternatives sorted by the letter that they can begin with find what they find in a row."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from circumspect.language.pack import packs
from circumspect.policy.grounding.first_letters import find_first_letters, sort_by_first_letter
from circumspect.policy.grounding.statement_patterns import _join_signs

REPLIES = sorted({one["reply"] for one in json.loads((Path(__file__).parent / "reply_claims.json").read_text("utf-8"))})


@pytest.mark.parametrize(
    ("pattern", "letters"),
    [
        ("done", "d"),
        ("e-?mailed", "e"),
        ("(?:removed|dropped) it", "rd"),
        ("(?:it )?works", "iw"),
        ("(?<!has )changed", "c"),
        ("^(?:the |your )?order", "tyo"),
        ("(?:a|(?:b|c?))d", "abcd"),
        ("x{0,2}y", "xy"),
        ("x{1,2}y", "x"),
        ("[abc]+d", "abc"),
    ],
)
def test_a_pattern_begins_with_one_of_these(pattern: str, letters: str) -> None:
    assert find_first_letters(pattern) == frozenset(letters)


@pytest.mark.parametrize(
    "pattern", [r"\w+ done", ".", r"(?:\w+ )?done", "(?:done)?", "[^a]b", "", r"\bdone", "(named)"]
)
def test_what_cannot_be_told_may_begin_with_anything(pattern: str) -> None:
    assert find_first_letters(pattern) is None


_LINES = sorted({line for one in packs() for lists in (one.statements.done, one.statements.do) for lines in lists.values()
                 for line in lines} | {line for one in packs() for line in (*one.statements.general, *one.statements.reported)})  # fmt: skip


@given(
    st.lists(st.sampled_from(_LINES), min_size=1, max_size=12, unique=True),
    st.lists(st.sampled_from(REPLIES), max_size=3),
    st.text("acdehn' -1", max_size=20),
)
@example(["done", "do(?:ne|ing)", r"\w+ing"], ["doing nothing is done"], "")
def test_in_any_text_they_find_the_same_one_at_the_same_place(lines: list[str], replies: list[str], more: str) -> None:
    text = " ".join((*replies, more)).casefold()
    in_a_row = re.compile(rf"(?:(?<!\w)|(?='))(?:{'|'.join(f'{line}(?!{chr(92)}w)()' for line in lines)})")
    pattern, names = _join_signs([(rf"{line}(?!\w)()", ((line, ""),)) for line in lines])
    found = [(hit.span(), names[(hit.lastindex or 1) - 1][0]) for hit in re.finditer(pattern, text)]
    assert found == [(hit.span(), lines[(hit.lastindex or 1) - 1]) for hit in in_a_row.finditer(text)]


def test_each_letter_has_all_that_can_begin_with_it_in_their_order() -> None:
    assert sort_by_first_letter(["ab", r"\w+", "(?:b|a)c", "b"]) == {"a": [0, 1, 2], "b": [1, 2, 3], "": [1]}
