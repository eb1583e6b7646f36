"""Texts that make a regular expression work: what a pattern repeats, repeated; and how the work grows with them.

A pattern is pumped with samples of its own parts, taken from its syntax tree, and with plain fillers, each before a few
endings that keep it from matching. Growth is told by several doublings in a row, each the least of
three: a busy machine does not make one after the other three times as slow as the last, and that twice over.
"""

from __future__ import annotations

import math
import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import FrameType
from typing import Any

FILLERS = (" ", "\t", "\n", "a", "A", "0", "f", "-", "_", ".", ",", "[", "(", "<", "{", '"', "'", "`", "*", "=", "/", "\\",
           "!", "#", "א", "я", "ß", "€", "a ", "1 ", "1,", "a.", "a-", "1-", "1.", "a@", "[[", "](", "](a", "\r\n", "ab", "a1", "́")  # fmt: skip
ENDINGS = ("", "\0", "!\n", "x")
SMALL, LARGE = 300, 1_200
"""Characters of the first two looks at a pump. What is linear takes at most four times as long on the second."""
LONGEST = 50_000
_PATIENCE = 2.0
"""Seconds that one match may take before it is called endless."""
_MOST_PUMPS = 120

Work = Callable[[re.Pattern[str], str], object]


@dataclass(frozen=True)
class Growth:
    """A pump that makes a pattern slower faster than it grows."""

    pump: str
    prefix: str
    ending: str
    seconds: tuple[tuple[int, float], ...]

    def __str__(self) -> str:
        times = ", ".join(f"{length:,} characters {seconds * 1000:.1f} ms" for length, seconds in self.seconds)
        return f"{self.prefix!r} + {self.pump!r} * n + {self.ending!r}: {times}"


def find_growth(pattern: re.Pattern[str], work: Work) -> Growth | None:
    """The first pump under which the work grows faster than the text; None where there is none."""
    for prefix, pump, ending in pumps(pattern):
        if _looks_slow(pattern, work, prefix, pump, ending):
            # Twice: a machine that was busy at the wrong moment is not busy at the same moment again.
            found = _confirm(pattern, work, prefix, pump, ending) and _confirm(pattern, work, prefix, pump, ending)
            if found:
                return found
    return None


