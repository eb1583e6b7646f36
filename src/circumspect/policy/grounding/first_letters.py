"""Many alternatives of one pattern, sorted by the letter that they can begin with, so that most are never tried.

What may surprise: only the beginning of a pattern is read, and only notation that is certain. Whatever is not may begin
with any letter, and is tried everywhere. Of those that are tried at a place, the first still counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

Letters = frozenset[str] | None
"""What something can begin with; None is any letter."""

_LOOKS = ("(?=", "(?!", "(?<=", "(?<!")
_PLAIN_GROUP = "(?:"
_QUANTIFIER = re.compile(r"(?:[?*+]|\{(\d*)(?:,\d*)?\})[?+]?")
_CLASS = re.compile(r"\[([^\\\]^\[-]+)\]")
_SPECIAL = frozenset(".^$*+?{}[]\\|()")


def sort_by_first_letter(alternatives: Sequence[str]) -> Mapping[str, Sequence[int]]:
    """Letter to the places of all alternatives that can begin with it, in their order; "" for every other letter."""
    firsts = [find_first_letters(one) for one in alternatives]
    letters = sorted(frozenset().union(*(one for one in firsts if one is not None)))
    sorted_ones = {
        letter: [place for place, one in enumerate(firsts) if one is None or letter in one] for letter in letters
    }
    return {**sorted_ones, "": [place for place, one in enumerate(firsts) if one is None]}


def find_first_letters(pattern: str) -> Letters:
    """Every letter that a match of the pattern can begin with."""
    try:
        letters, empty, _ = _read_branches(pattern, 0)
    except _UnreadError:
        return None
    return None if empty else letters


class _UnreadError(ValueError):
    """Notation that is not read here."""


def _read_branches(pattern: str, at: int) -> tuple[frozenset[str], bool, int]:
    """What the alternatives from here on begin with, whether one can be empty, and where they end."""
    found, empty = frozenset[str](), False
    while True:
        letters, is_empty, at = _read_sequence(pattern, at)
        found, empty = found | letters, empty or is_empty
        if pattern[at : at + 1] != "|":
            return found, empty, at
        at += 1


def _read_sequence(pattern: str, at: int) -> tuple[frozenset[str], bool, int]:
    found, empty = frozenset[str](), True
    while at < len(pattern) and pattern[at] not in "|)":
        if not empty:
            at = _skip(pattern, at)
            continue
        letters, empty, at = _read_item(pattern, at)
        found |= letters
    return found, empty, at


def _read_item(pattern: str, at: int) -> tuple[frozenset[str], bool, int]:
    if pattern[at] in "^$" or pattern.startswith(_LOOKS, at):
        return frozenset(), True, _skip(pattern, at)
    if pattern.startswith(_PLAIN_GROUP, at):
        letters, empty, end = _read_branches(pattern, at + len(_PLAIN_GROUP))
        end += 1
    elif hit := _CLASS.match(pattern, at):
        letters, empty, end = frozenset(hit[1]), False, hit.end()
    elif pattern[at] not in _SPECIAL:
        letters, empty, end = frozenset(pattern[at]), False, at + 1
    else:
        raise _UnreadError
    if hit := _QUANTIFIER.match(pattern, end):
        return letters, empty or hit[0][0] in "?*" or hit[1] in ("", "0"), hit.end()
    return letters, empty, end


def _skip(pattern: str, at: int) -> int:
    """Where what stands here ends; what it says does not matter."""
    depth = 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\":
            at += 2
        elif sign == "[":
            closing = pattern.find("]", at + 2)
            if closing < 0 or "\\" in pattern[at:closing]:
                raise _UnreadError
            at = closing + 1
        else:
            depth += {"(": 1, ")": -1}.get(sign, 0)
            at += 1
        if depth <= 0:
            return at
    raise _UnreadError
