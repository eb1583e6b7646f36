"""A sentence of a policy -> the bounds that it states plainly: so many days before that, so much or more, until a date.

    "The notes shall be dated no more than 90 calendar days before the request is received."
     └ subject ────────────────┘ └ at_most 90 day, before ┘        └ anchor ─────────────┘

Only English, only digits, only what stands there in so many words. What is not recognised yields nothing: the caller
then abstains.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Literal

Relation = Literal["at_most", "at_least", "below", "above"]
TimeUnit = Literal["day", "week", "month", "year", "hour", "minute", "business day", "other"]

_LONGEST = 2_000
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_WORDS: dict[str, Relation] = {
    "no more than": "at_most", "not more than": "at_most", "at most": "at_most", "up to": "at_most",
    "within": "at_most", "no later than": "at_most", "not exceed": "at_most", "no higher than": "at_most",
    "at least": "at_least", "no fewer than": "at_least", "not less than": "at_least", "no less than": "at_least",
    "not fewer than": "at_least", "not below": "at_least",
    "more than": "above", "above": "above", "exceeds": "above", "longer than": "above", "older than": "above",
    "less than": "below", "fewer than": "below", "below": "below", "under": "below", "younger than": "below",
    "not older than": "at_most", "no older than": "at_most",
}  # fmt: skip
_TIME: dict[str, TimeUnit] = {
    "day": "day", "night": "day", "week": "week", "month": "month", "year": "year", "hour": "hour", "minute": "minute",
}  # fmt: skip
_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_NO_UNIT = "or|and|for|in|to|of|a|an|the|at|by|is|are|with|every|each|may|shall|if|but|before|after|from|on|than"
_BEFORE_WORD = "|".join(sorted(map(re.escape, _WORDS), key=len, reverse=True))
_AMOUNT = re.compile(
    rf"(?:\b(?P<word>{_BEFORE_WORD})\s+(?:(?:the|a|an|of|another|the\s+first)\s+)?)?"
    rf"(?P<currency>[€$£]\s?)?(?<![\w.,-])(?P<number>-?(?:{_NUMBER}))(?![\w]|[.,]\d)"
    rf"(?:\s*(?P<unit>(?:calendar\s+|business\s+|working\s+|full\s+)*(?:per\s+cent|%|(?!(?:{_NO_UNIT})\b)[a-zA-Z]+)))?"
    rf"(?P<tail>\s+(?:of\s+age\s+)?or\s+(?:more|older|above|over|less|fewer|below|younger|lower))?"
    rf"(?:\s+(?:or\s+less\s+)?(?P<way>before|after|prior\s+to|following|from|of)\s+(?P<anchor>[^.;,:()]+))?",
    re.IGNORECASE,
)  # fmt: skip
_CLAUSE = re.compile(r"\b(?:if|provided|unless|where|whatever|and|or|but|even|except|, )\b", re.IGNORECASE)
_EVENT = re.compile(r"(?:the|its|a|an|landing|purchase|delivery)\b", re.IGNORECASE)
_DATE = re.compile(
    rf"\b(?P<word>on\s+or\s+after|on\s+or\s+before|from|since|after|until|before|by|no\s+later\s+than)\s+"
    rf"(?P<day>\d{{1,2}})\s+(?P<month>{'|'.join(_MONTHS)})\s+(?P<year>\d{{4}})\b",
    re.IGNORECASE,
)
_HALF = re.compile(rf"(?:and|but)\s+(?:{_BEFORE_WORD})\s+(?:{_NUMBER})\s", re.IGNORECASE)
_NOT_AMOUNTS = re.compile(
    r"\b(?:sections?|chapters?|tables?|parts?|appendix|annex|articles?|clauses?|editions?|versions?|lines?|forms?)\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Period:
    """From the subject to the anchor, or the other way round, so long."""

    relation: Relation
    amount: float
    unit: TimeUnit
    way: Literal["before", "after"]
    subject: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Quantity:
    relation: Relation
    amount: float
    unit: str
    subject: str
    after: str


@dataclass(frozen=True, slots=True)
class DateBound:
    relation: Relation
    on: date
    subject: str


StatedBound = Period | Quantity | DateBound


def bounds(sentence: str) -> tuple[StatedBound, ...]:
    """In the order in which they stand. A number with no relation to anything is no bound. Nothing of what is longer
    than any sentence: each bound keeps what stands around it."""
    if len(sentence) > _LONGEST:
        return ()
    found: list[StatedBound] = []
    dates = [(mark.span(), mark) for mark in _DATE.finditer(sentence)]
    for _, mark in dates:
        if moment := _read_date_bound(mark, sentence):
            found.append(moment)
    last = 0
    for mark in _AMOUNT.finditer(sentence):
        if any(start <= mark.start("number") < end for (start, end), _ in dates):
            continue
        bound = _read_bound(mark, sentence, last)
        if isinstance(bound, Period) and found and _is_first_half(found[-1]):
            # "no more than 60 and no fewer than 10 days before": the first half has the second one's unit and anchor.
            half = found[-1]
            assert isinstance(half, Quantity)
            bound = Period(bound.relation, bound.amount, bound.unit, bound.way, half.subject, bound.anchor)
            found[-1] = Period(half.relation, half.amount, bound.unit, bound.way, half.subject, bound.anchor)
        if bound is not None:
            found.append(bound)
            last = mark.end("unit") if mark["unit"] else mark.end("number")
    return tuple(found)


def _is_first_half(bound: StatedBound) -> bool:
    return isinstance(bound, Quantity) and not bound.unit and bool(_HALF.match(bound.after))


def _read_date_bound(mark: re.Match[str], sentence: str) -> DateBound | None:
    word = " ".join(mark["word"].lower().split())
    relation: Relation = {
        "on or after": "at_least", "from": "at_least", "since": "at_least", "after": "above",
        "on or before": "at_most", "until": "at_most", "by": "at_most", "no later than": "at_most", "before": "below",
    }[word]  # type: ignore[assignment]  # fmt: skip
    try:
        on = date(int(mark["year"]), _MONTHS.index(mark["month"].lower()) + 1, int(mark["day"]))
    except ValueError:
        return None
    return DateBound(relation, on, sentence[: mark.start()])


def _read_bound(mark: re.Match[str], sentence: str, last: int) -> StatedBound | None:
    subject = sentence[last : mark.start()]
    if _NOT_AMOUNTS.search(sentence[: mark.start("number")]):
        return None
    relation = _relation(mark)
    if relation is None:
        return None
    amount = float(mark["number"].replace(",", ""))
    unit = " ".join((mark["unit"] or "").lower().split())
    word = unit.rpartition(" ")[2]
    named = _TIME.get(word[:-1] if word.endswith("s") else word)
    way, anchor = (mark["way"] or "").lower(), mark["anchor"] or ""
    clause = _CLAUSE.split(anchor)[0].strip()
    # "18 years of age" is no period: only an event can be so long ago.
    if named and way and (way != "of" or _EVENT.match(clause)):
        before = way.startswith(("before", "prior"))
        if unit.startswith(("business", "working")) and named == "day":
            named = "business day"
        return Period(relation, amount, named, "before" if before else "after", subject.strip(), clause)
    return Quantity(relation, amount, unit, subject.strip(), sentence[mark.end("number") :].strip())


def _relation(mark: re.Match[str]) -> Relation | None:
    if mark["tail"]:
        return "at_least" if re.search(r"more|older|above|over", mark["tail"], re.IGNORECASE) else "at_most"
    return _WORDS.get(" ".join((mark["word"] or "").lower().split())) if mark["word"] else None
