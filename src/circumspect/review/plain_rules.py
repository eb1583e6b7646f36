"""A sentence -> a `PlainRule`, if every word of it was read. Otherwise nothing: there is no half-read rule.

    "A claim for a trip shall be submitted within 30 days after the last day of the trip."
     └ about ────────────────────────────┘ └ at_most 30 days ┘   └ anchor ─────────────┘

The grammar is small on purpose. A comma, a bracket, an "unless", a number in another place or another language is not
in it, and so no list of exceptions is needed: what is not read is not decided. A criterion is read the same way, as a
`PlainQuestion`: whether something is within what the rules allow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from circumspect.knowledge.terms import stem_word, stop_words, words
from circumspect.review.units import MeasureUnit, find_unit

BoundRelation = Literal["at_most", "at_least", "below", "above"]

_LONGEST = 400
_SMALL = frozenset(words("a an the of for in on to by from with at its each every any be kept stay remain"))
"""They bind nothing by themselves: what follows them has to be explained all the same."""
_TURNING = frozenset(words("no not never none nor neither only other without except unless but if when while who that"))
_SAME = {"weigh": "weight", "weighs": "weight"}
_NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12,
}  # fmt: skip
_RELATIONS: dict[str, BoundRelation] = {
    "at most": "at_most", "no more than": "at_most", "up to": "at_most", "within": "at_most", "limited to": "at_most",
    "at least": "at_least", "no less than": "at_least", "no fewer than": "at_least",
    "more than": "above", "above": "above", "over": "above", "exceed": "above",
    "less than": "below", "fewer than": "below", "below": "below", "under": "below",
    "longer than": "above", "wider than": "above", "higher than": "above", "heavier than": "above",
}  # fmt: skip
_PROPERTIES = {
    "longer than": ("length", "length"), "wider than": ("width", "length"), "higher than": ("height", "length"),
    "heavier than": ("weight", "mass"), " long": ("length", "length"), " wide": ("width", "length"),
    " high": ("height", "length"),
}  # fmt: skip
"""What a word for a bound says is measured, and as what: "longer than 30 days" says something else."""
_OPPOSITE: dict[BoundRelation, BoundRelation] = {"above": "at_most", "below": "at_least"}
_WORDS = r"[A-Za-z][A-Za-z'’ -]{0,150}?"
_AMOUNT = rf"\d{{1,3}}(?:,\d{{3}})+(?:\.\d{{1,2}})?|\d+(?:\.\d{{1,2}})?|{'|'.join(_NUMBERS)}"
_UNIT = r"°C|%|per cent|(?:calendar |business |working )?[A-Za-z]+"
_RULE = re.compile(
    rf"(?P<subject>{_WORDS}) (?P<modal>shall|must|may|is|are)(?P<negated> not)?(?P<verb>(?: [a-z]+){{0,8}}?)"
    rf" (?:(?P<relation>{'|'.join(_RELATIONS)})|between (?P<least>{_AMOUNT})(?: ?(?P<least_unit>{_UNIT}))? and)"
    rf" (?P<number>{_AMOUNT}) ?(?P<unit>{_UNIT})(?P<inclusive> inclusive)?(?P<aged> old| of age)?"
    rf"(?P<property> long| wide| high)?(?: each)?"
    rf"(?: (?P<way>before|after) (?P<anchor>{_WORDS}))?\.?"
)
_EXTREME = re.compile(
    rf"The (?P<extreme>maximum|minimum) (?P<subject>{_WORDS}) (?:is|shall be|must be)"
    rf" (?P<number>{_AMOUNT}) ?(?P<unit>{_UNIT})\.?"
)
_QUESTION = re.compile(
    rf"(?P<about>{_WORDS}) (?:is|was|are|were)(?P<verb>(?: [a-z]+){{0,2}}) (?:allowed|permitted|in time|on time"
    r"|within (?:the |its )?(?:allowed |permitted )?(?P<kind>(?:[a-z]+ ){0,2}?)(?:time )?(?:limits?|range|period))\.?"
)
_COMPLIES = re.compile(
    rf"(?P<about>{_WORDS}) (?:complies|comply|complied) with (?:the |its )(?P<kind>(?:[a-z]+ ){{0,2}}?)limits?\.?"
)
_EXCEEDS = re.compile(
    rf"(?P<about>{_WORDS}) (?:does|do|did) not exceed (?:the |its )"
    r"(?:(?:allowed|permitted|maximum) (?P<kind>[a-z]+(?: [a-z]+)?)|(?P<other>(?:[a-z]+ ){0,2}?)limits?)\.?"
)


@dataclass(frozen=True, slots=True)
class PlainRule:
    about: frozenset[str]
    """The stems of what is bound and what it does."""
    limits: tuple[tuple[BoundRelation, Fraction], ...]
    """All of them have to hold."""
    unit: MeasureUnit
    counted: str = ""
    """The stem of what is counted, where the unit is a thing and no measure."""
    way: Literal["", "before", "after"] = ""
    anchor: frozenset[str] = frozenset()

    @property
    def said(self) -> frozenset[str]:
        return self.about | self.anchor


@dataclass(frozen=True, slots=True)
class PlainQuestion:
    about: frozenset[str]
    asks_most: bool = False
    """Whether something is exceeded: a least has no say in that."""


def read_rule(sentence: str) -> PlainRule | None:
    text = " ".join(sentence.split())
    found = _RULE.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        return _read_extreme(text) if len(text) <= _LONGEST else None
    # "A group must have at most 12 people": it binds nothing by itself.
    verb = "" if found["verb"].strip() == "have" else found["verb"]
    written = " ".join(part for part in (found["subject"], verb, found["anchor"]) if part)
    limits, unit = _read_limits(found), find_unit(found["unit"])
    counted = ""
    if unit is None and found["unit"].islower() and found["unit"].isalpha() and not found["way"]:
        counted = stem_word(found["unit"])
        unit = MeasureUnit(f"number of {counted}", Fraction(1))
    if not limits or unit is None or not _is_plain(written):
        return None
    if found["least_unit"] and find_unit(found["least_unit"]) != unit:
        return None
    measured = [_PROPERTIES[one] for one in found.group("relation", "property") if one in _PROPERTIES]
    if len(measured) > 1 or any(measures != unit.measures for _, measures in measured):
        return None
    aged = " ".join(("age" if found["aged"] else "", *(name for name, _ in measured)))
    about, way = find_stems(f"{found['subject']} {verb} {aged}"), found["way"] or ""
    return PlainRule(about, limits, unit, counted, way, find_stems(found["anchor"] or ""))  # type: ignore[arg-type]


def _read_extreme(text: str) -> PlainRule | None:
    """ "The maximum weight of a parcel is 20 kg." """
    found = _EXTREME.fullmatch(text)
    unit = find_unit(found["unit"]) if found else None
    if found is None or unit is None or not _is_plain(found["subject"]):
        return None
    relation: BoundRelation = "at_most" if found["extreme"] == "maximum" else "at_least"
    return PlainRule(find_stems(found["subject"]), ((relation, _read_number(found["number"])),), unit)


def read_question(criterion: str) -> PlainQuestion | None:
    text = " ".join(criterion.split())
    if len(text) > _LONGEST:
        return None
    for pattern in (_QUESTION, _COMPLIES, _EXCEEDS):
        if found := pattern.fullmatch(text):
            parts = found.groupdict()
            written = " ".join(part for name in ("about", "verb", "kind", "other") if (part := parts.get(name)))
            return PlainQuestion(find_stems(written), pattern is _EXCEEDS) if _is_plain(written) else None
    return None


def _is_plain(text: str) -> bool:
    """Whether every small word of it is one that binds nothing. "No parcel", "only a parcel": those do."""
    return not any(word in stop_words(text) or word in _TURNING for word in words(text) if word not in _SMALL)


def find_stems(text: str) -> frozenset[str]:
    """The words that have to be explained, reduced to what their inflected forms share."""
    return frozenset(stem_word(_SAME.get(word, word)) for word in words(text) if word not in _SMALL)


def _read_limits(found: re.Match[str]) -> tuple[tuple[BoundRelation, Fraction], ...]:
    amount = _read_number(found["number"])
    if found["relation"] is None:
        if found["negated"] or found["modal"] == "may" or not found["inclusive"]:
            return ()
        return ("at_least", _read_number(found["least"])), ("at_most", amount)
    relation = _RELATIONS[found["relation"]]
    if found["inclusive"]:
        return ()
    if found["negated"]:
        # "must not weigh at least 5 kg" is said by nobody who means a bound.
        return ((_OPPOSITE[relation], amount),) if relation in _OPPOSITE else ()
    # "may … at least" allows and binds nothing; "is more than" tells how things are.
    if relation != "at_most" and found["modal"] not in ("shall", "must"):
        return ()
    return () if found["relation"] == "exceed" else ((relation, amount),)


def _read_number(written: str) -> Fraction:
    return Fraction(_NUMBERS.get(written) or written.replace(",", ""))
