"""A sentence that answers a question -> whether it says no to it.

"Not allowed" and "forbidden" do, "not forbidden" does not. Of a sentence with several clauses the one counts that is
about what was asked.
"""

from __future__ import annotations

import re
from functools import cache

from circumspect.knowledge.answer_terms import is_among, read_words, share
from circumspect.knowledge.answering import Answering
from circumspect.knowledge.asked_question import AskedQuestion
from circumspect.knowledge.terms import words
from circumspect.language.folding import fold
from circumspect.language.pack import compile_words, join_words, packs

_SAME_CLAIM = 0.6
"""Share of words that a yes and a no must have in common."""
_BEHIND = 3
"""Words behind a "without" that may be what is done without."""
_BARE = 4
"""Words of an answer that says nothing but yes or no to the question above it."""


def says_no(side: Answering, asked: AskedQuestion) -> bool:
    text = fold(_find_claim(side.evidence.quote, asked))
    if _no_first().match(text):
        return True
    denied = _negations().search(text) is not None or _goes_without(text, asked)
    return denied != bool(_opposites().search(text))


def _goes_without(text: str, asked: AskedQuestion) -> bool:
    """Do I need a ticket? "Admission without a ticket." But "photos without flash" only sets a condition."""
    behind = (words(text[hit.end() :])[:_BEHIND] for hit in _without().finditer(text))
    return any(is_among(one, read_words(" ".join(told))) for told in behind for one in asked.subject)


def _find_claim(text: str, asked: AskedQuestion) -> str:
    """Of several clauses the first that is about what was asked: "allowed in the garden, but not in the house"."""
    clauses = _clause().split(text)
    return max(clauses, key=lambda one: sum(is_among(term, read_words(one)) for term in asked.subject))


def is_same_claim(left: Answering, right: Answering) -> bool:
    """One of them says most of what the other says, and neither makes an exception."""
    if any(_exceptions().search(fold(side.evidence.quote)) for side in (left, right)):
        return False
    if any(len(words(side.evidence.quote)) <= _BARE for side in (left, right)):
        return True
    fewer, more = sorted((left, right), key=lambda side: len(side.terms))
    return share(fewer.terms, more.words) >= _SAME_CLAIM


@cache
def _clause() -> re.Pattern[str]:
    return re.compile(rf"[,;:()–—]\s|\s{join_words(one.documents.clause for one in packs())}\s", re.IGNORECASE)


@cache
def _negations() -> re.Pattern[str]:
    return compile_words(one.conflicts.negation for one in packs())


@cache
def _without() -> re.Pattern[str]:
    return compile_words(one.conflicts.without for one in packs())


@cache
def _no_first() -> re.Pattern[str]:
    return re.compile(rf"\W*{join_words(one.conflicts.negation for one in packs())}[,.!:]")


@cache
def _opposites() -> re.Pattern[str]:
    return compile_words(one.conflicts.opposite for one in packs())


@cache
def _exceptions() -> re.Pattern[str]:
    return compile_words(one.conflicts.exceptions for one in packs())
