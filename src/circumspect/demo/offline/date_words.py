"""Dates and times in a message, with the place where each was said.

Nothing is guessed: "tomorrow" needs to know today, 03/04/2026 in English could be two days, "at 5" could be two hours.
Such a mention counts as unclear, so that the person can be asked for it in full.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import TypeVar

from circumspect.demo.offline.lexicon import either, fold_letters, lexicons, lexicons_of, merge_words

T = TypeVar("T")
MessageSpan = tuple[int, int]

_ISO = re.compile(r"(?<!\d)(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)")
_NUMERIC = re.compile(r"(?<![\d.])(\d{1,2})([./])(\d{1,2})(?:\2(\d{4}|\d{2}))?(?![\d]|[./]\d)")
_CLOCK = re.compile(r"(?<![\d:.])([01]?\d|2[0-3]):([0-5]\d)(?::[0-5]\d)?(?![\d:])")


@dataclass(frozen=True, slots=True)
class Moments:
    dates: tuple[tuple[date, MessageSpan], ...] = ()
    times: tuple[tuple[str, MessageSpan], ...] = ()
    unclear: tuple[tuple[str, MessageSpan], ...] = ()
    """What was said but cannot be pinned down: `date` or `time`, and where."""


def moments(text: str, today: date | None) -> Moments:
    lowered = fold_letters(text)
    taken: list[MessageSpan] = []
    dates: list[tuple[date, MessageSpan]] = []
    times: list[tuple[str, MessageSpan]] = []
    unclear: list[tuple[str, MessageSpan]] = []
    # Times first: in "at 10 on 5 May" nothing of the time can be part of the date, but a day could be read as an hour.
    _take(_clock_times(lowered), times, unclear, "time", taken)
    _take(_days(lowered, today, day_first=_is_day_first(text)), dates, unclear, "date", taken)
    _take(_bare_hours(lowered), times, unclear, "time", taken)
    return Moments(tuple(dates), tuple(times), tuple(unclear))


def _take(
    found: Iterable[tuple[T | None, MessageSpan]],
    clear: list[tuple[T, MessageSpan]],
    unclear: list[tuple[str, MessageSpan]],
    kind: str,
    taken: list[MessageSpan],
) -> None:
    """Each mention that overlaps with none before it, to the clear ones or to the others."""
    for value, span in found:
        if is_free(span, taken):
            taken.append(span)
            if value is None:
                unclear.append((kind, span))
            else:
                clear.append((value, span))


def is_free(span: MessageSpan, taken: Iterable[MessageSpan]) -> bool:
    return all(span[1] <= start or end <= span[0] for start, end in taken)


def _clock_times(lowered: str) -> Iterator[tuple[str, MessageSpan]]:
    """14:30, 2:30 pm, 5pm: times that say which half of the day they mean."""
    for match in _compile_half_days().finditer(lowered):
        hour, minute = int(match["hour"]), match["minute"] or "00"
        if 1 <= hour <= 12:
            afternoon = match["half"] in _halves("pm")
            yield f"{hour % 12 + (12 if afternoon else 0):02}:{minute}", match.span()
    for match in _CLOCK.finditer(lowered):
        yield f"{int(match[1]):02}:{match[2]}", match.span()
    for match in _compile_noons().finditer(lowered):
        yield "12:00", match.span()


def _bare_hours(lowered: str) -> Iterator[tuple[str | None, MessageSpan]]:
    """ "at 10", "at 15": an hour from 8 to 23 is taken at its word, a smaller one could be morning or evening."""
    for match in _compile_bare_hours().finditer(lowered):
        hour = int(match["hour"])
        if hour <= 23:
            yield (f"{hour:02}:00" if hour >= 8 else None), match.span()


def _days(lowered: str, today: date | None, *, day_first: bool) -> Iterator[tuple[date | None, MessageSpan]]:
    for match in _ISO.finditer(lowered):
        yield _day(int(match[1]), int(match[2]), int(match[3])), match.span()
    for match in _compile_named_days().finditer(lowered):
        day = int(match["day"] or match["day2"])
        month = merge_words("months")[match["month"] or match["month2"]]
        year = match["year"] or match["year2"]
        yield (_day(int(year), month, day) if year else _coming(month, day, today)), match.span()
    for match in _NUMERIC.finditer(lowered):
        first, second, year = int(match[1]), int(match[3]), match[4]
        if not year and (match[2] == "." and not day_first):
            continue  # 49.90 is an amount
        if not (1 <= first <= 31 and 1 <= second <= 31):
            continue
        if first <= 12 and second <= 12 and match[2] == "/" and not day_first and first != second:
            yield None, match.span()
            continue
        day, month = (first, second) if second <= 12 else (second, first)
        if month > 12:
            continue
        full = int(year) + 2000 if year and len(year) == 2 else int(year or 0)
        yield (_day(full, month, day) if year else _coming(month, day, today)), match.span()
    for match in _compile_relative_days().finditer(lowered):
        said = match["said"]
        ahead, weekday = merge_words("days").get(said), merge_words("weekdays").get(said)
        if today is None:
            yield None, match.span("said")
        elif ahead is not None:
            yield today + timedelta(days=ahead), match.span("said")
        elif weekday is not None:
            yield today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1), match.span("said")


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _coming(month: int, day: int, today: date | None) -> date | None:
    """A day without a year is the next one of that name."""
    if today is None:
        return None
    this_year = _day(today.year, month, day)
    if this_year is not None and this_year >= today:
        return this_year
    return _day(today.year + 1, month, day)


# --- the patterns, made once from the word lists ----------------------------------------------------------------------


@cache
def _halves(kind: str) -> frozenset[str]:
    return frozenset(word for lists in lexicons() for word in lists.clock[kind])


def _letters_before_days() -> str:
    """Small words that are glued to the name of a day or a month."""
    return f"[{''.join(lists.grammar.get('before_days', '') for lists in lexicons())}]?"


def _is_day_first(text: str) -> bool:
    """In 03/04 the day is the first; where it could be either, there is no telling."""
    return bool(lexicons_of(text)[0].grammar["day_first"] == "yes")


@cache
def _compile_named_days() -> re.Pattern[str]:
    month, before = either(merge_words("months")), _letters_before_days()
    th, of = (
        either(word for lists in lexicons() for word in lists.grammar.get(kind, ())) for kind in ("ordinals", "of")
    )
    return re.compile(
        rf"(?<!\d)(?P<day>[0-3]?\d)(?:{th})?\s+(?:(?:{of})\s+)?{before}(?P<month>{month})\b(?:[\s,]+(?P<year>\d{{4}}))?"
        rf"|\b(?P<month2>{month})\s+(?P<day2>[0-3]?\d)(?:{th})?(?!\d)(?:[\s,]+(?P<year2>\d{{4}}))?"
    )


@cache
def _compile_relative_days() -> re.Pattern[str]:
    named = either((*merge_words("days"), *merge_words("weekdays")))
    return re.compile(rf"(?<![^\W_]){_letters_before_days()}(?P<said>{named})(?![^\W_])")


@cache
def _compile_half_days() -> re.Pattern[str]:
    half = either(_halves("am") | _halves("pm"))
    oclock = either(_halves("hours"))
    return re.compile(
        rf"(?<![\d:.])(?P<hour>\d{{1,2}})(?:[:.](?P<minute>[0-5]\d))?\s*(?:(?:{oclock})\s+)?(?P<half>{half})(?![^\W_])"
    )


@cache
def _compile_bare_hours() -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_])(?:{either(_halves('at'))})\s?(?P<hour>\d{{1,2}})(?![\d:./-]|[^\W_]|\s*[%$₪€£₽])")


@cache
def _compile_noons() -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_])(?:{either(_halves('noon'))})(?![^\W_])")
