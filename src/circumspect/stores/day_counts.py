"""Adding up turns by day: what a turn came to in, a few sums of its day that are higher by that.

Plain functions on a connection, in the transaction that finishes the turn. What standard mode would have used is an
estimate: the calls that adaptive mode adds (second opinions, context rounds) are left out, and the rest counts in
proportion.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

import sqlalchemy as sa

from circumspect.reasons import ReasonCode
from circumspect.stores.day_tables import escalation_days, reason_days
from circumspect.stores.statements import SqlValues, insert, run, sql
from circumspect.values import ConversationId, TenantId, TurnOutcome, Usage

_SUMS = (
    "turns", "criticised", "fetched", "rounds", "calls", "tokens", "cost",
    "standard_calls", "standard_tokens", "standard_cost", "standard_rate",
)  # fmt: skip

_ADD = sql(f"""
    INSERT INTO turn_days (tenant, day, mode, outcome, {", ".join(_SUMS)})
    VALUES (:tenant, :day, :mode, :outcome, {", ".join(f":{name}" for name in _SUMS)})
    ON CONFLICT (tenant, day, mode, outcome) DO UPDATE SET
        {", ".join(f"{name} = turn_days.{name} + excluded.{name}" for name in _SUMS)}
""")  # noqa: S608

_ADD_NUMBER = """
    ON CONFLICT (tenant, day, reason_code) DO UPDATE SET number = reason_days.number + excluded.number
"""


_ADD_ESCALATION = sql("""
    INSERT INTO escalation_days (tenant, day, number) VALUES (:tenant, :day, :number)
    ON CONFLICT (tenant, day) DO UPDATE SET number = escalation_days.number + excluded.number
""")


def count_escalation(connection: sa.Connection, tenant: TenantId, at: datetime, times: int = 1) -> None:
    """One more that people have to see to. Whoever writes one calls this, so that all figures are of the same."""
    run(connection, _ADD_ESCALATION, {"tenant": tenant, "day": f"{at.astimezone(UTC):%Y-%m-%d}", "number": times})


_ADD_TO_USAGE = sql("""
    INSERT INTO usage (tenant, period, mode, model, messages, critiques, context_fetches, escalations, model_calls,
                       input_tokens, output_tokens, cost, billed)
    SELECT tenant, :period, mode, '', 0, 0, 0, :number, 0, 0, 0, 0, 0 FROM conversations
    WHERE tenant = :tenant AND id = :conversation
    ON CONFLICT (tenant, period, mode, model) DO UPDATE SET escalations = usage.escalations + excluded.escalations
""")


def count_escalation_beside_turns(
    connection: sa.Connection, tenant: TenantId, conversation: ConversationId, at: datetime, times: int = 1
) -> None:
    """One that no turn wrote, in the month's usage: those of turns are counted there with the rest of their turn."""
    where: SqlValues = {"tenant": tenant, "conversation": conversation, "period": f"{at.astimezone(UTC):%Y-%m}"}
    run(connection, _ADD_TO_USAGE, {**where, "number": times})


def sum_escalations(connection: sa.Connection, seen: Collection[str] | None, first: str, last: str = "9") -> int:
    """Of these tenants, or of all, from the first day (YYYY-MM-DD) to the last: what every page shows."""
    days = escalation_days.c
    whose = sa.true() if seen is None else days.tenant.in_(sorted(seen))
    found = sa.select(sa.func.sum(days.number)).where(whose, days.day >= first, days.day <= last)
    return int(connection.execute(found).scalar() or 0)


def count_turn(
    connection: sa.Connection,
    tenant: TenantId,
    began: datetime,
    outcome: TurnOutcome,
    usage: Usage,
    reasons: Collection[ReasonCode],
    times: int = 1,
) -> None:
    """With `times=-1` it is as if the turn had not been."""
    day: SqlValues = {"tenant": tenant, "day": f"{began.astimezone(UTC):%Y-%m-%d}"}
    sums = {name: times * value for name, value in _sum_up(usage).items()}
    run(connection, _ADD, {**day, "mode": usage.mode, "outcome": outcome, **sums})
    # In one order, so that no two turns wait for each other.
    rows: list[SqlValues] = [{"reason_code": code, "number": times} for code in sorted(map(str, set(reasons)))]
    insert(connection, reason_days, *rows, common=day, otherwise=_ADD_NUMBER)


def _sum_up(usage: Usage) -> dict[str, float]:
    tokens = sum(call.input_tokens + call.output_tokens for call in usage.calls)
    cost, calls = sum(call.cost_usd for call in usage.calls), len(usage.calls)
    added = usage.critiques + usage.context_rounds if usage.mode == "adaptive" else 0
    kept = max(0, calls - added)
    share = kept / calls if calls else 1.0
    # Only calls of adaptive mode would have carried more.
    fuller = kept if usage.mode == "adaptive" else 0
    values = (1, int(usage.critiques > 0), int(usage.context_rounds > 0), usage.context_rounds, calls, tokens, cost)
    standard = (fuller, tokens * share, cost * share, cost * fuller / tokens if tokens else 0.0)
    return dict(zip(_SUMS, (*values, *standard), strict=True))