def pumps(pattern: re.Pattern[str]) -> Iterator[tuple[str, str, str]]:
    """Prefix, pump, ending."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    parts = list(dict.fromkeys(_find_pumps(list(tree), "")))
    letters = dict.fromkeys(("", one) for one in FILLERS)
    for prefix, pump in [one for one in parts if one[1]][:_MOST_PUMPS] + list(letters):
        for ending in ENDINGS:
            yield prefix, pump, ending


# --- parts of a pattern ---------------------------------------------------------------------------------------------


def _find_pumps(items: list[Any], before: str) -> Iterator[tuple[str, str]]:
    """(prefix, pump) for each repeat in these items, and for each beginning: a search begins anew at every place."""
    said = ""
    for op, value in items:
        for inner, repeated in _inside(op, value):
            if repeated:
                for sample in _samples(inner):
                    yield before + said, sample
                    yield "", before + said + sample
            yield from _find_pumps(inner, before + said)
        said += _sample([(op, value)])
        if 0 < len(said) < 80:
            yield "", said
            if op in _REPEATS and said[-1:]:
                yield said, said[-1]


_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, getattr(ops, "POSSESSIVE_REPEAT", None))


def _inside(op: Any, value: Any) -> Iterator[tuple[list[Any], bool]]:
    if op in _REPEATS:
        _, most, inner = value
        yield list(inner), most > 8
    elif op is ops.SUBPATTERN:
        yield list(value[3]), False
    elif op is ops.BRANCH:
        for branch in value[1]:
            yield list(branch), False
    elif op in (ops.ASSERT, ops.ASSERT_NOT):
        yield list(value[1]), False
    elif op is getattr(ops, "ATOMIC_GROUP", None):
        yield list(value), False


def _samples(items: list[Any]) -> Iterable[str]:
    """Some texts that these items match: one for each branch, one for each kind of character of a class."""
    found = {_sample(items)}
    if len(items) == 1:
        op, value = items[0]
        if op is ops.IN:
            found |= set(_members(value))
        elif op in (ops.ANY, ops.NOT_LITERAL, ops.CATEGORY):
            found |= {_sample(items)}
        for inner, _ in _inside(op, value):
            found |= set(_samples(inner)) if len(found) < 12 else set()
    return [one for one in sorted(found) if one][:12]


def _sample(items: list[Any]) -> str:
    said = ""
    for op, value in items:
        if op is ops.LITERAL:
            said += chr(value)
        elif op is ops.NOT_LITERAL:
            said += "a" if value != ord("a") else "b"
        elif op is ops.ANY:
            said += "a"
        elif op is ops.IN:
            said += next(iter(_members(value)), "")
        elif op in _REPEATS:
            said += _sample(list(value[2])) * min(max(value[0], 1), 30)
        elif op is ops.SUBPATTERN:
            said += _sample(list(value[3]))
        elif op is getattr(ops, "ATOMIC_GROUP", None):
            said += _sample(list(value))
        elif op is ops.BRANCH:
            said += _sample(list(value[1][0]))
    return said


def _members(members: list[Any]) -> list[str]:
    """A few characters of a class, of different kinds."""
    flat = tuple((op, tuple(value) if isinstance(value, list) else value) for op, value in members)
    return _list_members(flat)


@cache
def _list_members(members: tuple[Any, ...]) -> list[str]:
    said = "".join(_spell(op, value) for op, value in members)
    try:
        one = re.compile(f"[{said}]")
    except re.error:
        return ["a"]
    named = [chr(value) for op, value in members if op is ops.LITERAL]
    ranges = [chr(value[0]) for op, value in members if op is ops.RANGE]
    return [sign for sign in dict.fromkeys([*_KINDS, *ranges, *named]) if one.fullmatch(sign)][:8]


_KINDS = ("a", " ", "0", "f", "-", "_", ".", "\n", "א", "я", "[", '"')
_CATEGORIES = {
    ops.CATEGORY_DIGIT: r"\d", ops.CATEGORY_NOT_DIGIT: r"\D", ops.CATEGORY_SPACE: r"\s",
    ops.CATEGORY_NOT_SPACE: r"\S", ops.CATEGORY_WORD: r"\w", ops.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


def _spell(op: Any, value: Any) -> str:
    if op is ops.NEGATE:
        return "^"
    if op is ops.LITERAL:
        return re.escape(chr(value))
    if op is ops.RANGE:
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    return _CATEGORIES[value]


# --- the work -------------------------------------------------------------------------------------------------------


class _Endless(Exception):
    pass


def _measure(pattern: re.Pattern[str], work: Work, text: str) -> float:
    """Seconds of computing, whatever else the machine does; without end where it had to be broken off."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise _Endless

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, _PATIENCE)
    start = time.thread_time()
    try:
        work(pattern, text)
        return time.thread_time() - start
    except _Endless:
        return math.inf
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _fill(prefix: str, pump: str, ending: str, length: int) -> str:
    return prefix + pump * (length // len(pump)) + ending


def _looks_slow(pattern: re.Pattern[str], work: Work, prefix: str, pump: str, ending: str) -> bool:
    """Cheap, and wrong now and then in one way only: what is linear may look slow, and is measured with care then."""
    first = _measure(pattern, work, _fill(prefix, pump, ending, SMALL))
    if first > 0.02:
        return True
    text = _fill(prefix, pump, ending, LARGE)
    return all((seconds := _measure(pattern, work, text)) > 0.0002 and seconds > 6 * first for _ in range(4))


def _confirm(pattern: re.Pattern[str], work: Work, prefix: str, pump: str, ending: str) -> Growth | None:
    """Doublings until one match takes half a second; steep where each of the last ones made it nearly three times as
    slow, or slower. What takes no time worth measuring at the longest text is not looked at: it harms nobody."""
    found: list[tuple[int, float]] = []
    length = 40
    while length <= LONGEST and (not found or found[-1][1] < 0.5):
        text = _fill(prefix, pump, ending, length)
        found.append((length, _measure(pattern, work, text)))
        for _ in range(2 if 0.005 < found[-1][1] < _PATIENCE else 0):
            found[-1] = length, min(found[-1][1], _measure(pattern, work, text))
        length *= 2
    ratios = [after / before for (_, before), (_, after) in pairwise(found) if before > 0.005]
    steep = len(ratios) >= 2 and min(ratios[-3:]) > 2.7
    return Growth(pump, prefix, ending, tuple(found[-4:])) if steep or found[-1][1] == math.inf else None
