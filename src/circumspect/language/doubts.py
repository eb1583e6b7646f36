"""A model's doubts: does a reply say that it may be wrong, does a question ask for more than a yes?

The words are in `assessment.txt`.
"""

from __future__ import annotations

import re
from functools import cache

from circumspect.language.folding import fold_words
from circumspect.language.pack import join_words, packs


def admits_doubt(text: str) -> bool:
    return _doubts().search(fold_words(text)) is not None


def says_not_known(text: str) -> bool:
    """It says that there is no answer to be had, not only that it may be wrong."""
    return _not_known().search(fold_words(text)) is not None


def apologises(text: str) -> bool:
    return _apologies().search(fold_words(text)) is not None


def asks_more(question: str) -> bool:
    """It asks for something that a yes does not answer, and for nothing that is private."""
    low = fold_words(question)
    return "?" in question and _asks_more().search(low) is not None and _private().search(low) is None


def asks_which(question: str, within: int) -> bool:
    """Among so many first words is one that asks for more than yes or no: "And which one shall I cancel?" """
    return _asks_more().search(" ".join(fold_words(question).split()[:within])) is not None


@cache
def _doubts() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){join_words(one.assessment.doubt for one in packs())}(?!\w)")


@cache
def _not_known() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){join_words(one.assessment.not_known for one in packs())}(?!\w)")


@cache
def _apologies() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){join_words(one.assessment.apology for one in packs())}(?!\w)")


@cache
def _asks_more() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){join_words(one.assessment.asks_more for one in packs())}(?!\w)")


@cache
def _private() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){join_words(one.pages.private for one in packs())}(?!\w)")
