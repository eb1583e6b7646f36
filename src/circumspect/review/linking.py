"""Words of a policy -> the facts of a case that they mean, by the names that the facts have.

`clinical.notes_dated` is meant by "the clinical notes shall be dated", because all the words of its name that tell it
from others are there. Names that many facts share count little; words such as "date" or "value", which only say of
what type a fact is, count nothing. A phrase that fits two facts equally well means neither.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Literal

from circumspect.knowledge.terms import stem_word, words
from circumspect.review.values import Criterion, ReviewCase
from circumspect.values import Json

FactKind = Literal["date", "number", "flag", "text"]

FITS = 0.6
_MARGIN = 0.1
_WANTED = 0.15
_ABOVE = 0.5
"""What the names above a fact count, against its own."""
_TYPES = frozenset(words("date dated day on at of is in the id value amount number count total name kind type")) | {
    *words("no and to by for a percent"), *map(stem_word, words("date dated value type percent")),
}  # fmt: skip
"""As `reduced` leaves them."""
_SPLIT = re.compile(r"[._\-\s]+|(?<=[a-z])(?=[A-Z])")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})?)?")


@dataclass(frozen=True, slots=True)
class CaseFact:
    """One field, or the same field of every item in a list (`flights.*.booked_on`), with its values in order."""

    name: str
    fields: tuple[str, ...]
    values: tuple[Json, ...]
    kind: FactKind
    tokens: frozenset[str]
    own: frozenset[str]
    """The words of the last part of the name."""
    wanted: bool
    """The criterion names it, or something above it."""


@dataclass(frozen=True)
class CaseFacts:
    items: tuple[CaseFact, ...]
    weight: Mapping[str, float]

    def link(self, phrase: str, kind: FactKind) -> CaseFact | None:
        """The fact of that kind that is meant; None where there is none, or more than one."""
        said = stems(phrase)
        scored = sorted(
            (
                (self._fit(fact, said) + (_WANTED if fact.wanted else 0.0), fact)
                for fact in self.items
                if fact.kind == kind
            ),
            key=lambda pair: -pair[0],
        )
        scored = [pair for pair in scored if pair[0] >= FITS + (_WANTED if pair[1].wanted else 0.0)]
        if not scored or (len(scored) > 1 and scored[0][0] - scored[1][0] < _MARGIN):
            return None
        return scored[0][1]

    def _fit(self, fact: CaseFact, said: frozenset[str]) -> float:
        """The share of a name's words that were said, each by how well it tells the fact from others."""
        weights = {token: self.weight[token] * (1.0 if token in fact.own else _ABOVE) for token in fact.tokens}
        whole = sum(weights.values())
        return sum(weight for token, weight in weights.items() if is_said(token, said)) / whole if whole else 0.0

    def pick_wanted(self, *kinds: FactKind) -> Sequence[CaseFact]:
        return [fact for fact in self.items if fact.wanted and fact.kind in kinds]


def facts_of(case: ReviewCase, criterion: Criterion) -> CaseFacts:
    groups: dict[str, list[str]] = {}
    for name in case.fields:
        groups.setdefault(".".join("*" if part.isdigit() else part for part in name.split(".")), []).append(name)
    items = []
    for group, names in groups.items():
        values = tuple(one for name in names for one in _items(case.fields[name].value))
        kind = _kind(values)
        parts = [part for part in group.split(".") if part != "*"]
        tokens = frozenset().union(*(_tokens(part) for part in parts))
        wanted = any(group == path or group.startswith(f"{path}.") for path in criterion.facts)
        if kind is not None:
            items.append(CaseFact(group, tuple(names), values, kind, tokens, _tokens("".join(parts[-1:])), wanted))
    counted = Counter(token for fact in items for token in fact.tokens)
    return CaseFacts(tuple(items), {token: count**-0.5 for token, count in counted.items()})


def _items(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list | tuple) else (value,)


@lru_cache(maxsize=10_000)
def _tokens(name: str) -> frozenset[str]:
    found = frozenset(stem_word(part.lower()) for part in _SPLIT.split(name) if part)
    return found - _TYPES


def _kind(values: Sequence[Json]) -> FactKind | None:
    if not values:
        return None
    if all(isinstance(value, bool) for value in values):
        return "flag"
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return "number"
    if all(as_date(value) is not None for value in values):
        return "date"
    return "text" if all(isinstance(value, str) for value in values) else None


def as_date(value: Json) -> date | None:
    if not isinstance(value, str) or not _ISO.fullmatch(value):
        return None
    try:
        return date.fromisoformat(value[:10])
    except ValueError:
        return None


@lru_cache(maxsize=10_000)
def stems(text: str) -> frozenset[str]:
    return frozenset(stem_word(word) for word in words(text))


def is_said(token: str, said: frozenset[str]) -> bool:
    """The word itself, or one that it begins or that begins it: delivered, delivery."""
    if token in said:
        return True
    return len(token) >= 4 and any(len(one) >= 4 and (one.startswith(token) or token.startswith(one)) for one in said)


def name_tokens(path: str) -> frozenset[str]:
    """The words of a fact's name that tell it from others."""
    return frozenset().union(*(_tokens(part) for part in path.split(".") if not part.isdigit()))


_NEGATED = re.compile(r"\b(?:not|no|outside|without|other than|except(?: for)?)\b[^.;:]{0,30}$", re.IGNORECASE)


def mentions(text: str, value: str) -> bool:
    """Whether a value such as "general practitioner" occurs, every word of it, and not as what something is not."""
    wanted = stems(value) - _TYPES
    if not wanted or not all(is_said(token, stems(text)) for token in wanted):
        return False
    first = re.search(re.escape(value.split()[0][:5]), text, re.IGNORECASE)
    return first is None or not _NEGATED.search(text[: first.start()])
