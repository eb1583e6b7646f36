"""Two lists of values of one kind -> whether they contradict each other.

The same in other units, another currency, a price for an hour beside one for a day, a least beside a most, a list
beside one of it: none of these does.
"""

from __future__ import annotations

from collections.abc import Sequence

from circumspect.knowledge.answering import SaidValue
from circumspect.knowledge.asked_question import TimeEnd
from circumspect.knowledge.person_names import is_same_name
from circumspect.knowledge.stated_values import StatedValue, StatedValueKind, is_same_value

_FARTHEST = {"duration": 15.0}
_FAR = 6.0
"""Amounts farther apart measure different things."""
_ROUNDED = 0.03
"""44 pounds are 20 kilograms."""
_WORKING_WEEK = 7 / 5
_SERIES = 3
"""So many days in a row are told from the first to the last: no example of more."""
_PHONE_END = 7
_NOUN = 5
"""Nouns that begin with so many of the same letters are one, inflected."""


def is_difference(
    kind: StatedValueKind, here: Sequence[SaidValue], there: Sequence[SaidValue], asked: TimeEnd = ""
) -> bool:
    match kind:
        case "weekday" | "month" | "year":
            return _differ_in_series(kind, *({one.value.amount for one in side} for side in (here, there)))
        case "date" | "time":
            return _differ_in_time(here, there, asked)
        case "range":
            return _differ_in_range(here, there)
        case "name" | "phone" | "mail" | "place":
            pairs = [(one.value, other.value) for one in here for other in there if _is_comparable(one, other)]
            return bool(pairs) and not any(_is_same_naming(one, other) for one, other in pairs)
    return _differ_in_amount(here, there)


def _differ_in_series(kind: StatedValueKind, here: set[float], there: set[float]) -> bool:
    if not here & there:
        return True
    return kind == "weekday" and here != there and min(len(here), len(there)) >= _SERIES


def _differ_in_time(here: Sequence[SaidValue], there: Sequence[SaidValue], asked: TimeEnd) -> bool:
    if asked:
        here, there = ([one for one in side if one.end in ("", asked)] for side in (here, there))
        return _is_one_each(here, there) and not is_same_value(here[0].value, there[0].value)
    for end in ("begin", "end"):
        ends = [[one for one in side if one.end == end] for side in (here, there)]
        if _is_one_each(*ends) and not is_same_value(ends[0][0].value, ends[1][0].value):
            return True
    return (
        _is_one_each(here, there)
        and "" in (here[0].end, there[0].end)
        and not is_same_value(here[0].value, there[0].value)
    )


def _is_one_each(here: Sequence[SaidValue], there: Sequence[SaidValue]) -> bool:
    return len(here) == len(there) == 1


def _differ_in_range(here: Sequence[SaidValue], there: Sequence[SaidValue]) -> bool:
    if not len(here) == len(there) == 2:
        return False
    return any(one.value.amount != other.value.amount for one, other in zip(here, there, strict=True))


def _is_comparable(one: SaidValue, other: SaidValue) -> bool:
    """Room 12 is not compared with floor 2, nor either with a street."""
    if one.value.kind != "place":
        return True
    here, there = one.value.unit.split(), other.value.unit.split()
    return (len(here) == 2) == (len(there) == 2) and (len(here) > 2 or here[0] == there[0])


def _is_same_naming(one: StatedValue, other: StatedValue) -> bool:
    match one.kind:
        case "name":
            return is_same_name(one, other)
        case "phone":
            left, right = (side.unit.lstrip("0") for side in (one, other))
            return left[-_PHONE_END:] == right[-_PHONE_END:] or left.endswith(right) or right.endswith(left)
        case "place":
            here, there = set(one.unit.split()), set(other.unit.split())
            return here <= there or there <= here
    return one.unit == other.unit


def _differ_in_amount(here: Sequence[SaidValue], there: Sequence[SaidValue]) -> bool:
    """A list of cases contradicts nothing that is one of them, and nothing can be told of two lists."""
    if len(here) != len(there) or len(here) > 2:
        return False
    alike = [(one, other) for one in here for other in there if _is_alike(one, other)]
    return bool(alike) and not any(_is_same_amount(one.value, other.value) for one, other in alike)


def _is_alike(one: SaidValue, other: SaidValue) -> bool:
    """They can be compared: the same measure of the same thing."""
    if one.per and other.per and one.per != other.per:
        return False
    bounds = {one.bound, other.bound}
    if bounds == {"least", "most"} or (one.value.kind in ("money", "percentage") and bounds == {"least", ""}):
        return False
    units = {side.value.unit[:_NOUN] if side.value.kind == "count" else side.value.unit for side in (one, other)}
    if len(units - {""}) > 1 and one.value.kind != "duration":
        return False
    low, high = sorted((one.value.amount, other.value.amount))
    if one.value.kind == "money" and low == 0 < high:
        return not (one.bound or other.bound)
    if one.value.kind == "duration" and one.value.unit != other.value.unit:
        return True
    return low > 0 and high / low <= _FARTHEST.get(one.value.kind, _FAR)


def _is_same_amount(one: StatedValue, other: StatedValue) -> bool:
    if one.kind == "duration" and one.unit != other.unit:
        working, hours = (one.amount, other.amount) if one.unit == "working days" else (other.amount, one.amount)
        return working <= hours / 24 <= working * _WORKING_WEEK + 2
    if one.kind == "measure":
        return abs(one.amount - other.amount) <= _ROUNDED * max(one.amount, other.amount)
    if one.kind == "money" and "" in (one.unit, other.unit):
        return one.amount == other.amount
    return is_same_value(one, other)
