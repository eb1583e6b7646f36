"""Numbers: arithmetic as CEL has it (64 bits, no mixing of whole and decimal), and the functions of `math`."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

from circumspect.policy.cel.values import MAX_INT, CelError, check_int

_WHOLE = re.compile(r"[ \t\n\v\f\r]*([+-]?\d+)[ \t\n\v\f\r]*", re.ASCII)
_DECIMAL = re.compile(
    r"[ \t\n\v\f\r]*([+-]?(?:(?:\d++(?:\.\d*+)?|\.\d++)(?:e[+-]?\d+)?|inf(?:inity)?|nan))[ \t\n\v\f\r]*",
    re.ASCII | re.I,
)
_FIXED = 6
"""From this many digits before the point on, a decimal number is written with an exponent."""


def add(one: int, other: int) -> int:
    return check_int(one + other)


def subtract(one: int, other: int) -> int:
    return check_int(one - other)


def multiply(one: int, other: int) -> int:
    return check_int(one * other)


def divide(one: int, other: int) -> int:
    """Towards zero, unlike Python's."""
    if other == 0:
        raise CelError("divide by zero")
    found = abs(one) // abs(other)
    return check_int(found if (one < 0) == (other < 0) else -found)


def find_remainder(one: int, other: int) -> int:
    """With the sign of the first, unlike Python's."""
    if other == 0:
        raise CelError("modulus by zero")
    divide(one, other)
    found = abs(one) % abs(other)
    return -found if one < 0 else found


def divide_decimals(one: float, other: float) -> float:
    if other:
        return one / other
    if not one or one != one:
        return math.nan
    return math.copysign(math.inf, one) * math.copysign(1.0, other)


def negate(number: int) -> int:
    return check_int(-number)


def read_whole(text: str) -> int:
    found = _WHOLE.fullmatch(text)
    if not found or len(text) > 100:
        raise CelError("this text is no whole number")
    return check_int(int(found[1]))


def read_decimal(text: str) -> float:
    found = _DECIMAL.fullmatch(text)
    if not found:
        raise CelError("this text is no number")
    return float(found[1])


def cut_off(number: float) -> int:
    """The whole part of a decimal number."""
    if not -MAX_INT < number < MAX_INT:
        raise CelError("the number is too large to be a whole one")
    return int(number)


def render_decimal(number: float) -> str:
    """As few digits as tell it from all others."""
    if not math.isfinite(number):
        return str(number)
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    places = len(digits) + int(exponent) - 1
    before = "-" if sign else ""
    if -5 < places < _FIXED:
        return f"{before}{Decimal((0, digits, int(exponent))):f}"
    written = "".join(map(str, digits))
    return f"{before}{written[0]}{'.' if written[1:] else ''}{written[1:]}e{places:+03d}"


def find_greatest(numbers: list[Any]) -> Any:
    return max(_check_numbers(numbers))


def find_least(numbers: list[Any]) -> Any:
    return min(_check_numbers(numbers))


def _check_numbers(numbers: list[Any]) -> list[Any]:
    if not numbers or any(type(one) is not int and type(one) is not float for one in numbers):
        raise CelError("the greatest and the least are found among numbers")
    return numbers


def round_decimal(number: float) -> float:
    """Halves away from zero."""
    if not math.isfinite(number):
        return number
    whole = math.trunc(number)
    if abs(number - whole) >= 0.5:
        whole += 1 if number > 0 else -1
    return math.copysign(float(whole), number)


def make_whole(how: Any) -> Any:
    """`math.floor` and the like, with what has no whole part left as it is."""

    def run(number: float) -> float:
        return math.copysign(float(how(number)), number) if math.isfinite(number) else number

    return run


def find_sign(number: float) -> float:
    return number if number != number else float((number > 0) - (number < 0))


def find_whole_sign(number: int) -> int:
    return (number > 0) - (number < 0)


def find_root(number: float) -> float:
    return math.sqrt(number) if number >= 0 else math.nan


def add_up(numbers: list[Any]) -> float:
    """Ours: `sum(list)`."""
    if any(type(one) is not int and type(one) is not float for one in numbers):
        raise CelError("sum() takes numbers")
    return float(sum(numbers))
