"""Candidates and a query -> scores: BM25 twice, over reduced words and over pieces of words, added up.

The database finds candidates, this orders them, so that SQLite and PostgreSQL rank alike and one tenant's documents
never weigh on another's. How rare a term is, is counted among the candidates. Pieces of words find what reducing
misses: Russian and Hebrew inflection, and words made of the same root (docs/knowledge.md has the figures).

A score is between 0 and 1: what share of the query, its rare words counting more, the passage answers. 1 is out of
reach. On the sample questions nine of ten right passages score .1 or more, and six of eight questions about something
else get nothing above .08.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from circumspect.knowledge.terms import query_terms, telling_words

MOST_TERMS = 32
MOST_GRAMS = 160
_SATURATION = 1.2
_LENGTH_OF_WORDS = 0.75
_LENGTH_OF_GRAMS = 0.4
_FEWEST_ALIKE = 2


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for. `terms` are reduced words, `grams` pieces of words; both are letters and digits only."""

    terms: tuple[str, ...]
    grams: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.terms)


@dataclass(frozen=True, slots=True)
class Candidate:
    """`head`, `body` and `grams` are terms with a blank between them."""

    id: int
    head: str
    body: str
    grams: str


def query(text: str) -> Query:
    return Query(tuple(query_terms(text))[:MOST_TERMS], tuple(dict.fromkeys(grams(text)))[:MOST_GRAMS])


def grams(text: str) -> list[str]:
    """Three letters each of the words that tell something. A word's first two are marked with a 0, others with a 1."""
    found: list[str] = []
    for word in telling_words(text):
        if len(word) < 3:
            found.append(f"0{word}")
            continue
        found.append(f"0{word[:2]}")
        found.extend(f"1{word[start : start + 3]}" for start in range(len(word) - 2))
    return found


def scores(wanted: Query, candidates: Sequence[Candidate]) -> list[float]:
    """0 for what only looks alike: "scope" shares three letters with "open"."""
    by_words = _bm25(wanted.terms, [f"{one.head} {one.body}" for one in candidates], _LENGTH_OF_WORDS)
    by_grams = _bm25(wanted.grams, [one.grams for one in candidates], _LENGTH_OF_GRAMS)
    return [
        (words + pieces) / 2 if words or _alike(wanted, one) else 0.0
        for one, words, pieces in zip(candidates, by_words, by_grams, strict=True)
    ]


def _alike(wanted: Query, candidate: Candidate) -> bool:
    return len(set(wanted.grams).intersection(candidate.grams.split())) >= _FEWEST_ALIKE


def _bm25(terms: Sequence[str], texts: Sequence[str], length_matters: float) -> list[float]:
    """As a share of what a text full of every term would get."""
    wanted = frozenset(terms)
    counts = [Counter(filter(wanted.__contains__, text.split())) for text in texts]
    lengths = [text.count(" ") + 1 for text in texts]
    average = sum(lengths) / len(lengths) if lengths else 0.0
    found = {term: sum(term in count for count in counts) for term in terms}
    rarity = {term: math.log(1 + (len(texts) - df + 0.5) / (df + 0.5)) for term, df in found.items()}
    most = sum(rarity.values()) * (_SATURATION + 1) or 1.0
    scored: list[float] = []
    for count, length in zip(counts, lengths, strict=True):
        damping = _SATURATION * (1 - length_matters + length_matters * length / (average or 1.0))
        total = sum(
            rarity[term] * count[term] * (_SATURATION + 1) / (count[term] + damping) for term in terms if term in count
        )
        scored.append(total / most)
    return scored
