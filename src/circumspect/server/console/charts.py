"""Charts: numbers in, shapes with places out. Templates draw them as SVG, so that they mirror in Hebrew, can be read
off a page by a test or a screen reader, and need no script.

In right-to-left languages time runs to the left; what is measured along the other axis stays as it is. A waterfall is
always left to right: it is read like code; and so are intervals, which are a line of numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 720, 220
LEFT, RIGHT, TOP, BOTTOM = 46, 22, 10, 26


@dataclass(frozen=True, slots=True)
class Series:
    """`look` is a class of the style sheet: f1 to f6 for areas, l1 to l3 for lines."""

    name: str
    values: Sequence[float]
    look: str
    links: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """A rectangle, or a path when `path` is set."""

    look: str
    tip: str
    x: float = 0
    y: float = 0
    width: float = 0
    height: float = 0
    path: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class ChartLabel:
    text: str
    x: float
    y: float
    anchor: str = "middle"
    scale: bool = False
    """It is of the scale beside the plot, which stays in sight while the plot is moved."""


@dataclass(frozen=True, slots=True)
class Chart:
    width: float
    height: float
    shapes: tuple[Shape, ...]
    labels: tuple[ChartLabel, ...]
    lines: tuple[float, ...]
    """Where the horizontal rules are."""
    legend: tuple[tuple[str, str], ...]
    """Look and name."""
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    """The same numbers as a table."""
    edges: tuple[float, float] = (0, 0)
    """Where the rules begin and end."""
    margin: float = LEFT
    """How broad the scale beside it is."""


NumberWriter = Callable[[float], str]
"""How a number reads."""


def ticks(highest: float, about: int = 4) -> list[float]:
    """Round numbers from zero to at least the highest."""
    if highest < 1e-9:
        return [0.0, 1.0]
    rough = highest / about
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough * 0.999)
    return [step * number for number in range(math.ceil(highest / step * 0.999) + 1)]


def write_number(value: float) -> str:
    """As English has it; pages give their language's own."""
    if math.isnan(value):
        return "–"
    return f"{value:,.0f}" if value == round(value) else f"{value:,.4g}"


def draw_stacked_bars(
    names: Sequence[str],
    series: Sequence[Series],
    *,
    rtl: bool = False,
    width: int = WIDTH,
    written: NumberWriter = write_number,
) -> Chart:
    """One bar for each name, the series on top of one another."""
    totals = [sum(one.values[at] for one in series) for at in range(len(names))]
    scale, labels, lines = _vertical(max(totals, default=0), rtl, width, written)
    slot = (width - LEFT - RIGHT) / max(1, len(names))
    shapes = []
    for at, name in enumerate(names):
        x, y = _x(at, slot, len(names), rtl) + slot * 0.14, float(HEIGHT - BOTTOM)
        for one in series:
            height = one.values[at] * scale
            if height <= 0:
                continue
            y -= height
            tip = f"{name} · {one.name}: {written(one.values[at])}"
            link = one.links[at] if one.links else ""
            shapes.append(
                Shape(one.look, tip, round(x, 1), round(y, 1), round(slot * 0.72, 1), round(height, 1), "", link)
            )
    labels += _names(names, slot, rtl, width)
    return Chart(width, HEIGHT, tuple(shapes), tuple(labels), lines, *_tell(names, series, written), _edges(rtl, width))


def line(
    names: Sequence[str],
    series: Sequence[Series],
    *,
    rtl: bool = False,
    width: int = WIDTH,
    written: NumberWriter = write_number,
) -> Chart:
    """A line for each series; a value that is not a number leaves a gap."""
    known = [value for one in series for value in one.values if not math.isnan(value)]
    scale, labels, lines = _vertical(max(known, default=0), rtl, width, written)
    slot = (width - LEFT - RIGHT) / max(1, len(names))
    shapes: list[Shape] = []
    for one in series:
        path, drawing = "", False
        for at, value in enumerate(one.values):
            if math.isnan(value):
                drawing = False
                continue
            x, y = _x(at, slot, len(names), rtl) + slot / 2, HEIGHT - BOTTOM - value * scale
            path += f"{'L' if drawing else 'M'}{x:.1f} {y:.1f}"
            drawing = True
            link = one.links[at] if one.links else ""
            dot = one.look.replace("l", "f").replace("f2", "f6")
            shapes.append(Shape(dot, f"{names[at]} · {one.name}: {written(value)}", x - 3, y - 3, 6, 6, "", link))
        if path:
            shapes.insert(0, Shape(one.look, one.name, path=path))
    labels += _names(names, slot, rtl, width)
    return Chart(width, HEIGHT, tuple(shapes), tuple(labels), lines, *_tell(names, series, written), _edges(rtl, width))


