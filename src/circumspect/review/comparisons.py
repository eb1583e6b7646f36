"""A bound and the facts of a case -> does it hold? Yes, no, or the reason why nobody can say.

Dates are compared in whole days. "Within 30 days after" does not count the day itself and includes the last one, which
is what policies say when they say it at all. Business days count Monday to Friday; since holidays are not known, what
lies within two days of such a limit is left open.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from circumspect.review.bounds import DateBound, Period, Quantity, Relation, StatedBound
from circumspect.review.linking import CaseFact, CaseFacts, as_date

Holds = Literal["yes", "no", "absent", "open"]

_RELATIVE = re.compile(
    r"^\W*+(?:(?:per\s+cent|points?|days?)\s*+)?(?:lower|higher|above|below|longer|shorter|less|beyond)\b"
)
_AGE = re.compile(
    r"years?\s+(?:of\s+age|old)\b(?:\s+or\s+\w+)?(?:\s+on\s+(?:the\s+)?(?:day|date)\s+(?:on\s+which|of|when)\s+(?P<anchor>[^.;,]+))?",
    re.IGNORECASE,
)
_SHARED = re.compile(r"\b(?:for each|each|per(?! cent)|a (?:day|week|month|year)|every)\b", re.IGNORECASE)
_PER = re.compile(r"_?(?:each|per|every|of_each|of_every)_[a-z]+")
_UNITS = {
    "kg": "kg", "kilogram": "kg", "km": "km", "kilometre": "km", "mg": "mg", "milligram": "mg", "hour": "hour",
    "minute": "minute", "day": "day", "night": "night", "week": "week", "month": "month", "year": "year",
    "percent": "percent", "per cent": "percent", "%": "percent", "euro": "euro",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Compared:
    holds: Holds
    said: str
    """The comparison in words, for the rationale."""
    subject: tuple[str, ...] = ()
    anchor: tuple[str, ...] = ()


def compare(bound: StatedBound, sentence: str, facts: CaseFacts, measured: tuple[str, ...] = ()) -> Compared:
    """`measured` is what the bound before this one was about: "a score of 12 or more, recorded no more than 90 days
    before" asks for the day of that very score."""
    match bound:
        case Period():
            return _period(bound, sentence, facts, measured)
        case Quantity():
            return _quantity(bound, sentence, facts)
        case DateBound():
            fact = facts.link(bound.subject, "date")
            if fact is None:
                return Compared("absent", f"the case does not say when: {_short(bound.subject)}")
            every = [_has_relation(_days(as_date(value)), bound.relation, _days(bound.on)) for value in fact.values]
            return Compared("yes" if all(every) else "no", f"{fact.name} against {bound.on.isoformat()}", fact.fields)


def _period(bound: Period, sentence: str, facts: CaseFacts, measured: tuple[str, ...]) -> Compared:
    if bound.unit in ("hour", "minute"):
        return Compared("open", "hours are not compared")
    anchor = facts.link(bound.anchor, "date")
    subject = _beside(measured, facts) or _subject(bound.subject, sentence, facts, anchor)
    if anchor is None or subject is None:
        which = bound.anchor if anchor is None else bound.subject
        return Compared("absent", f"the case does not say when: {_short(which)}", _fields(subject), _fields(anchor))
    results = [_lies(one, other, bound) for one, other in _pairs(subject, anchor)]
    if not results:
        return Compared("open", "the items of the lists do not belong together")
    said = f"{subject.name} and {anchor.name} against {bound.amount:g} {bound.unit}s {bound.way}"
    holds: Holds = "no" if "no" in results else "open" if "open" in results else "yes"
    return Compared(holds, said, subject.fields, anchor.fields)


def _beside(measured: tuple[str, ...], facts: CaseFacts) -> CaseFact | None:
    """The one date that stands next to what was measured."""
    parents = {_parent(name) for name in measured} - {""}
    dates = [fact for fact in facts.items if fact.kind == "date" and {_parent(name) for name in fact.fields} == parents]
    return dates[0] if parents and len(dates) == 1 else None


def _parent(name: str) -> str:
    return name.rpartition(".")[0]


def _subject(phrase: str, sentence: str, facts: CaseFacts, anchor: CaseFact | None) -> CaseFact | None:
    """By the words right before the bound, then by all that stand before it."""
    others = CaseFacts(tuple(fact for fact in facts.items if fact is not anchor), facts.weight)
    whole = sentence[: sentence.find(phrase) + len(phrase)] if phrase else sentence
    return others.link(phrase, "date") or others.link(whole, "date")


