"""Patterns found by the words that they can begin with are found as they are in a row."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from circumspect.language.first_words import FirstWord, WordIndex, find_first_words, find_needed_words
from circumspect.language.pack import packs
from circumspect.language.registry import LANGUAGES
from circumspect.language.watched_words import TextWords, WordList
from circumspect.policy.grounding.statement_patterns import (
    FoundSign,
    SignIndex,
    SignLine,
    find_patterns,
)

REPLIES = sorted({one["reply"] for one in json.loads((Path(__file__).parent / "reply_claims.json").read_text("utf-8"))})


def _read(words: str) -> frozenset[FirstWord]:
    """ "a b+": a, and what begins with b."""
    return frozenset(FirstWord(one.rstrip("+"), "+" not in one) for one in words.split())


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("done", "done+"),
        (r"done(?!\w)", "done"),
        (r"e-?mailed(?!\w)", "e emailed"),
        ("(?:removed|dropped) it", "removed dropped"),
        (r"(?:it )?works(?!\w)", "it works"),
        (r"cancel+e?d(?!\w)", "cancel+"),
        (r"(?<!has )changed(?!\w)", "changed"),
        (r"^(?:the |your )?order(?!\w)", "the your order"),
        (r"(?:a|(?:b|c?))d(?!\w)", "ad bd cd d"),
        ("x{0,2}y", "x+ y+"),
        ("[abc]d", "ad+ bd+ cd+"),
        (r"see\w*", "see+"),
        (r"see\W", "see"),
        ("'s been", "'"),
        (r"(?:now ){0,3}sent(?!\w)", "now sent"),
        (r"\d digits", "0 1 2 3 4 5 6 7 8 9"),
        ("(?!)", ""),
    ],
)
def test_a_pattern_begins_with_one_of_these(pattern: str, words: str) -> None:
    assert find_first_words(pattern) == _read(words)


@pytest.mark.parametrize("pattern", [r"\w+ done", ".", r"(?:\w+ )?done", "(?:done)?", "[^a]b", "", r"\bdone", "(?i:a)"])
def test_what_cannot_be_told_may_begin_with_anything(pattern: str) -> None:
    assert find_first_words(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "words"), [(r"(?:\w+ )?you'll", "you"), (r"\w+n't(?!\w)", "'"), (r"x(?:\w+ )?y(?!\w)", "x+ xy")]
)
def test_what_may_begin_with_anything_may_need_a_word_all_the_same(pattern: str, words: str) -> None:
    assert find_needed_words(pattern) == _read(words)


def test_each_word_has_all_that_can_begin_with_it_in_their_order() -> None:
    index = WordIndex(map(find_first_words, [r"ab(?!\w)", r"\w+", "(?:b|a)c", "a"]))
    assert [index.look_up(token) for token in ("ab", "acme", "b", "abc")] == [[0, 1, 3], [1, 2, 3], [1], [1, 3]]


_LINES = sorted({line for one in packs() for lists in (one.statements.done, one.statements.do) for lines in lists.values()
                 for line in lines} | {line for one in packs() for line in (*one.statements.general, *one.statements.reported)})  # fmt: skip


@given(
    st.lists(st.sampled_from(_LINES), min_size=1, max_size=12, unique=True),
    st.lists(st.sampled_from(REPLIES), max_size=3),
    st.text("acdehn' -1", max_size=20),
)
@example(["done", "do(?:ne|ing)", r"\w+ing"], ["doing nothing is done"], "")
def test_in_any_text_they_find_the_same_one_at_the_same_place(lines: list[str], replies: list[str], more: str) -> None:
    text = " ".join(" ".join((*replies, more)).casefold().split())
    in_a_row = re.compile(rf"(?:(?<!\w)|(?='))(?:{'|'.join(f'{line}(?!{chr(92)}w)()' for line in lines)})")
    index = SignIndex([SignLine(rf"{line}(?!\w)()", ((line, ""),)) for line in lines], bit=1)
    found = index.find(TextWords(text, begins=1))
    assert found == [FoundSign(lines[(hit.lastindex or 1) - 1], "", *hit.span()) for hit in in_a_row.finditer(text)]


@given(st.lists(st.sampled_from((*REPLIES, *_LINES)), min_size=1, max_size=3))
def test_a_list_that_is_left_out_is_not_in_the_text(texts: list[str]) -> None:
    text = " ".join(" ".join(texts).casefold().split())
    for words in map(find_patterns, LANGUAGES):
        said = words.read(text)
        lists = {name: each for name in words.__slots__ if isinstance(each := getattr(words, name), WordList)}
        missed = [name for name, one in lists.items() if not one.may_be_in(said) and one.pattern.search(said.text)]
        assert [name for name in missed if name not in ("clauses", "turns", "question")] == []
