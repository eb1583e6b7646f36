"""Words with their places on a page -> lines in reading order. Pure geometry, nothing about PDF in it.

A gutter is a vertical strip that few lines cross while whole lines of text stand on both of its sides; what does cross
it divides the page into bands, and in each band the columns are read one after the other. Where only a few words stand
on one side it is a table without rules, and stays row by row with ` | ` between the cells.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from circumspect.language.scripts import RIGHT_TO_LEFT

RIGHT_TO_LEFT_SIGN = re.compile(f"[{RIGHT_TO_LEFT}]")
_LEFT_TO_RIGHT = re.compile(rf"[^\W_{RIGHT_TO_LEFT}](?:[^\s{RIGHT_TO_LEFT}]*[^\W_{RIGHT_TO_LEFT}%])?")
_MIRRORED = str.maketrans("()[]{}<>«»", ")(][}{><»«")


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    x0: float
    x1: float
    top: float
    bottom: float
    size: float
    bold: bool


@dataclass(frozen=True, slots=True)
class LayoutLine:
    """`row` is a table's; `gapped` lines have cells of their own making."""

    text: str
    x0: float
    x1: float
    top: float
    bottom: float
    size: float
    bold: bool
    row: bool = False
    gapped: bool = False

    @property
    def height(self) -> float:
        return max(self.bottom - self.top, 1.0)


LayoutRow = list[Word]


def lines_of(words: Sequence[Word]) -> list[LayoutLine]:
    """The lines, columns read one after the other."""
    return [_line(row) for row in _order_rows(_rows(words), depth=0)]


def in_reading_order(lines: Sequence[LayoutLine], rows: Sequence[LayoutLine]) -> list[LayoutLine]:
    """A table's rows put where they stand: before the first line of their own column that is below them."""
    found = list(lines)
    for row in rows:
        place = next(
            (
                index
                for index, line in enumerate(found)
                if line.top >= row.top and line.x0 < row.x1 and line.x1 > row.x0
            ),
            None,
        )
        if place is None:
            beside = [index for index, line in enumerate(found) if line.x0 < row.x1 and line.x1 > row.x0]
            place = beside[-1] + 1 if beside else len(found)
        found.insert(place, row)
    return found


def _rows(words: Sequence[Word]) -> list[LayoutRow]:
    """Words on one height, from the top; in each from the left."""
    rows: list[LayoutRow] = []
    for word in sorted(words, key=lambda word: word.bottom):
        # Against the row's first word, not its last: small steps would add up to the next line.
        if rows and word.bottom - rows[-1][0].bottom < 0.45 * min(word.size, rows[-1][0].size):
            rows[-1].append(word)
        else:
            rows.append([word])
    return [sorted(row, key=lambda word: word.x0) for row in rows]


def _order_rows(rows: list[LayoutRow], depth: int) -> list[LayoutRow]:
    gutter = _gutter(rows) if depth < 3 else None
    if gutter is None:
        return rows
    found: list[LayoutRow] = []
    left: list[LayoutRow] = []
    right: list[LayoutRow] = []

    def flush() -> None:
        first, second = _order_rows(left, depth + 1), _order_rows(right, depth + 1)
        hebrew = sum(bool(RIGHT_TO_LEFT_SIGN.search(word.text)) for row in left + right for word in row)
        if hebrew * 2 > sum(len(row) for row in left + right):
            first, second = second, first
        found.extend((*first, *second))
        left.clear()
        right.clear()

    for row in rows:
        if _crosses(row, gutter):
            flush()
            found.append(row)
            continue
        if start := [word for word in row if word.x1 <= gutter]:
            left.append(start)
        if end := [word for word in row if word.x0 >= gutter]:
            right.append(end)
    flush()
    return found


