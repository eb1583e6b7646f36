"""What the names and messages of a page say: text -> does it match a list of `pages.txt`, in any language?

Matching is by whole words and by `language.word_lists`, so that "Payments" is not "pay" and inflected Hebrew is found.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Literal, get_args

from circumspect.language.answer_words import is_question
from circumspect.language.pack import join_words, packs
from circumspect.language.phrases import BREAK
from circumspect.language.sentences import split_sentences
from circumspect.language.word_lists import as_matchable, as_written, compile_phrases

WordListName = Literal[
    "commits",
    "saves",
    "affirms",
    "dismisses",
    "searches",
    "looks",
    "begins",
    "empties",
    "places",
    "acting addresses",
    "succeeded",
    "failed",
    "no failures",
    "refused",
    "undecided",
    "not loaded",
    "missing page",
    "error page",
    "signs out",
    "still working",
    "turns over",
    "background",
    "small words",
    "offers more",
]
_CHANGING_NOTHING: tuple[WordListName, ...] = ("looks", "searches", "dismisses")
_LONGEST = 2_000
_STEM = 4
_SEPARATOR = re.compile(r"[/|•·]|\s[-–—]\s")
"""Between two things that one button does: "View / Pay"."""


def mentions(heading: WordListName, text: str) -> bool:
    """Does one of the phrases occur in it?"""
    return bool(text) and _patterns()[heading].search(as_matchable(text[:_LONGEST])) is not None


def complains(text: str) -> bool:
    """Does a message say that something did not work? "This cannot be undone" does not."""
    sentence = as_matchable(text[:_LONGEST]) if text else ""
    return _patterns()["failed"].search(_patterns()["no failures"].sub("| ", sentence)) is not None


def asks_something(reply: str) -> bool:
    """Does it end with a question that wants an answer? "Can I help with anything else?" does not."""
    sentences = split_sentences(reply.strip())
    return bool(sentences) and is_question(sentences[-1]) and not mentions("offers more", sentences[-1])


def is_wholly(heading: WordListName, text: str) -> bool:
    """Is it one of the phrases, and nothing else, in each of its clauses ("No, keep it")?

    "View and pay" is two things: an open-ended "view ..." does not cover it.
    """
    clauses = _split_clauses(text)
    return bool(clauses) and all(_is(heading, clause, text) for clause in clauses)


def is_harmless(text: str) -> bool:
    """Does the name of a button prove that a click on it changes nothing?

    Every clause of it has to be one that only looks, searches, leaves, or names a place. What merely begins like one
    and goes on to name a deed ("Show delete") proves nothing.
    """
    clauses = _split_clauses(text)
    return bool(clauses) and all(_is_harmless(clause, text) for clause in clauses)


def _is_harmless(clause: str, text: str) -> bool:
    if any(_matches(_spelled_out()[heading], clause) for heading in _CHANGING_NOTHING) or _names_a_place(clause):
        return True
    if _is("dismisses", clause, text):
        return True
    return not mentions("commits", clause) and any(_is(heading, clause, text) for heading in ("looks", "searches"))


def _names_a_place(clause: str) -> bool:
    """Every word of it is one of those that places are called by: "Past visits", "Inbox 3"."""
    words = [word for word in clause.split() if not word.isdecimal()]
    return bool(words) and all(word in _places() for word in words)


def _split_clauses(text: str) -> list[str]:
    if not text or len(text) > 100:
        return []
    clauses = as_matchable(_SEPARATOR.sub(f" {BREAK} ", text)).split(BREAK)
    said = [clause.strip() for clause in clauses if clause.strip()]
    return [clause for clause in said if not clause.isdecimal()] or said


def _is(heading: WordListName, clause: str, text: str) -> bool:
    if not _matches(_patterns()[heading], clause):
        return False
    return not _joined().search(text.lower()) or _matches(_spelled_out()[heading], clause)


def _matches(pattern: re.Pattern[str], clause: str) -> bool:
    # The patterns look back at the space before a word, and take the one after it along.
    return pattern.fullmatch(f" {clause} ", 1) is not None


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
def _places() -> frozenset[str]:
    return frozenset(word for line in _lines()["places"] for word in line.split())


@cache
def _small() -> frozenset[str]:
    return frozenset(word for line in _lines()["small words"] for word in line.split())


@cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    return {heading: compile_phrases(lines) for heading, lines in _lines().items()}


@cache
def _spelled_out() -> Mapping[str, re.Pattern[str]]:
    """Those of the phrases that leave no word open."""
    closed = {heading: tuple(line for line in lines if "..." not in line) for heading, lines in _lines().items()}
    return {heading: compile_phrases(lines) for heading, lines in closed.items()}


@cache
def _joined() -> re.Pattern[str]:
    return re.compile(rf"[&+]|\b{join_words(one.pages.joined for one in packs())}\b")


@cache
def _lines() -> Mapping[str, tuple[str, ...]]:
    return {
        heading: tuple(as_written(line) for one in packs() for line in one.pages.says[heading])
        for heading in get_args(WordListName)
    }
