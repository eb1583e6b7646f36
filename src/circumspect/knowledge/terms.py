"""Text -> terms: what the index holds and what a query asks for, the same on every database.

A word's letters decide how it is reduced: by the stemmer of the first language of their script. All of them over-reduce
now and then, which costs little in ranking; missing an inflected word costs the answer.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

from circumspect.language.folding import INNER_MARKS, POINTS
from circumspect.language.pack import packs, split_pairs
from circumspect.language.scripts import SCRIPTS

_WORD = re.compile(rf"[^\W_]+(?:[{INNER_MARKS}][^\W_]+)*")
_POINTS = re.compile(f"[{POINTS}]")
_QUOTES = re.compile(f"[{INNER_MARKS}]")
_WHOLE_LETTERS = SCRIPTS["cyrillic"].letter
"""Whose marks are part of the letter: they stay."""


@cache
def stop_words() -> frozenset[str]:
    """Words that say nothing about what a text is about, as `words` writes them."""
    return frozenset(word for one in packs() for line in one.documents.stop_words for word in words(line))


@cache
def _same_letters() -> dict[int, str]:
    """Letters at a word's end, and those that people also write as another, in one form."""
    lines = (line for one in packs() for line in (*one.about.final_letters, *one.about.same_letters))
    return str.maketrans(dict(split_pairs(lines)))


def words(text: str) -> list[str]:
    """The words as written, lower case, without marks and inner quotes."""
    plain = _POINTS.sub("", unicodedata.normalize("NFKC", text))
    return [word for written in _WORD.findall(plain) if (word := _plain(written))]


def _plain(word: str) -> str:
    word = _QUOTES.sub("", word).casefold().translate(_same_letters())
    if word.isascii() or _WHOLE_LETTERS.match(word):
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
    """The part of a word that its inflected forms share; numbers, ids and words of other scripts as they are."""
    return next((one.stem(word) for one in packs() if word.isalpha() and one.script.letter.match(word)), word)
