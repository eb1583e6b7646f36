"""What people say, by language: lists of phrases from `phrases/*.txt`, and words made alike so that they compare.

Adding a language is adding a file. The files are plain lines under headings, read once, on first use: a yes has to be
read in microseconds, and loading a YAML parser for it would cost more than everything else in the turn.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources

BREAK = "|"
"""Stands for every mark that ends a clause."""

_UNSEEN = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\U0001f3fb-\U0001f3ff]"
)
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ`´׳＇‛′", "'") | {"ё": "е", "״": '"', "־": " "})
_SHORT_FORMS = (
    (re.compile(r"\blet's\b"), "let us"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"'d\b"), " would"),
    (re.compile(r"'m\b"), " am"),
    (re.compile(r"'s\b"), " is"),
    (re.compile(r"'re\b"), " are"),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"'ve\b"), " have"),
)
# A value (anything with a digit, an underscore or an @ in it) stays in one piece; words do not.
_TOKEN = re.compile(
    r"[#№$€£₪₽+-]?\w*[\d_@](?:[\w@#%/+]|[.,:'-](?=\w))*[$€£₪₽%]?|[^\W\d_]+(?:'[^\W\d_]+)*|[.,;:!…—–()\[\]\n]+|[^\w\s]"
)
_BREAKS = frozenset(".,;:!…—–()[]\n")
_EMPTY = frozenset("-*~&")
_RUN = re.compile(r"(.)\1{2,}")
_TWICE = re.compile(r"(.)\1")


@cache
def lists(language: str) -> Mapping[str, tuple[str, ...]]:
    """All phrases of a language by heading. A line `a = b` says that `a` is another way to write `b`."""
    found: dict[str, list[str]] = {}
    heading = ""
    file = resources.files("circumspect.language").joinpath("phrases", f"{language}.txt")
    for raw in file.read_text("utf-8").splitlines():
        line = raw.strip()
        if line.startswith("[") and line.endswith("]"):
            heading = line[1:-1]
            found.setdefault(heading, [])
        elif line and not line.startswith("#"):
            found.setdefault(heading, []).append(line)
    return {name: tuple(lines) for name, lines in found.items()}


@cache
def languages() -> tuple[str, ...]:
    files = resources.files("circumspect.language").joinpath("phrases").iterdir()
    return tuple(sorted(file.name.removesuffix(".txt") for file in files if file.name.endswith(".txt")))


@cache
def _same() -> Mapping[str, tuple[str, ...]]:
    lines = (line.partition(" = ") for language in languages() for line in lists(language).get("same", ()))
    return {written: tuple(meant.split()) for written, _, meant in lines}


def normalise_text(text: str) -> str:
    """The text without what does not change its meaning: case, vowel points, marks of direction, ё, apostrophes."""
    if text.isascii():
        text = text.lower()
    else:
        # The compatibility form of № is "No", which would turn a number into a refusal.
        text = unicodedata.normalize("NFKC", text.replace("№", "#")).lower().translate(_APOSTROPHES)
        text = _UNSEEN.sub("", text)
    if "'" in text:
        for short, long in _SHORT_FORMS:
            text = short.sub(long, text)
    return text


def words(text: str) -> list[str]:
    """The words, values and single signs of a text that was made alike; every mark between clauses is a `BREAK`."""
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
