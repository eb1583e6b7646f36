"""Texts as what can be quoted: split into sentences with the concepts in them, and put into the words of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from circumspect.demo.offline.free_text import keys_in
from circumspect.demo.offline.lexicon import is_written_in, read, say
from circumspect.demo.offline.request_view import RequestContents
from circumspect.demo.offline.result_words import make_quotable
from circumspect.language.sentences import split_sentences

Sentences: TypeAlias = tuple[tuple[str, frozenset[str]], ...]
"""Each with the concepts and stems in it."""
SENTENCE_FITS = 0.34


@dataclass(frozen=True, slots=True)
class OfflineAnswer:
    """`text` answers, as surely as `confidence` says; or `keys` must be fetched first; or neither: not known."""

    text: str = ""
    confidence: int = 3
    keys: tuple[str, ...] = ()


@lru_cache(maxsize=256)
def sentences_of(text: str) -> Sentences:
    return tuple((sentence, frozenset(keys_in(read(sentence)))) for sentence in split_sentences(text))


def quote_text(text: str, seen: RequestContents) -> str:
    plain = make_quotable(text)
    return say(seen.language, "quote" if is_written_in(plain, seen.language) else "quote_foreign", quote=plain)