def draw_sparkline(values: Sequence[float | None], highest: float, *, rtl: bool = False) -> str:
    """A path through the values from zero up, in a box of 100 by 24 as high as the highest; empty where there is no
    line to draw."""
    known = [value for value in values if value is not None]
    if len(known) < 2 or not max(known):
        return ""
    step, scale, path, drawing = 100 / (len(values) - 1), 21 / highest, "", False
    for at, value in enumerate(values):
        if value is None:
            drawing = False
            continue
        x = 100 - at * step if rtl else at * step
        path += f"{'L' if drawing else 'M'}{x:.1f} {22.5 - value * scale:.1f}"
        drawing = True
    return path


def donut(
    parts: Sequence[tuple[str, float, str, str]], *, rtl: bool = False, written: NumberWriter = write_number
) -> Chart:
    """Parts are (name, value, look, link). They run clockwise, or the other way round in right-to-left languages."""
    total, size, outer, inner = sum(value for _, value, _, _ in parts), 200.0, 92.0, 58.0
    shapes, begun = [], 0.0
    for name, value, look, link in parts:
        if value <= 0:
            continue
        # A full circle has no beginning and no end, and an arc needs both.
        share = min(value / total, 0.9999)
        path = _ring(begun, begun + share, size / 2, outer, inner, rtl)
        shapes.append(Shape(look, f"{name}: {written(value)} ({round(100 * value / total)}%)", path=path, link=link))
        begun += value / total
    legend = tuple((look, name) for name, _, look, _ in parts)
    rows = tuple((name, written(value)) for name, value, _, _ in parts)
    return Chart(size, size, tuple(shapes), (), (), legend, (), rows)


@dataclass(frozen=True, slots=True)
class WaterfallSpan:
    """A piece of work: when it began and how long it took, in seconds."""

    name: str
    begin: float
    seconds: float
    look: str
    tip: str


def waterfall(spans: Sequence[WaterfallSpan], *, nested: bool = False) -> Chart:
    """One below the other. `nested`: all others are parts of the first, which stands out to the left."""
    name_width, bar, gap = 150.0, 18.0, 6.0
    end = max((one.begin + one.seconds for one in spans), default=0) or 1.0
    room = WIDTH - name_width - 190
    shapes, labels = [], []
    for at, one in enumerate(spans):
        y = at * (bar + gap) + 4
        x, width = name_width + room * one.begin / end, max(2.0, room * one.seconds / end)
        shapes.append(Shape(one.look, one.tip, round(x, 1), y, round(width, 1), bar))
        inset = 14 if nested and at else 0
        labels.append(ChartLabel(one.name, 2 + inset, y + 13, "start"))
        labels.append(ChartLabel(_seconds(one.seconds), round(x + width + 6, 1), y + 13, "start"))
    height = len(spans) * (bar + gap) + 6
    rows = tuple((one.name, _seconds(one.seconds), one.tip) for one in spans)
    return Chart(WIDTH, height, tuple(shapes), tuple(labels), (), (), (), rows)


