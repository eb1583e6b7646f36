"""Tiles at the top of the overview: two periods in; figures, their days as a line and what was before out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from circumspect.server.console.charts import draw_sparkline
from circumspect.server.console.figures import Figures, TurnSums
from circumspect.server.console.i18n import Translator


@dataclass(frozen=True, slots=True)
class Tile:
    name: str
    """Of its texts: `tile-<name>`, `tile-<name>-note`."""
    value: str
    note: str
    was: str
    """The same of the period before; empty where nothing was before."""
    change: str
    rose: int
    """1, 0 or -1."""
    line: str
    """Its days as a path in a box of 100 by 24."""
    before: str
    """The days of the period before, to the same scale."""


@dataclass(frozen=True, slots=True)
class _Measure:
    name: str
    read: Callable[[Figures], float | None]
    daily: Callable[[TurnSums], float | None]
    write: Callable[[float], str]
    note: Callable[[Figures], str]
    is_share: bool = False


def build_tiles(found: Figures, before: Figures, words: Translator) -> list[Tile]:
    return [_build(one, found, before, words) for one in _list_measures(found, words)]


def _list_measures(found: Figures, words: Translator) -> list[_Measure]:
    t, number, in_tokens = words.t, words.number, not found.total.cost

    def percent(value: float) -> str:
        return words.percent(value, 1)

    def note_turns(of: Figures) -> str:
        return t("tile-adaptive", share=words.percent(of.total.share(of.total.adaptive)))

    if in_tokens:
        spent = _Measure(
            "tokens",
            lambda of: of.total.each(of.total.tokens) if of.total.turns else None,
            lambda day: day.each(day.tokens) if day.turns else None,
            number,
            lambda of: t("tile-tokens-note", standard=number(of.total.each(of.total.standard_tokens))),
        )
    else:
        spent = _Measure(
            "cost",
            lambda of: of.total.each(of.total.cost) if of.total.turns else None,
            lambda day: day.each(day.cost) if day.turns else None,
            words.money,
            lambda of: t("tile-cost-note", standard=words.money(of.total.each(of.total.standard_cost))),
        )
    return [
        _Measure("turns", lambda of: of.total.turns, lambda day: day.turns, number, note_turns),
        _Measure(
            "prevented",
            lambda of: of.prevented_count,
            lambda day: day.prevented,
            number,
            lambda of: t("tile-prevented-note", count=of.held_count),
        ),
        _Measure(
            "critique",
            lambda of: of.total.share(of.total.criticised),
            lambda day: day.share(day.criticised),
            percent,
            lambda of: t("tile-critique-note", count=of.total.criticised),
            True,
        ),
        _Measure(
            "context",
            lambda of: of.total.share(of.total.fetched),
            lambda day: day.share(day.fetched),
            percent,
            lambda of: t("tile-context-note", average=number(of.total.each(of.total.rounds), 2)),
            True,
        ),
        _Measure(
            "escalation",
            lambda of: of.total.share(of.escalations),
            lambda day: day.share(day.escalations),
            percent,
            lambda of: t("tile-escalation-note", count=of.escalations),
            True,
        ),
        spent,
    ]


def _build(one: _Measure, found: Figures, before: Figures, words: Translator) -> Tile:
    now, was = one.read(found), one.read(before)
    days, former = ([one.daily(day) for day in of.days.values()] for of in (found, before))
    highest = max((value for value in (*days, *former) if value is not None), default=0)
    line, earlier = (draw_sparkline(values, highest, rtl=words.rtl) for values in (days, former))
    value = "–" if now is None else one.write(now)
    if now is None or was is None:
        return Tile(one.name, value, one.note(found), "", "", 0, line, earlier)
    rose = 0 if math.isclose(now, was, rel_tol=1e-9, abs_tol=1e-9) else 1 if now > was else -1
    return Tile(
        one.name, value, one.note(found), one.write(was), _compare(now, was, one.is_share, words), rose, line, earlier
    )


def _compare(now: float, was: float, is_share: bool, words: Translator) -> str:
    """Of shares the difference in points, of others in per cent of what was."""
    if is_share:
        return words.t("tile-points", points=words.number(abs(now - was) * 100, 1))
    return words.percent(abs(now / was - 1)) if was else ""
