"""Figures in a clause of a reply: ids, sums, days, times and house numbers, and whether a text has the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, cached_property

from circumspect.language.pack import join_words, packs, split_pairs
from circumspect.language.written_values import clocks_in, days_in

_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,32}){1,4}")
_ID = re.compile(r"(?<![\w.,:/+@-])(?=[a-z-]{0,8}\d)[a-z0-9-]{3,16}(?![\w@]|[.,:/]\d)")
_SHORT = re.compile(r"[a-z]-\d")
_COUNTED = re.compile(r"\d{1,3}-[a-z]+")
_YEAR = re.compile(r"(?:19|20)\d\d")
_NUMBER = r"\d{1,9}(?:[ ,.]\d{3}){0,3}(?:[.,]\d{1,2})?"
_SUM = re.compile(rf"(?<![\w.,:/-]){_NUMBER}(?![\w:/]|[.,]\d)")
_THOUSANDS = re.compile(r"\d{1,3},\d{3}")
_CENTS = re.compile(r"[.,](?=\d{1,2}$)")
_PLAIN = re.compile(r"\d+(?:\.\d+)?")
_CLOCK = re.compile(r"(?<![\d:.])\d{1,2}:\d{2}(?![\d:])")
_SMALL = re.compile(r"(?<![\w.,:/@#-])\d{1,3}(?![\w:/@]|[.,]\d)")
_HOUSE = re.compile(r"address \S{0,30}(?: \S{1,30}){0,4} ?\d{1,3}\b|address \d{1,3} ")


def find_ids(clause: str) -> list[str]:
    """Numbers of orders and the like, and e-mail addresses; no years, sums or days."""
    if "@" not in clause and not any(map(str.isdigit, clause)):
        return []
    sums = [hit.group() for hit in _money().finditer(clause)]
    found = _EMAIL.findall(clause)
    for hit in _ID.finditer(_EMAIL.sub(" ", clause)):
        each = hit.group().strip("-")
        if (
            (len(each) > 3 or _SHORT.fullmatch(each))
            and not _YEAR.fullmatch(each)
            and not _COUNTED.fullmatch(each)
            and not any(each in one for one in sums)
            and not days_in(each)
        ):
            found.append(each)
    return found


class FigureSource:
    """A text that figures are held against. What it names is read out once, and only where a clause has such a value:
    the text is all that a conversation brought up, and the same for every clause of a reply."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def numbers(self) -> frozenset[float]:
        return frozenset(find_numbers(self._text))

    @cached_property
    def days(self) -> frozenset[tuple[int | None, int]]:
        return frozenset((month, day) for _, month, day in days_in(self._text))

    @cached_property
    def clocks(self) -> Sequence[frozenset[tuple[int, int]]]:
        return [clocks_in(one) for one in _CLOCK.findall(self._text)]

    @cached_property
    def has_house(self) -> bool:
        return bool(_HOUSE.search(self._text))

    @cached_property
    def small_numbers(self) -> frozenset[str]:
        return frozenset(_SMALL.findall(self._text))


def has_other_figure(clause: str, source: FigureSource) -> bool:
    """The clause names a sum, a day, a time or a house that the source, which has such values, has not. How long
    something takes and what share it is are no such figures."""
    if not any(map(str.isdigit, clause)):
        return _has_other_time(clause, source)
    clause = _durations().sub(" ", clause)
    return (
        _has_other_day(clause, source)
        or _has_other_time(clause, source)
        or not all(one in source.numbers for one in find_sums(clause))
        or _has_other_house(clause, source)
    )


def _has_other_day(clause: str, source: FigureSource) -> bool:
    days = {(month, day) for _, month, day in days_in(clause)}
    if not days or not source.days or days & source.days:
        return False
    same_day = {day for _, day in source.days}
    return not any(month is None and day in same_day for month, day in days)


def _has_other_time(clause: str, source: FigureSource) -> bool:
    said = [clocks_in(one) for one in _CLOCK.findall(clause)]
    said += [_read_spoken_hour(hit) for hit in _spoken_hours().finditer(clause)]
    return bool(said and source.clocks) and not any(one & each for one in said for each in source.clocks)


def _read_spoken_hour(hit: re.Match[str]) -> frozenset[tuple[int, int]]:
    """Any minute of it: words round."""
    hour = int((hit.lastgroup or "h0")[1:].split("_")[0])
    return frozenset((hour % 12 + half, minute) for half in (0, 12) for minute in range(60))


@cache
def _spoken_hours() -> re.Pattern[str]:
    spoken = split_pairs(line for one in packs() for line in one.values.spoken_hours)
    named = (f"(?P<h{hour}_{place}>{words})" for place, (hour, words) in enumerate(spoken))
    return re.compile(rf"(?<!\w)(?:{'|'.join(named)})(?!\w)")


def _has_other_house(clause: str, source: FigureSource) -> bool:
    if not source.has_house or days_in(clause):
        return False
    return not set(_SMALL.findall(_CLOCK.sub(" ", clause))) <= source.small_numbers


def find_sums(clause: str) -> Iterator[float]:
    """Amounts of money, and anything with two decimals or with its thousands set apart."""
    for hit in _money().finditer(clause):
        yield _read_number(hit[1] or hit[2])
    for hit in _SUM.finditer(clause):
        if (hit.group()[-3:-2] in (".", ",") or _THOUSANDS.fullmatch(hit.group())) and not days_in(hit.group()):
            yield _read_number(hit.group())


def find_numbers(text: str) -> Iterator[float]:
    """Every number of a text, however it is written."""
    for hit in _SUM.finditer(text):
        yield _read_number(hit.group())
    for hit in _PLAIN.finditer(text):
        yield float(hit.group())


def _read_number(written: str) -> float:
    whole, *cents = _CENTS.split(written.replace(" ", ""))
    return float(f"{whole.replace(',', '').replace('.', '')}.{''.join(cents) or 0}")


@cache
def _durations() -> re.Pattern[str]:
    units = join_words(lines for one in packs() for lines in one.values.unit.values())
    percent = join_words(one.values.percent for one in packs())
    return re.compile(rf"(?<!\d)\d++(?:\s?-\s?\d++)?[ -]?(?:{units}|{percent})")


@cache
def _money() -> re.Pattern[str]:
    signs = "|".join(line for one in packs() for lines in one.values.currency.values() for line in lines)
    return re.compile(rf"(?i:(?:{signs})\s?({_NUMBER})(?!\d)|(?<![\w.,:/-])({_NUMBER})\s?(?:{signs})(?!\w))")
