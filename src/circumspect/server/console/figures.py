"""Figures for the overview: a period and the tenants one may see in, counts, rates and costs out.

One pass over the turns of the period. What standard mode would have cost is an
estimate, turn by turn: the calls that adaptive mode adds (second opinions, context rounds) are left out, and every
remaining call carries the whole business context and all tool schemas instead of the little that adaptive mode sends.
Tokens of that difference are counted from the tenant's own texts, four characters to one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime, timedelta
from typing import Any

import orjson
import sqlalchemy as sa

from circumspect.prompts import prompt
from circumspect.reasons import ReasonCode
from circumspect.setup import TurnSetup
from circumspect.steps.gather import gather
from circumspect.stores.codec import moment, reason
from circumspect.stores.people import VisibleTenants
from circumspect.stores.tables import messages, turns
from circumspect.values import ConversationId, Incoming, Mode, Opened, Screened, TenantId, TurnId, TurnOutcome

OUTCOMES: tuple[TurnOutcome, ...] = ("answered", "asked", "acted", "escalated", "blocked", "failed")
MOST_TURNS = 50_000
"""Of a longer period the newest are counted, and the page says so."""
CHARACTERS_PER_TOKEN = 4
HELD = sa.and_(
    sa.text("reason_code IS NOT NULL"),
    messages.c.reason_code.in_([str(code) for code in ReasonCode if code.category != "success"]),
    messages.c.kind == "policy",
    messages.c.content.not_like("%: allow"),
)
"""A call that the rules did not let through."""


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

    def share(self, part: int) -> float | None:
        return part / self.turns if self.turns else None

    def each(self, total: float) -> float:
        return total / self.turns if self.turns else 0.0


@dataclass(frozen=True)
class Figures:
    total: TurnSums
    days: Mapping[date, TurnSums]
    held: Sequence[tuple[str, int]]
    """State-changing calls that were held, by reason."""
    reasons: Sequence[tuple[str, int]]
    """In how many turns each reason code was."""
    whole: bool
    """False when only the newest turns were counted."""


def match_tenants(table: sa.Table, seen: VisibleTenants) -> sa.ColumnElement[bool]:
    return sa.true() if seen is None else table.c.tenant.in_(sorted(seen))


def figures(
    connection: sa.Connection, seen: VisibleTenants, since: datetime, until: datetime, extra: Mapping[TenantId, int]
) -> Figures:
    """`extra` says by tenant how many more tokens each call in standard mode carries."""
    days = {day: TurnSums() for day in _days(since, until)}
    # As text: taking a piece out of each document in the database costs more than reading the whole of it here.
    written = sa.cast(turns.c.result, sa.Text)
    query = sa.select(turns.c.tenant, turns.c.started_at, turns.c.outcome, written.label("written")).where(
        match_tenants(turns, seen), turns.c.started_at >= since.timestamp(), turns.c.status == "done"
    )
    rows: Sequence[Any] = connection.execute(query.limit(MOST_TURNS + 1)).all()
    whole = len(rows) <= MOST_TURNS
    if not whole:  # only then: to sort whole documents is what takes the time
        rows = connection.execute(query.order_by(turns.c.started_at.desc()).limit(MOST_TURNS)).all()
    # A turn from a clock that is ahead of ours still is one of today's.
    last = max(days)
    reasons: Counter[str] = Counter()
    for tenant, started_at, outcome, document in rows:
        result = orjson.loads(document) if document else {}
        reasons.update(result.get("reason_codes") or ())
        day = days.get(moment(started_at).date()) or days[last]
        _add(day, outcome, result.get("usage") or {}, extra.get(tenant, 0))
    total = _together(days.values())
    held = (
        sa.select(messages.c.reason_code, sa.func.count().label("many"))
        .where(match_tenants(messages, seen), messages.c.at >= since.timestamp(), HELD)
        .where(messages.c.meta["effect"].as_string() != "read")
        .group_by(messages.c.reason_code)
    )
    by_reason = [(str(row.reason_code), int(row.many)) for row in connection.execute(held)]
    return Figures(total, days, _sort_by_count(by_reason), _sort_by_count(reasons.items()), whole)


def _sort_by_count(counted: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """The most frequent first."""
    return sorted(counted, key=lambda one: (-one[1], one[0]))


def _add(sums: TurnSums, outcome: str, usage: Mapping[str, Any], extra: int) -> None:
    calls = usage.get("calls") or ()
    critiques, rounds = usage.get("critiques") or 0, usage.get("context_rounds") or 0
    tokens, cost = 0, 0.0
    for call in calls:
        tokens += (call.get("input_tokens") or 0) + (call.get("output_tokens") or 0)
        cost += call.get("cost_usd") or 0.0
    adaptive = usage.get("mode") == "adaptive"
    sums.turns += 1
    sums.adaptive += adaptive
    sums.outcomes[outcome] += 1
    sums.criticised += bool(critiques)
    sums.fetched += bool(rounds)
    sums.rounds += rounds
    sums.calls += len(calls)
    sums.tokens += tokens
    sums.cost += cost
    there: float = tokens
    if adaptive and calls:
        kept = max(0, len(calls) - critiques - rounds)
        there = tokens * kept / len(calls) + kept * extra
    sums.standard_tokens += there
    sums.standard_cost += cost * there / tokens if tokens else 0.0


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
