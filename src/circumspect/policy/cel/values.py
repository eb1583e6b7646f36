"""Values while a condition is evaluated, and what can go wrong with them.

Plain Python: None, bool, int (64 bits), float, str, list, dict; moments and durations are whole nanoseconds. An error
of CEL is an exception, which `&&`, `||` and the loops catch.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

MAX_INT: Final = 2**63
SECOND: Final = 10**9
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST: Final = -62_135_596_800 * SECOND
_LAST: Final = 253_402_300_800 * SECOND
_NUMBERS: Final = frozenset((int, float))


class CelError(Exception):
    """An expression has no value: in CEL's words, an error."""

    def __init__(self, problem: str, absent: str = "") -> None:
        super().__init__(problem, absent)
        self.absent = absent
        """The key that a map does not have, if that is what is wrong."""

    def __str__(self) -> str:
        return str(self.args[0])


class BudgetSpentError(Exception):
    """It takes too long. Nothing in the expression can catch that."""


class CelMoment(int):
    """Nanoseconds since 1970."""

    __slots__ = ()


class CelDuration(int):
    """Nanoseconds."""

    __slots__ = ()


TYPE_NAMES: Final = {
    bool: "bool",
    int: "int",
    float: "double",
    str: "string",
    type(None): "null_type",
    list: "list",
    dict: "map",
    CelMoment: "timestamp",
    CelDuration: "duration",
    type: "type",
}
"""By the Python type that stands for it. A type is a value, too: the Python type."""


class Meter:
    """What an evaluation may still spend: rounds of loops, as CEL counts them; and inside of loops, where time
    multiplies, the characters and elements that functions look at."""

    __slots__ = ("rounds", "work")

    def __init__(self) -> None:
        self.rounds = 10_000
        self.work = 20_000_000

    def take_round(self) -> None:
        self.rounds -= 1
        if self.rounds <= 0:
            raise BudgetSpentError("its loops go round too often")

    def charge(self, value: Any) -> None:
        kind = type(value)
        if kind is str:
            self.work -= len(value)
        elif kind is list or kind is dict:
            self.work -= 100 * len(value)
        if self.work < 0:
            raise BudgetSpentError("its loops look at too much")


def name_type(value: Any) -> str:
    return TYPE_NAMES.get(type(value), "something unknown")


def check_int(value: int) -> int:
    if not -MAX_INT <= value < MAX_INT:
        raise CelError("a whole number becomes too large")
    return value


def check_moment(nanoseconds: int) -> CelMoment:
    if not _FIRST <= nanoseconds < _LAST:
        raise CelError("a moment outside of the years 1 to 9999")
    return CelMoment(nanoseconds)


def check_duration(nanoseconds: int) -> CelDuration:
    if not -MAX_INT <= nanoseconds < MAX_INT:
        raise CelError("a duration of more than 292 years")
    return CelDuration(nanoseconds)


def read_datetime(moment: datetime) -> CelMoment:
    """A moment of Python's. It names its zone."""
    return CelMoment((moment - _EPOCH) // timedelta(microseconds=1) * 1000)


def make_datetime(moment: int) -> datetime:
    return _EPOCH + timedelta(microseconds=moment // 1000)


def make_plain(value: Any) -> Any:
    """The value in types that the rest of the world knows."""
    kind = type(value)
    if kind is CelMoment:
        return make_datetime(value)
    if kind is CelDuration:
        return timedelta(microseconds=abs(value) // 1000 * (-1 if value < 0 else 1))
    if kind is list:
        return [make_plain(item) for item in value]
    if kind is dict:
        return {key: make_plain(item) for key, item in value.items()}
    return value


def equal(one: Any, other: Any) -> bool:
    """Numbers by what they are worth as decimal ones, everything else only within its type."""
    kind = type(one)
    if kind is not type(other):
        return kind in _NUMBERS and type(other) in _NUMBERS and float(one) == float(other)
    if kind is list:
        return len(one) == len(other) and all(map(equal, one, other))
    if kind is dict:
        return len(one) == len(other) and all(key in other and equal(item, other[key]) for key, item in one.items())
    return bool(one == other)


def look_up(container: Any, key: Any) -> Any:
    """`container[key]`."""
    kind = type(key)
    if type(container) is dict:
        if kind is str or kind in _NUMBERS:
            try:
                return container[key]
            except KeyError:
                raise CelError("there is no such key", key if kind is str else "") from None
        raise CelError(f"there is no key that is {name_type(key)}")
    if type(container) is not list:
        raise CelError(f"nothing is inside of {name_type(container)}")
    if kind not in _NUMBERS or key != key or not 0 <= key < len(container) or key != int(key):
        raise CelError("there is no such element")
    return container[int(key)]


def contains(container: Any, item: Any) -> bool:
    """`item in container`."""
    kind = type(item)
    if type(container) is dict:
        if kind is not str and kind not in _NUMBERS and kind is not bool:
            raise CelError(f"{name_type(item)} is no key of a map")
        return kind is not bool and item in container
    if type(container) is not list:
        raise CelError(f"nothing is inside of {name_type(container)}")
    return item in container if kind is str else any(equal(item, one) for one in container)
