"""Text -> terms: what the index holds and what a query asks for, the same on every database.

A word's letters decide how it is reduced, and where several languages share them, the language of the text. Stemmers
over-reduce now and then, which costs little in ranking; missing an inflected word costs the answer.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from circumspect.language.detection import find_language
from circumspect.language.folding import INNER_MARKS, POINTS
from circumspect.language.pack import packs, packs_read_with, split_pairs
from circumspect.language.registry import LANGUAGES, Language
from circumspect.language.scripts import SCRIPTS
from circumspect.normal_forms import normalise

_WORD = re.compile(rf"[^\W_]+(?:[{INNER_MARKS}][^\W_]+)*")
_POINTS = re.compile(f"[{POINTS}]")
_QUOTES = re.compile(f"[{INNER_MARKS}]")
_WHOLE_LETTERS = SCRIPTS["cyrillic"].letter
"""Whose marks are part of the letter: they stay."""


def stop_words(text: str) -> frozenset[str]:
    """Words that say nothing about what a text is about in its language, as `words` writes them."""
    return _stop_words(_language(text))


@cache
def _stop_words(language: Language) -> frozenset[str]:
    spoken = packs_read_with(language)
    return frozenset(word for one in spoken for line in one.documents.stop_words for word in words(line))


@cache
def _same_letters() -> dict[int, str]:
    """Letters at a word's end, and those that people also write as another, in one form."""
    lines = (line for one in packs() for line in (*one.about.final_letters, *one.about.same_letters))
    return str.maketrans(dict(split_pairs(lines)))


def words(text: str) -> list[str]:
    """The words as written, lower case, without marks and inner quotes."""
    plain = _POINTS.sub("", normalise("NFKC", text))
    return [word for written in _WORD.findall(plain) if (word := _plain(written))]


def _plain(word: str) -> str:
    word = _QUOTES.sub("", word).casefold().translate(_same_letters())
    if word.isascii() or _WHOLE_LETTERS.match(word):
        return word
    return "".join(letter for letter in normalise("NFKD", word) if letter.isalnum())


def terms(text: str) -> list[str]:
    """Every word, reduced; for the index."""
    language = _language(text)
    return [stem_word(word, language) for word in words(text)]


def telling_words(text: str) -> list[str]:
    """The words that say what it is about; all of them where there are only small ones."""
    written, small = words(text), stop_words(text)
    return [word for word in written if word not in small] or written


def query_terms(text: str) -> list[str]:
    """The words that say what is asked for, reduced, each once."""
    language = _language(text)
    return list(dict.fromkeys(stem_word(word, language) for word in telling_words(text)))


def _language(text: str) -> Language:
    """The language whose small words and endings a text has; the first where nothing tells."""
    return find_language(text) or LANGUAGES[0]


@lru_cache(maxsize=50_000)
def stem_word(word: str, language: Language = LANGUAGES[0]) -> str:
    """The part of a word that its inflected forms share; numbers, ids and words of other scripts as they are."""
    spoken = packs_read_with(language) if word.isalpha() else ()
    return next((one.stem(word) for one in spoken if one.script.letter.match(word)), word)
