"""Every operator and function that a condition may use: its name, what it takes and gives, and what it does.

To add a function, write it beside its kin (`numbers.py`, `texts.py`, `moments.py`) and give it a line here; the
checker, the compiler and the error messages go by these lines. Say it in docs/policy.md.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from circumspect.policy.cel import moments, numbers, texts
from circumspect.policy.cel.patterns import match_pattern
from circumspect.policy.cel.types import (
    BOOL,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    TYPE,
    A,
    B,
    CelType,
    list_of,
    map_of,
)
from circumspect.policy.cel.values import TYPE_NAMES, CelError, contains, equal, look_up


@dataclass(frozen=True, slots=True)
class Overload:
    takes: tuple[CelType, ...]
    gives: CelType
    run: Callable[..., Any]
    member: bool


SIGNATURES: Final[dict[str, list[Overload]]] = {}
_BITS = ("bitAnd", "bitOr", "bitXor", "bitNot", "bitShiftLeft", "bitShiftRight")
LEFT_OUT: Final = frozenset(("uint", "bytes", "strings.quote", *(f"math.{name}" for name in _BITS)))
"""What CEL has, and no condition needs."""
OF_ZONE: Final = "time"
"""The one function that is also given the time zone of the policy."""


def _function(name: str, gives: CelType, run: Callable[..., Any], *takes: CelType) -> None:
    SIGNATURES.setdefault(name, []).append(Overload(takes, gives, run, member=False))


def _method(name: str, gives: CelType, run: Callable[..., Any], *takes: CelType) -> None:
    SIGNATURES.setdefault(name, []).append(Overload(takes, gives, run, member=True))


def _keep(value: Any) -> Any:
    return value


TEXTS, ITEMS = list_of(STRING), list_of(A)

# --- operators -------------------------------------------------------------------------------------------------------
# `&&`, `||` and `?:` are evaluated by the compiler, because not all of their sides need a value.

_function("_&&_", BOOL, _keep, BOOL, BOOL)
_function("_||_", BOOL, _keep, BOOL, BOOL)
_function("_?_:_", A, _keep, BOOL, A, A)
_function("!_", BOOL, operator.not_, BOOL)
_function("-_", INT, numbers.negate, INT)
_function("-_", DOUBLE, operator.neg, DOUBLE)
for _name, _whole, _decimal in (
    ("_+_", numbers.add, operator.add),
    ("_-_", numbers.subtract, operator.sub),
    ("_*_", numbers.multiply, operator.mul),
    ("_/_", numbers.divide, numbers.divide_decimals),
):
    _function(_name, INT, _whole, INT, INT)
    _function(_name, DOUBLE, _decimal, DOUBLE, DOUBLE)
_function("_%_", INT, numbers.find_remainder, INT, INT)
_function("_+_", STRING, operator.add, STRING, STRING)
_function("_+_", ITEMS, operator.add, ITEMS, ITEMS)
_function("_+_", TIMESTAMP, moments.move, TIMESTAMP, DURATION)
_function("_+_", TIMESTAMP, moments.move, DURATION, TIMESTAMP)
_function("_+_", DURATION, moments.add_durations, DURATION, DURATION)
_function("_-_", DURATION, moments.find_distance, TIMESTAMP, TIMESTAMP)
_function("_-_", TIMESTAMP, moments.move_back, TIMESTAMP, DURATION)
_function("_-_", DURATION, moments.find_distance, DURATION, DURATION)
for _name, _compare in (("_<_", operator.lt), ("_<=_", operator.le), ("_>_", operator.gt), ("_>=_", operator.ge)):
    for _kind in (BOOL, INT, DOUBLE, STRING, TIMESTAMP, DURATION):
        _function(_name, BOOL, _compare, _kind, _kind)
_function("_==_", BOOL, equal, A, A)
_function("_!=_", BOOL, lambda one, other: not equal(one, other), A, A)
_function("@in", BOOL, lambda item, container: contains(container, item), A, ITEMS)
_function("@in", BOOL, lambda item, container: contains(container, item), A, map_of(A, B))
_function("_[_]", A, look_up, ITEMS, INT)
_function("_[_]", B, look_up, map_of(A, B), A)

# --- conversions -----------------------------------------------------------------------------------------------------

_TRUE, _FALSE = ("1", "t", "true", "TRUE", "True"), ("0", "f", "false", "FALSE", "False")


def _read_truth(text: str) -> bool:
    if text not in _TRUE + _FALSE:
        raise CelError("this text is neither true nor false")
    return text in _TRUE


_function("dyn", DYN, _keep, A)
_function("type", TYPE, type, A)
_function("bool", BOOL, _keep, BOOL)
_function("bool", BOOL, _read_truth, STRING)
_function("int", INT, _keep, INT)
_function("int", INT, numbers.cut_off, DOUBLE)
_function("int", INT, numbers.read_whole, STRING)
_function("int", INT, lambda moment: int(moment) // 10**9, TIMESTAMP)
_function("double", DOUBLE, _keep, DOUBLE)
_function("double", DOUBLE, float, INT)
_function("double", DOUBLE, numbers.read_decimal, STRING)
_function("string", STRING, _keep, STRING)
_function("string", STRING, str, INT)
_function("string", STRING, numbers.render_decimal, DOUBLE)
_function("string", STRING, lambda truth: "true" if truth else "false", BOOL)
_function("string", STRING, moments.render_moment, TIMESTAMP)
_function("string", STRING, moments.render_duration, DURATION)
_function("timestamp", TIMESTAMP, _keep, TIMESTAMP)
_function("timestamp", TIMESTAMP, moments.read_moment, STRING)
_function("timestamp", TIMESTAMP, moments.read_seconds, INT)
_function("duration", DURATION, _keep, DURATION)
_function("duration", DURATION, moments.read_duration, STRING)

# --- texts and lists -------------------------------------------------------------------------------------------------

for _declare in (_function, _method):
    for _sized in (STRING, ITEMS, map_of(A, B)):
        _declare("size", INT, len, _sized)
    _declare("matches", BOOL, match_pattern, STRING, STRING)
_method("startsWith", BOOL, str.startswith, STRING, STRING)
_method("endsWith", BOOL, str.endswith, STRING, STRING)
_method("contains", BOOL, operator.contains, STRING, STRING)
_method("lowerAscii", STRING, texts.lower, STRING)
_method("upperAscii", STRING, texts.upper, STRING)
_method("trim", STRING, texts.trim, STRING)
_method("reverse", STRING, texts.reverse, STRING)
_method("charAt", STRING, texts.find_character, STRING, INT)
_method("substring", STRING, texts.cut, STRING, INT)
_method("substring", STRING, texts.cut_between, STRING, INT, INT)
_method("indexOf", INT, str.find, STRING, STRING)
_method("indexOf", INT, texts.find_from, STRING, STRING, INT)
_method("lastIndexOf", INT, str.rfind, STRING, STRING)
_method("lastIndexOf", INT, texts.find_last_from, STRING, STRING, INT)
_method("split", TEXTS, texts.split, STRING, STRING)
_method("split", TEXTS, texts.split_limited, STRING, STRING, INT)
_method("replace", STRING, texts.replace, STRING, STRING, STRING)
_method("replace", STRING, texts.replace_limited, STRING, STRING, STRING, INT)
_method("join", STRING, texts.join, TEXTS)
_method("join", STRING, texts.join_with, TEXTS, STRING)
_method("format", STRING, texts.format_values, STRING, list_of(DYN))

# --- numbers ---------------------------------------------------------------------------------------------------------

for _name, _find in (("math.greatest", numbers.find_greatest), ("math.least", numbers.find_least)):
    for _kind in (INT, DOUBLE):
        _function(_name, _kind, lambda number: number, _kind)
        _function(_name, _kind, _find, list_of(_kind))
        for _other in (INT, DOUBLE):
            _gives = _kind if _kind == _other else DYN
            _function(_name, _gives, lambda one, other, find=_find: find([one, other]), _kind, _other)
_function("math.abs", INT, lambda number: numbers.negate(number) if number < 0 else number, INT)
_function("math.abs", DOUBLE, abs, DOUBLE)
_function("math.sign", INT, numbers.find_whole_sign, INT)
_function("math.sign", DOUBLE, numbers.find_sign, DOUBLE)
_function("math.round", DOUBLE, numbers.round_decimal, DOUBLE)
_function("math.ceil", DOUBLE, numbers.make_whole(math.ceil), DOUBLE)
_function("math.floor", DOUBLE, numbers.make_whole(math.floor), DOUBLE)
_function("math.trunc", DOUBLE, numbers.make_whole(math.trunc), DOUBLE)
_function("math.sqrt", DOUBLE, numbers.find_root, INT)
_function("math.sqrt", DOUBLE, numbers.find_root, DOUBLE)
_function("math.isNaN", BOOL, math.isnan, DOUBLE)
_function("math.isInf", BOOL, math.isinf, DOUBLE)
_function("math.isFinite", BOOL, math.isfinite, DOUBLE)

# --- moments ---------------------------------------------------------------------------------------------------------

for _name, _take in moments.MOMENT_PARTS.items():
    _method(_name, INT, moments.make_part(_take), TIMESTAMP)
    _method(_name, INT, moments.make_part_in_zone(_take), TIMESTAMP, STRING)
for _name, _unit in moments.DURATION_PARTS.items():
    _method(_name, INT, moments.make_duration_part(_unit), DURATION)
_method("getMilliseconds", INT, moments.find_milliseconds, DURATION)

# --- ours ------------------------------------------------------------------------------------------------------------


def _pair(left: list[Any], right: list[Any]) -> list[list[Any]]:
    if len(left) != len(right):
        raise CelError("zip() takes lists of the same length")
    return [list(pair) for pair in zip(left, right, strict=True)]


_function(OF_ZONE, TIMESTAMP, moments.read_time, STRING)
_function("sum", DOUBLE, numbers.add_up, list_of(DYN))
_function("zip", list_of(list_of(DYN)), _pair, list_of(DYN), list_of(DYN))
_method("mentions", BOOL, texts.mention, TEXTS, STRING)

# --- by the values' own types ----------------------------------------------------------------------------------------

_PYTHON: Final = {name: kind for kind, name in TYPE_NAMES.items()}
_GENERIC: Final = frozenset(("_==_", "_!=_", "@in", "_[_]", "dyn", "type"))
_ORDERED: Final = frozenset(("_<_", "_<=_", "_>_", "_>=_"))


def find_runners(
    name: str, count: int, member: bool
) -> Callable[..., Any] | dict[tuple[type, ...], Callable[..., Any]]:
    """What runs for values of these Python types; or the one thing that runs for all."""
    shaped = [one for one in SIGNATURES[name] if one.member is member and len(one.takes) == count]
    if name in _GENERIC:
        return shaped[0].run
    found = {tuple(_PYTHON[kind.name] for kind in one.takes): one.run for one in shaped}
    if name in _ORDERED:  # a whole number and a decimal one are compared as decimal ones

        def compare(one: float, other: float, run: Callable[..., Any] = shaped[0].run) -> Any:
            return run(float(one), float(other))

        found |= {(int, float): compare, (float, int): compare}
    return found