def _crosses(row: LayoutRow, x: float) -> bool:
    return any(word.x0 < x < word.x1 for word in row) or any(
        # Words a mere space apart are one line, even if the space lies on the gutter.
        before.x1 <= x <= after.x0 and after.x0 - before.x1 < 0.6 * after.size
        for before, after in itertools.pairwise(row)
    )


def _gutter(rows: list[LayoutRow]) -> float | None:
    if len(rows) < 6:
        return None
    start, end = min(row[0].x0 for row in rows), max(word.x1 for row in rows for word in row)
    width = end - start
    best: tuple[int, float, float] | None = None
    for percent in range(22, 79):
        x = start + width * percent / 100
        free = [row for row in rows if not _crosses(row, x)]
        left = [[word for word in row if word.x1 <= x] for row in free]
        right = [[word for word in row if word.x0 >= x] for row in free]
        lefts, rights = [row for row in left if row], [row for row in right if row]
        if len(lefts) < 4 or len(rights) < 4 or len(free) < 0.6 * len(rows):
            continue
        words = min(_words_together(lefts), _words_together(rights))
        if words > 3.5 and (best is None or (len(free), words) > best[:2]):
            best = (len(free), words, x)
    return best[2] if best else None


def _words_together(rows: list[LayoutRow]) -> float:
    """How many words stand side by side on average; in the cells of a table they are few."""
    return mean(len(cell) for row in rows for cell in _cells(row))


# --- a line's text --------------------------------------------------------------------------------------------------


def _line(row: LayoutRow) -> LayoutLine:
    hebrew = sum(bool(RIGHT_TO_LEFT_SIGN.search(word.text)) for word in row)
    latin = sum(any(letter.isalpha() for letter in word.text) for word in row) - hebrew
    cells = _cells(row)
    texts = [_right_to_left(cell) if hebrew and hebrew >= latin else " ".join(w.text for w in cell) for cell in cells]
    if hebrew and hebrew >= latin:
        texts.reverse()
    size = max((word.size for word in row), key=lambda size: sum(len(w.text) for w in row if w.size == size))
    return LayoutLine(
        " | ".join(texts),
        row[0].x0,
        max(word.x1 for word in row),
        min(word.top for word in row),
        max(word.bottom for word in row),
        size,
        all(word.bold for word in row if any(letter.isalnum() for letter in word.text)),
        gapped=len(cells) > 1,
    )


def _cells(row: LayoutRow) -> list[LayoutRow]:
    cells: list[LayoutRow] = [[row[0]]]
    for before, word in itertools.pairwise(row):
        # A list's number stands apart from its item as well.
        if word.x0 - before.x1 > 2 * word.size and not (
            len(cells) == 1 and len(cells[0]) == 1 and len(before.text) < 4
        ):
            cells.append([])
        cells[-1].append(word)
    return cells


def _right_to_left(words: LayoutRow) -> str:
    """From the order in which it is painted to the order in which it is read."""
    found: list[str] = []
    run: list[str] = []
    for word in reversed(words):
        if RIGHT_TO_LEFT_SIGN.search(word.text) or not any(letter.isalnum() for letter in word.text):
            found.extend(reversed(run))
            run.clear()
            found.append(_reverse_word(word.text))
        elif word.text[0].isdigit() or word.text[-1].isdigit():
            found.extend(reversed(run))
            run.clear()
            found.append(_punctuation_after(word.text))
        else:
            run.append(word.text)
    found.extend(reversed(run))
    return " ".join(found)


def _reverse_word(word: str) -> str:
    backwards = word[::-1].translate(_MIRRORED)
    return _LEFT_TO_RIGHT.sub(lambda run: run[0][::-1].translate(_MIRRORED), backwards)


def _punctuation_after(number: str) -> str:
    """A full stop after a number at the end of a Hebrew sentence is painted on its left."""
    signs = re.match(r"[.,;:!?()]+", number)
    if signs is None:
        return number
    return number[signs.end() :] + signs[0][::-1].translate(_MIRRORED)