def _pairs(subject: CaseFact, anchor: CaseFact) -> Iterator[tuple[date, date]]:
    ones, others = [as_date(value) for value in subject.values], [as_date(value) for value in anchor.values]
    if len(others) == 1:
        others *= len(ones)
    elif len(ones) == 1:
        ones *= len(others)
    if len(ones) == len(others):
        yield from ((one, other) for one, other in zip(ones, others, strict=True) if one and other)


def _lies(subject: date, anchor: date, bound: Period) -> Holds:
    earlier, later = (subject, anchor) if bound.way == "before" else (anchor, subject)
    if later < earlier:
        # The other side of the anchor is not what the sentence is about.
        return "open"
    if bound.unit == "business day":
        distance = _business_days(earlier, later)
        if abs(distance - bound.amount) <= 2:
            return "open"
        return "yes" if _has_relation(distance, bound.relation, bound.amount) else "no"
    limit = _after(earlier, bound)
    return "yes" if _has_relation(_days(later), bound.relation, _days(limit)) else "no"


def _after(start: date, bound: Period) -> date:
    if bound.unit in ("month", "year"):
        months = start.year * 12 + start.month - 1 + int(bound.amount) * (12 if bound.unit == "year" else 1)
        year, month = divmod(months, 12)
        return date(year, month + 1, min(start.day, calendar.monthrange(year, month + 1)[1]))
    return start + timedelta(days=bound.amount * (7 if bound.unit == "week" else 1))


def _business_days(start: date, end: date) -> int:
    return sum((start + timedelta(days=day)).weekday() < 5 for day in range(1, (end - start).days + 1))


def _quantity(bound: Quantity, sentence: str, facts: CaseFacts) -> Compared:
    if aged := _AGE.match(bound.after):
        return _age(bound, aged["anchor"], facts)
    if _RELATIVE.match(bound.after) or _SHARED.search(bound.after[:60]):
        return Compared("open", "the amount is relative to something else")
    unit = _unit(bound.unit)
    fitting = tuple(fact for fact in facts.items if fact.kind == "number" and _fits(fact, unit))
    near = CaseFacts(fitting, facts.weight)
    whole = sentence[: sentence.find(bound.subject) + len(bound.subject)] if bound.subject else sentence
    fact = near.link(f"{bound.subject} {bound.unit}", "number") or near.link(f"{whole} {bound.unit}", "number")
    if fact is None:
        return Compared("absent", f"the case does not say how much: {_short(bound.subject)}")
    every = [_has_relation(float(str(value)), bound.relation, bound.amount) for value in fact.values]
    said = f"{fact.name} against {bound.relation.replace('_', ' ')} {bound.amount:g} {bound.unit}".strip()
    return Compared("yes" if all(every) else "no", said, fact.fields)


def _age(bound: Quantity, anchor: str | None, facts: CaseFacts) -> Compared:
    """Years from the day of birth to the day that the sentence names."""
    births = [fact for fact in facts.items if fact.kind == "date" and "birth" in fact.tokens]
    on = facts.link(anchor, "date") if anchor else None
    if len(births) != 1 or len(births[0].values) != 1 or on is None or len(on.values) != 1:
        return Compared("absent", "the case does not say how old somebody is on that day")
    born, day = as_date(births[0].values[0]), as_date(on.values[0])
    if born is None or day is None:
        return Compared("open", "a date cannot be read")
    years = day.year - born.year - ((day.month, day.day) < (born.month, born.day))
    limit = f"{bound.relation.replace('_', ' ')} {bound.amount:g}"
    said = f"{births[0].name} gives {years} years at {on.name}, against {limit}"
    return Compared(
        "yes" if _has_relation(years, bound.relation, bound.amount) else "no", said, births[0].fields, on.fields
    )


def _unit(word: str) -> str:
    last = word.rpartition(" ")[2] if not word.endswith("cent") else "percent"
    return _UNITS.get(last) or _UNITS.get(last.removesuffix("s"), "")


def _fits(fact: CaseFact, unit: str) -> bool:
    """A fact whose name has another unit in it is not meant: `km_to_centre` by "60 kg"."""
    leaf = _PER.sub("", fact.name.lower().rpartition(".")[2])
    named = {_UNITS[part] for part in (word.removesuffix("s") for word in leaf.split("_")) if part in _UNITS}
    return not named or not unit or unit in named


def _has_relation(value: float, relation: Relation, limit: float) -> bool:
    match relation:
        case "at_most":
            return value <= limit
        case "at_least":
            return value >= limit
        case "below":
            return value < limit
        case "above":
            return value > limit


def _days(on: date | None) -> float:
    return float(on.toordinal()) if on else 0.0


def _fields(fact: CaseFact | None) -> tuple[str, ...]:
    return fact.fields if fact else ()


def _short(phrase: str) -> str:
    words = phrase.split()
    return " ".join(words[-8:]) or "(no words)"
