"""text_diff: two versions of a text -> lines, with what became of each: same, added, removed, or the place in the text.

What is alike at both ends is left out before anything is compared. Texts whose rest is longer than `MOST_COMPARED`
lines are shown one after the other: finding what they share would take the product of their lengths, for whoever stores
two long texts, and keep everybody else waiting.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from itertools import takewhile

MOST_COMPARED = 4_000
_AROUND = 3
_KINDS = {"+": "added", "-": "removed", "@": "place"}
_PLACE = re.compile(r"(?<=[-+])\d+")


def text_diff(old: str, new: str) -> list[tuple[str, str]]:
    before, after = old.splitlines(), new.splitlines()
    if before == after:
        return []
    skipped = max(0, _count_alike(before, after) - _AROUND)
    left = _count_alike(before[skipped:][::-1], after[skipped:][::-1])
    end = max(0, left - _AROUND)
    before, after = before[skipped : len(before) - end], after[skipped : len(after) - end]
    if max(len(before), len(after)) > MOST_COMPARED:
        place = f"@@ -{skipped + 1},{len(before)} +{skipped + 1},{len(after)} @@"
        lines = [place, *(f"-{line}" for line in before), *(f"+{line}" for line in after)]
    else:
        lines = list(difflib.unified_diff(before, after, lineterm="", n=_AROUND))[2:]
        lines = [_move(line, skipped) if line.startswith("@") else line for line in lines]
    return [(_KINDS.get(line[:1], "same"), line) for line in lines]


def _count_alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Lines that both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _move(place: str, lines: int) -> str:
    return _PLACE.sub(lambda number: str(int(number[0]) + lines), place)
