"""What the names and messages of a page say: text -> does it match a list of `pages.txt`, in any language?

Matching is by whole words and by `language.word_lists`, so that "Payments" is not "pay" and inflected Hebrew is found.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Literal, get_args

from circumspect.language.pack import join_words, packs
from circumspect.language.phrases import BREAK
from circumspect.language.word_lists import as_matchable, as_written, compile_phrases

WordListName = Literal[
    "commits",
    "saves",
    "affirms",
    "dismisses",
    "searches",
    "looks",
    "acting addresses",
    "succeeded",
    "failed",
    "no failures",
    "refused",
    "not loaded",
    "missing page",
    "error page",
    "signs out",
    "still working",
    "turns over",
    "background",
    "small words",
]
_LONGEST = 2_000
_STEM = 4


def mentions(heading: WordListName, text: str) -> bool:
    """Does one of the phrases occur in it?"""
    return bool(text) and _patterns()[heading].search(as_matchable(text[:_LONGEST])) is not None


def complains(text: str) -> bool:
    """Does a message say that something did not work? "This cannot be undone" does not."""
    sentence = as_matchable(text[:_LONGEST]) if text else ""
    return _patterns()["failed"].search(_patterns()["no failures"].sub("| ", sentence)) is not None


def is_wholly(heading: WordListName, text: str) -> bool:
    """Is it one of the phrases, and nothing else, in each of its clauses ("No, keep it")?

    "View and pay" is two things: an open-ended "view ..." does not cover it.
    """
    if not text or len(text) > 100:
        return False
    clauses = [clause.strip() for clause in as_matchable(text).split(BREAK) if clause.strip()]
    return bool(clauses) and all(_is(heading, clause, text) for clause in clauses)


def _is(heading: WordListName, clause: str, text: str) -> bool:
    # The patterns look back at the space before a word, and take the one after it along.
    if _patterns()[heading].fullmatch(f" {clause} ", 1) is None:
        return False
    return not _joined().search(text.lower()) or clause in _lines()[heading]


def content(text: str) -> frozenset[str]:
    """The words of a name that could tie it to another: no numbers, and none of the smallest."""
    return frozenset(
        word for word in as_matchable(text).split() if len(word) > 2 and word.isalpha() and word not in _small()
    )


def has_common_word(one: str, other: str) -> bool:
    """Do two texts share a word, in whatever form: "Rate 5" and "You rated this"?"""
    return any(_akin(mine, theirs) for mine in content(one) for theirs in content(other))


def _akin(one: str, other: str) -> bool:
    least = max(_STEM, min(len(one), len(other)) - 1)
    return one == other or (len(one) >= least and one[:least] == other[:least])


@cache
def _small() -> frozenset[str]:
    return frozenset(word for line in _lines()["small words"] for word in line.split())


@cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    return {heading: compile_phrases(lines) for heading, lines in _lines().items()}


@cache
def _joined() -> re.Pattern[str]:
    return re.compile(rf"[&+]|\b{join_words(one.pages.joined for one in packs())}\b")


@cache
def _lines() -> Mapping[str, tuple[str, ...]]:
    return {
        heading: tuple(as_written(line) for one in packs() for line in one.pages.says[heading])
        for heading in get_args(WordListName)
    }
