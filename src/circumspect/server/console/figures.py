"""Figures for the overview: a period and the tenants one may see in, counts, rates and costs out.

Turns are added up by day when they end, so that a month is a few rows. What standard mode would have cost is an
estimate: every call that it would have made carries the whole business context and all tool schemas instead of the
little that adaptive mode sends. Tokens of that difference are counted from the tenant's own texts, four characters to
one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from circumspect.holds import PREVENTED
from circumspect.prompts import prompt
from circumspect.setup import TurnSetup
from circumspect.steps.gather import gather
from circumspect.stores.codec import reason
from circumspect.stores.day_counts import sum_escalations
from circumspect.stores.day_tables import escalation_days, held_days, reason_days, turn_days
from circumspect.stores.people import VisibleTenants
from circumspect.values import ConversationId, Incoming, Mode, Opened, Screened, TenantId, TurnId, TurnOutcome

OUTCOMES: tuple[TurnOutcome, ...] = ("answered", "asked", "acted", "escalated", "blocked", "failed")
CHARACTERS_PER_TOKEN = 4
_FOREVER = "9"
"""After every day of any year."""


@dataclass
class TurnSums:
    """Added up over a day or over the whole period."""

    turns: int = 0
    adaptive: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    criticised: int = 0
    fetched: int = 0
    rounds: int = 0
    tokens: int = 0
    cost: float = 0.0
    standard_tokens: float = 0.0
    standard_cost: float = 0.0
    calls: int = 0
    prevented: int = 0
    escalations: int = 0

    def share(self, part: int) -> float | None:
        return part / self.turns if self.turns else None

    def each(self, total: float) -> float:
        return total / self.turns if self.turns else 0.0


@dataclass(frozen=True)
class Figures:
    total: TurnSums
    days: Mapping[date, TurnSums]
    escalations: int
    """How many were handed to people, by whatever cause."""
    fates: Counter[str]
    """State-changing calls that were held, by what became of them (`holds.FATES`)."""
    prevented: Sequence[tuple[str, int]]
    """Those that would have been wrong, by why they were held."""
    reasons: Sequence[tuple[str, int]]
    """In how many turns each reason code was."""

    @property
    def held_count(self) -> int:
        return self.fates.total()

    @property
    def prevented_count(self) -> int:
        return sum(self.fates[fate] for fate in PREVENTED)


def match_tenants(table: sa.Table, seen: VisibleTenants) -> sa.ColumnElement[bool]:
    return sa.true() if seen is None else table.c.tenant.in_(sorted(seen))


def figures(
    connection: sa.Connection,
    seen: VisibleTenants,
    since: datetime,
    until: datetime,
    extra: Mapping[TenantId, int],
    *,
    is_over: bool = False,
) -> Figures:
    """`extra` says by tenant how many more tokens each call in standard mode carries. Of a period that is over, what
    came after it is not counted; of one that goes on, a turn from a clock ahead of ours is one of today's."""
    days = {day: TurnSums() for day in _days(since, until)}
    first, last = min(days), max(days)
    ends = last.isoformat() if is_over else _FOREVER

    def day_of(row: Any) -> TurnSums:
        return days.get(date.fromisoformat(row.day)) or days[last]

    for row in connection.execute(_between(turn_days, seen, first, ends)):
        _add(day_of(row), row, extra.get(TenantId(row.tenant), 0))
    reasons, fates, prevented = Counter[str](), Counter[str](), Counter[str]()
    for row in connection.execute(_between(reason_days, seen, first, ends)):
        reasons[row.reason_code] += row.number
    for row in connection.execute(_between(held_days, seen, first, ends)):
        fates[row.fate] += row.number
        if row.fate in PREVENTED and row.number:
            prevented[row.reason_code] += row.number
            day_of(row).prevented += row.number
    for row in connection.execute(_between(escalation_days, seen, first, ends)):
        day_of(row).escalations += row.number
    total = _together(days.values())
    escalations = sum_escalations(connection, seen, first.isoformat(), ends)
    return Figures(total, days, escalations, fates, _sort_by_count(prevented.items()), _sort_by_count(reasons.items()))


def _between(table: sa.Table, seen: VisibleTenants, first: date, ends: str) -> sa.Select[Any]:
    days = table.c.day
    return sa.select(table).where(match_tenants(table, seen), days >= first.isoformat(), days <= ends)


def _sort_by_count(counted: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """The most frequent first."""
    return sorted(counted, key=lambda one: (-one[1], one[0]))


def _add(sums: TurnSums, row: Any, extra: int) -> None:
    sums.turns += row.turns
    sums.adaptive += row.turns if row.mode == "adaptive" else 0
    sums.outcomes[row.outcome] += row.turns
    sums.criticised += row.criticised
    sums.fetched += row.fetched
    sums.rounds += row.rounds
    sums.calls += row.calls
    sums.tokens += row.tokens
    sums.cost += row.cost
    sums.standard_tokens += row.standard_tokens + row.standard_calls * extra
    sums.standard_cost += row.standard_cost + row.standard_rate * extra


def _together(parts: Iterable[TurnSums]) -> TurnSums:
    total = TurnSums()
    for part in parts:
        for one in fields(TurnSums):
            setattr(total, one.name, getattr(total, one.name) + getattr(part, one.name))
    return total


def _days(since: datetime, until: datetime) -> list[date]:
    first, last = since.astimezone(UTC).date(), until.astimezone(UTC).date()
    return [first + timedelta(days=number) for number in range((last - first).days + 1)]


def category(code: str) -> str:
    """Of a reason code; one that this version does not know is an oddity."""
    known = reason(code)
    return known.category if known else "edge"


def extra_tokens(setup: TurnSetup, now: datetime) -> int:
    """How many more tokens a call in standard mode begins with, for this tenant."""
    return max(0, _first_call(setup, "standard", now) - _first_call(setup, "adaptive", now))


def _first_call(setup: TurnSetup, mode: Mode, now: datetime) -> int:
    incoming = Incoming(setup.tenant.id, ConversationId(""), TurnId(""), "", now)
    opened = Opened("", mode, None, (), 0, None)
    screened = Screened(incoming, opened, setup.tenant.language, "other")
    begun = gather(screened, setup.tenant.business, setup.tools, setup.profiles[mode], now)
    characters = len(prompt(mode).text) + sum(len(block.key) + len(block.text) for block in begun.blocks)
    for spec in begun.tools:
        characters += len(spec.name) + len(spec.description) + len(json.dumps(spec.parameters, default=str))
    return characters // CHARACTERS_PER_TOKEN
