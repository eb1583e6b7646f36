"""The words of a rule -> the one fact of a case that they mean, by the names that facts have.

`parcel.weight_lb` is meant by "parcels must not weigh more than", because every word of its own name is said, its unit
measures what the rule measures, and no other fact could be meant. Where two could be, neither is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from circumspect.knowledge.terms import stem_word, words
from circumspect.review.units import MeasureUnit, find_unit
from circumspect.review.values import ReviewCase
from circumspect.values import Json

FactKind = Literal["date", "number", "flag", "text", "other"]

_TYPES = frozenset(map(stem_word, words("date day on at of is in the value")))
"""They only say of what type a fact is."""
_KINDS = frozenset(words("kind type category"))
_SHORT = 3
_SPLIT = re.compile(r"[._\-\s]+|(?<=[a-z])(?=[A-Z])")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
_MEASURED = re.compile(r"(\d+(?:\.\d{1,2})?) ?(°C|%|[A-Za-z]+)")


@dataclass(frozen=True, slots=True)
class CaseFact:
    name: str
    kind: FactKind
    path: frozenset[str]
    """The stems of its whole name."""
    own: frozenset[str]
    """Those that tell it from others: of the last part, or of the part above where the last one only says its type."""
    parent: str
    on: date | None = None
    amount: Fraction | None = None
    unit: MeasureUnit | None = None
    texts: frozenset[str] = frozenset()
    """The stems of a short text."""
    says_kind: bool = False
    is_true: bool = False
    is_long: bool = False
    """A text that nobody can claim to have read."""


def list_facts(case: ReviewCase) -> tuple[CaseFact, ...]:
    return tuple(_read_fact(name, field.value) for name, field in case.fields.items())


def _read_fact(name: str, value: Json) -> CaseFact:
    parts = [part for part in name.split(".") if not part.isdigit()]
    leaf, unit = _split_unit(parts[-1]) if parts else ((), None)
    own = frozenset(leaf) - _TYPES
    if not own and len(parts) > 1:
        own = frozenset(_split(parts[-2])) - _TYPES
    path = frozenset(stem for part in parts[:-1] for stem in _split(part)) | frozenset(leaf)
    known = (path, own, ".".join(name.split(".")[:-1]))
    if isinstance(value, bool):
        return CaseFact(name, "flag", *known, is_true=value)
    if isinstance(value, int | float):
        finite = value == value and abs(value) != float("inf")
        return CaseFact(name, "number", *known, amount=Fraction(str(value)) if finite else None, unit=unit)
    if not isinstance(value, str):
        return CaseFact(name, "other", *known)
    if on := _read_date(value):
        return CaseFact(name, "date", *known, on=on)
    measured = _MEASURED.fullmatch(value.strip())
    if measured and (named := find_unit(measured[2])):
        same = unit is None or unit == named
        return CaseFact(name, "number", *known, amount=Fraction(measured[1]) if same else None, unit=named)
    said = words(value)
    texts = frozenset(stem_word(word) for word in said)
    is_long = sum(word.isalpha() for word in said) > _SHORT
    return CaseFact(
        name, "text", *known, texts=texts, says_kind=name.rpartition(".")[2].lower() in _KINDS, is_long=is_long
    )


@lru_cache(maxsize=10_000)
def _split(name: str) -> tuple[str, ...]:
    return tuple(stem_word(part.lower()) for part in _SPLIT.split(name) if part)


def _split_unit(leaf: str) -> tuple[tuple[str, ...], MeasureUnit | None]:
    """A name's words and the unit that it ends with: `weight_kg`. A name that is nothing but a unit has it as well."""
    parts = [part for part in _SPLIT.split(leaf) if part]
    unit = find_unit(parts[-1]) if parts else None
    return tuple(stem_word(part.lower()) for part in (parts[:-1] if unit else parts)), unit


def _read_date(value: str) -> date | None:
    """A whole day. A time of day makes it something that days do not measure exactly."""
    if not _ISO.fullmatch(value):
        return None
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None


def find_meant(facts: tuple[CaseFact, ...], said: frozenset[str], kind: FactKind) -> CaseFact | None:
    """The fact of that kind whose own name is said. None where there is none, or another shares a word of it."""
    touched = [fact for fact in facts if fact.own & said and fact.kind in (kind, "other")]
    whole = [fact for fact in touched if fact.own <= said]
    return whole[0] if len(touched) == len(whole) == 1 and whole[0].kind == kind else None
