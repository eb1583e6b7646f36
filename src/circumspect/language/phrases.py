"""What people say, as words that compare: text -> words, in the spelling of `phrases.txt`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from circumspect.language.pack import packs, split_pairs

BREAK = "|"
"""Stands for every mark that ends a clause."""

# A value (anything with a digit, an underscore or an @ in it) stays in one piece; words do not.
_TOKEN = re.compile(
    r"[#№$€£₪₽+-]?\w*[\d_@](?:[\w@#%/+]|[.,:'-](?=\w))*[$€£₪₽%]?|[^\W\d_]+(?:'[^\W\d_]+)*|[.,;:!…—–()\[\]\n]+|[^\w\s]"
)
_BREAKS = frozenset(".,;:!…—–()[]\n")
_EMPTY = frozenset("-*~&")
_RUN = re.compile(r"(.)\1{2,}")
_TWICE = re.compile(r"(.)\1")


@cache
def _same() -> Mapping[str, tuple[str, ...]]:
    lines = (pair for one in packs() for pair in split_pairs(one.phrases["same"]))
    return {written: tuple(meant.split()) for written, meant in lines}


def words(text: str) -> list[str]:
    """The words, values and single signs of a text from `fold_words`; every mark between clauses is a `BREAK`."""
    same = _same()
    found: list[str] = []
    for token in _TOKEN.findall(text):
        if token[0] in _BREAKS:
            found.append(BREAK)
        elif token in same:
            found.extend(same[token])
        elif token not in _EMPTY:
            found.append(token)
    return found


def shorten_word(word: str) -> Iterator[str]:
    """What a word with drawn-out letters may stand for: "yesss" for "yes"."""
    if _TWICE.search(word):
        yield _RUN.sub(r"\1\1", word)
        yield _RUN.sub(r"\1", word)
        yield _TWICE.sub(r"\1", _RUN.sub(r"\1", word))
