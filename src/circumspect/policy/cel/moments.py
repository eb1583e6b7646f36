"""Moments and durations: reading, writing, and taking them apart."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from circumspect.policy.cel.values import (
    SECOND,
    CelDuration,
    CelError,
    CelMoment,
    check_duration,
    check_moment,
    make_datetime,
    read_datetime,
)

_MOMENT = re.compile(
    r"\s*(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)\s*", re.ASCII
)  # RFC 3339
_PART = re.compile(r"(\d++(?:\.\d*+)?|\.\d++)(h|ms|m|s|us|ns)", re.ASCII)
_UNITS = {"h": 3600 * SECOND, "m": 60 * SECOND, "s": SECOND, "ms": 10**6, "us": 10**3, "ns": 1}
_LONGEST = 315_576_000_001 * SECOND
"""Ten thousand years."""
_OFFSET = re.compile(r"([+-]?)(\d\d):(\d\d)", re.ASCII)


def read_time(zone: tzinfo, said: str) -> CelMoment:
    """Ours: `time(text)`. A date is its first moment. What names no zone is in the policy's."""
    try:
        moment = datetime.fromisoformat(said.strip())
        return read_datetime(moment if moment.tzinfo else moment.replace(tzinfo=zone))
    except (ValueError, OverflowError):
        raise CelError("time() takes a date or a time, such as 2026-05-01T14:30") from None


def read_moment(text: str) -> CelMoment:
    found = _MOMENT.fullmatch(text)
    if not found:
        raise CelError("timestamp() takes a moment such as 2026-05-01T14:30:00Z")
    day, minute, second, fraction, zone = found.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{minute}:00{'+00:00' if zone in 'Zz' else zone}")
        start = read_datetime(moment)
    except (ValueError, OverflowError):
        raise CelError("there is no such moment") from None
    if int(second) > 60:  # 60 is a leap second
        raise CelError("there is no such moment")
    return check_moment(start + int(second) * SECOND + int((fraction or "")[:9].ljust(9, "0")))


def read_seconds(seconds: int) -> CelMoment:
    return check_moment(seconds * SECOND)


def read_duration(text: str) -> CelDuration:
    sign, rest = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    nanoseconds, position = 0, 0
    while (part := _PART.match(rest, position)) and len(part[1]) < 40:
        whole, _, fraction = part[1].partition(".")
        unit = _UNITS[part[2]]
        nanoseconds += int(whole or 0) * unit + (int(fraction) * unit // 10 ** len(fraction) if fraction else 0)
        position = part.end()
    if (position < len(rest) or not rest) and rest != "0":
        raise CelError("duration() takes a time such as 1h30m, in h, m, s, ms, us or ns")
    if nanoseconds >= _LONGEST:
        raise CelError("a duration of more than ten thousand years")
    return CelDuration(-nanoseconds if sign == "-" else nanoseconds)


def render_moment(moment: CelMoment) -> str:
    return f"{make_datetime(moment):%Y-%m-%dT%H:%M:%S}".rjust(19, "0") + _render_fraction(moment % SECOND) + "Z"


def render_duration(duration: CelDuration) -> str:
    seconds, rest = divmod(abs(duration), SECOND)
    return f"{'-' if duration < 0 else ''}{seconds}{_render_fraction(rest)}s"


def _render_fraction(nanoseconds: int) -> str:
    if not nanoseconds:
        return ""
    digits = f"{nanoseconds:09d}"
    return "." + (digits[:3] if digits.endswith("000000") else digits[:6] if digits.endswith("000") else digits)


# --- arithmetic ------------------------------------------------------------------------------------------------------


def move(moment: int, duration: int) -> CelMoment:
    return check_moment(moment + duration)


def move_back(moment: int, duration: int) -> CelMoment:
    return check_moment(moment - duration)


def find_distance(one: int, other: int) -> CelDuration:
    return check_duration(one - other)


def add_durations(one: int, other: int) -> CelDuration:
    return check_duration(one + other)


# --- parts -----------------------------------------------------------------------------------------------------------

MOMENT_PARTS: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda at: at.year,
    "getMonth": lambda at: at.month - 1,
    "getDate": lambda at: at.day,
    "getDayOfMonth": lambda at: at.day - 1,
    "getDayOfYear": lambda at: at.timetuple().tm_yday - 1,
    "getDayOfWeek": lambda at: at.isoweekday() % 7,
    "getHours": lambda at: at.hour,
    "getMinutes": lambda at: at.minute,
    "getSeconds": lambda at: at.second,
    "getMilliseconds": lambda at: at.microsecond // 1000,
}
"""Months, days of the month and of the year count from 0, days of the week from Sunday: so says CEL."""
DURATION_PARTS = {"getHours": 3600 * SECOND, "getMinutes": 60 * SECOND, "getSeconds": SECOND}


def make_part(take: Callable[[datetime], int]) -> Callable[[CelMoment], int]:
    return lambda moment: take(make_datetime(moment))


def make_part_in_zone(take: Callable[[datetime], int]) -> Callable[[CelMoment, str], int]:
    def run(moment: CelMoment, zone: str) -> int:
        try:
            return take(make_datetime(moment).astimezone(_read_zone(zone)))
        except (ValueError, OverflowError, OSError, LookupError):
            raise CelError("there is no such time zone") from None

    return run


def _read_zone(name: str) -> tzinfo:
    offset = _OFFSET.fullmatch(name)
    if offset is None:
        return ZoneInfo(name)
    distance = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
    return timezone(-distance if offset[1] == "-" else distance)


def make_duration_part(unit: int) -> Callable[[CelDuration], int]:
    return lambda duration: abs(duration) // unit * (-1 if duration < 0 else 1)


def find_milliseconds(duration: CelDuration) -> int:
    """The milliseconds beyond whole seconds."""
    return abs(duration) % SECOND // 10**6 * (-1 if duration < 0 else 1)
