"""Shadows: what a second configuration would have done with turns. Plain functions on a connection.

They quote the conversation or the case, so they go when it goes, and one that comes late for what is gone is not
written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from circumspect.stores.codec import clean, dumps
from circumspect.stores.experiment_tables import shadows
from circumspect.stores.experiments import get_conversation_start
from circumspect.stores.people import ListCursor, VisibleTenants, belongs_to, newest_first
from circumspect.stores.review_tables import evaluations
from circumspect.stores.statements import run, sql
from circumspect.values import Json, TenantId


@dataclass(frozen=True, slots=True)
class ShadowRow:
    tenant: TenantId
    experiment: str
    turn: str
    conversation: str | None
    same: bool
    differences: Json
    live: Json
    shadow: Json
    error: str
    cost_usd: float
    tokens: int
    seconds: float
    at: float
    case_id: str | None = None


@dataclass(frozen=True, slots=True)
class ShadowSummary:
    """All shadows of one experiment."""

    turns: int
    same: int
    failed: int
    cost_usd: float
    tokens: int
    seconds: float
    differences: dict[str, int]
    """How many turns differ in this, among the newest."""
    outcomes: dict[str, int]
    """`live -> shadow`, how many turns, among the newest."""


_WRITE = sql("""
    INSERT INTO shadows (tenant, experiment, turn, conversation, same, differences, live, shadow, error, cost_usd,
                         tokens, seconds, at, case_id)
    VALUES (:tenant, :experiment, :turn, :conversation, :same, :differences, :live, :shadow, :error, :cost_usd,
            :tokens, :seconds, :at, :case_id)
    ON CONFLICT (tenant, experiment, turn) DO NOTHING
""")
NEWEST = 5000


def put(connection: sa.Connection, row: ShadowRow) -> bool:
    """False when it was not written: the conversation or the case is gone, or it is there already."""
    if not _is_there(connection, row):
        return False
    values = {name: getattr(row, name) for name in ShadowRow.__dataclass_fields__}
    documents = {name: dumps(values[name]) for name in ("differences", "live", "shadow")}
    return bool(run(connection, _WRITE, {**values, **documents, "error": clean(row.error)}).rowcount)


def _is_there(connection: sa.Connection, row: ShadowRow) -> bool:
    if row.conversation is not None:
        return get_conversation_start(connection, row.tenant, row.conversation) is not None
    # Whoever deletes the case at this moment waits for this row, and then finds the shadow; or it is the other way.
    own = sa.select(evaluations.c.id).where(evaluations.c.tenant == row.tenant, evaluations.c.id == row.turn)
    return connection.execute(own.with_for_update()).first() is not None


def get(connection: sa.Connection, seen: VisibleTenants, experiment: str, turn: str) -> ShadowRow | None:
    query = sa.select(shadows).where(
        shadows.c.experiment == experiment, shadows.c.turn == turn, belongs_to(shadows, seen)
    )
    row = connection.execute(query).first()
    return None if row is None else ShadowRow(*row)


def list_shadows(
    connection: sa.Connection,
    seen: VisibleTenants,
    after: ListCursor | None,
    limit: int,
    *,
    experiment: str | None = None,
    different: bool = False,
) -> Sequence[ShadowRow]:
    """The newest first; with `different`, only those that would have done something else."""
    query = sa.select(shadows)
    if experiment is not None:
        query = query.where(shadows.c.experiment == experiment)
    if different:
        query = query.where(sa.not_(shadows.c.same))
    newest = newest_first(query, shadows, "at", seen, after, limit, key="turn")
    return [ShadowRow(*row) for row in connection.execute(newest)]


def sum_cost(connection: sa.Connection, tenant: TenantId, experiment: str) -> tuple[float, int]:
    """Dollars and tokens, all of its turns."""
    cost, tokens = connection.execute(
        sa.select(
            sa.func.coalesce(sa.func.sum(shadows.c.cost_usd), 0.0), sa.func.coalesce(sa.func.sum(shadows.c.tokens), 0)
        ).where(shadows.c.tenant == tenant, shadows.c.experiment == experiment)
    ).one()
    return float(cost), int(tokens)


def summary(connection: sa.Connection, tenant: TenantId, experiment: str, newest: int = NEWEST) -> ShadowSummary:
    """`newest`: of how many turns it is said in what they differ."""
    mine = (shadows.c.tenant == tenant, shadows.c.experiment == experiment)
    count = sa.func.count()
    turns, same, failed, seconds = connection.execute(
        sa.select(
            count,
            sa.func.coalesce(sa.func.sum(sa.case((shadows.c.same, 1), else_=0)), 0),
            sa.func.coalesce(sa.func.sum(sa.case((shadows.c.error != "", 1), else_=0)), 0),
            sa.func.coalesce(sa.func.avg(shadows.c.seconds), 0.0),
        ).where(*mine)
    ).one()
    differences: dict[str, int] = {}
    outcomes: dict[str, int] = {}
    query = sa.select(shadows.c.differences, shadows.c.live, shadows.c.shadow).where(*mine)
    for row in connection.execute(query.order_by(shadows.c.at.desc()).limit(newest)):
        for name in row.differences:
            differences[name] = differences.get(name, 0) + 1
        change = f"{row.live.get('outcome')} -> {row.shadow.get('outcome')}"
        outcomes[change] = outcomes.get(change, 0) + 1
    cost, tokens = sum_cost(connection, tenant, experiment)
    return ShadowSummary(turns, int(same), int(failed), cost, tokens, float(seconds), differences, outcomes)