@dataclass(frozen=True, slots=True)
class Range:
    """A value and the limits between which it may lie; None is not known."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    look: str


REACH = 3
"""So many times the largest value is drawn; limits that are further away end at the edge."""


def intervals(ranges: Sequence[Range], written: Callable[[float], str]) -> Chart:
    """A line for each from its lower to its upper limit, and a mark where its value is, all from 0 on."""
    width, left, right, row, bottom = 360.0, 96.0, 26.0, 26.0, 22.0
    values = [one.value for one in ranges if one.value is not None]
    limits = [one.high for one in ranges if one.value is not None and one.high is not None]
    largest = max(values, default=0.0)
    highest = max((*values, *((min(one, largest * REACH) if largest else one) for one in limits)), default=0.0)
    marks = ticks(highest, about=2)
    room, floor = width - left - right, row * len(ranges) + 4

    def x(value: float) -> float:
        return round(left + room * min(max(value / marks[-1], 0.0), 1.0), 1)

    shapes, labels, rows = [], [], []
    for at, one in enumerate(ranges):
        middle = row * at + row / 2
        known = "–" if one.value is None else written(one.value)
        between = "–" if one.low is None or one.high is None else f"{written(one.low)} … {written(one.high)}"
        labels.append(ChartLabel(one.name if len(one.name) <= 14 else f"{one.name[:13]}…", left - 8, middle + 4, "end"))
        rows.append((one.name, known, between))
        if one.value is None:
            continue
        tip = f"{one.name}: {known} ({between})"
        if one.low is not None and one.high is not None:
            begin, end = x(one.low), x(one.high)
            shapes.append(Shape(f"{one.look} faint", tip, begin, middle - 4, max(1.0, round(end - begin, 1)), 8))
        shapes.append(Shape(one.look, tip, x(one.value) - 2, middle - 8, 4, 16))
    labels += [ChartLabel(written(mark), x(mark), floor + 15) for mark in marks]
    return Chart(
        width, floor + bottom, tuple(shapes), tuple(labels), (floor,), (), (), tuple(rows), (left, width - right)
    )


# --- pieces ---------------------------------------------------------------------------------------------------------


def _edges(rtl: bool, width: float) -> tuple[float, float]:
    return (RIGHT, width - LEFT) if rtl else (LEFT, width - RIGHT)


def _vertical(
    highest: float, rtl: bool, width: float, written: NumberWriter
) -> tuple[float, list[ChartLabel], tuple[float, ...]]:
    marks = ticks(highest)
    scale = (HEIGHT - TOP - BOTTOM) / marks[-1]
    places = tuple(round(HEIGHT - BOTTOM - mark * scale, 1) for mark in marks)
    x, anchor = (width - LEFT + 8, "start") if rtl else (LEFT - 8, "end")
    return (
        scale,
        [ChartLabel(written(mark), x, y + 4, anchor, True) for mark, y in zip(marks, places, strict=True)],
        places,
    )


def _x(at: int, slot: float, count: int, rtl: bool) -> float:
    return RIGHT + (count - 1 - at) * slot if rtl else LEFT + at * slot


def _names(names: Sequence[str], slot: float, rtl: bool, width: float) -> list[ChartLabel]:
    """No more of them than there is room for, the last one always."""
    every = max(1, math.ceil(len(names) * 52 / (width - LEFT - RIGHT)))
    return [
        ChartLabel(name, round(_x(at, slot, len(names), rtl) + slot / 2, 1), HEIGHT - 8)
        for at, name in enumerate(names)
        if (len(names) - 1 - at) % every == 0
    ]


def _legend(series: Sequence[Series]) -> tuple[tuple[str, str], ...]:
    return tuple((one.look, one.name) for one in series)


def _tell(
    names: Sequence[str], series: Sequence[Series], written: NumberWriter
) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """What stands beside the drawing: its legend, and its numbers as a table."""
    return (_legend(series), *_table(names, series, written))


def _table(
    names: Sequence[str], series: Sequence[Series], written: NumberWriter
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    rows = [(name, *(written(one.values[at]) for one in series)) for at, name in enumerate(names)]
    return ("", *(one.name for one in series)), tuple(rows)


def _ring(begin: float, end: float, centre: float, outer: float, inner: float, rtl: bool) -> str:
    def at(share: float, radius: float) -> str:
        angle = 2 * math.pi * share * (-1 if rtl else 1)
        return f"{centre + radius * math.sin(angle):.2f} {centre - radius * math.cos(angle):.2f}"

    large, there, back = int(end - begin > 0.5), int(not rtl), int(rtl)
    return (
        f"M{at(begin, outer)}A{outer} {outer} 0 {large} {there} {at(end, outer)}"
        f"L{at(end, inner)}A{inner} {inner} 0 {large} {back} {at(begin, inner)}Z"
    )


def _seconds(value: float) -> str:
    return f"{value * 1000:,.0f} ms" if value < 1 else f"{value:,.2f} s"
