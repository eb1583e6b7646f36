"""Text -> terms: what the index holds and what a query asks for, the same on every database.

A word's letters decide how it is reduced: English and Russian by Snowball's stemmers, Hebrew by taking off the letters
that are written together with a word (and, the, in, to, from, that) and its plural and possessive endings. All of it
over-reduces now and then, which costs little in ranking; missing an inflected word costs the answer.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from pathlib import Path
from typing import Protocol

_WORD = re.compile(r"[^\W_]+(?:['’׳״\"][^\W_]+)*")
_POINTS = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]")
_QUOTES = re.compile("['’׳״\"]")
_HEBREW = re.compile("[\u05d0-\u05ea]")
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_FINAL = str.maketrans("ךםןףץё", "כמנפצе")
_PREFIXES = "והבלמשכ"
_SUFFIXES = ("ויות", "יות", "יהמ", "יכמ", "ינו", "ימ", "ות", "יה", "ית", "יו", "נו", "כמ", "תי", "ה", "ת", "י", "ו")
_SHORTEST = 3


@cache
def stop_words() -> frozenset[str]:
    """Words that say nothing about what a text is about; lower case, no final letters."""
    lines = (Path(__file__).parent / "stopwords.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(word.translate(_FINAL) for line in lines if not line.startswith("#") for word in line.split())


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802


@cache
def _stemmer(language: str) -> _Stemmer:
    import snowballstemmer  # type: ignore[import-untyped]

    made: _Stemmer = snowballstemmer.stemmer(language)
    return made


def words(text: str) -> list[str]:
    """The words as written, lower case, without marks and inner quotes."""
    plain = _POINTS.sub("", unicodedata.normalize("NFKC", text))
    return [word for written in _WORD.findall(plain) if (word := _plain(written))]


def _plain(word: str) -> str:
    word = _QUOTES.sub("", word).casefold().translate(_FINAL)
    if word.isascii() or _CYRILLIC.match(word):
        return word
    return "".join(letter for letter in unicodedata.normalize("NFKD", word) if letter.isalnum())


def terms(text: str) -> list[str]:
    """Every word, reduced; for the index."""
    return [stem_word(word) for word in words(text)]


def telling_words(text: str) -> list[str]:
    """The words that say what it is about; all of them where there are only small ones."""
    written = words(text)
    return [word for word in written if word not in stop_words()] or written


def query_terms(text: str) -> list[str]:
    """The words that say what is asked for, reduced, each once."""
    return list(dict.fromkeys(stem_word(word) for word in telling_words(text)))


@lru_cache(maxsize=50_000)
def stem_word(word: str) -> str:
    if _HEBREW.match(word):
        return _hebrew(word)
    if _CYRILLIC.match(word):
        return _stemmer("russian").stemWord(word)
    if word.isascii() and word.isalpha():
        return _stemmer("english").stemWord(word)
    return word


def _hebrew(word: str) -> str:
    while len(word) > _SHORTEST and word[0] in _PREFIXES:
        word = word[1:]
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST:
            return word[: -len(suffix)]
    return word
