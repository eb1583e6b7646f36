"""Experiments and what came of their turns. Plain functions on a connection; each call of one is one transaction.

The store keeps arms, shares and plan as documents: `lab.trials.experiments` knows what is in them. What a turn came to
is added up by conversation (or case) before anything is compared, because the turns of one conversation are not
independent of each other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from circumspect.errors import StoreError, UnknownTenant
from circumspect.stores.codec import check_identifiers, clean, dumps
from circumspect.stores.experiment_tables import experiments, exposures
from circumspect.stores.people import ListCursor, VisibleTenants, belongs_to, newest_first
from circumspect.stores.statements import SqlValues, run, sql
from circumspect.stores.tables import conversations, tenants
from circumspect.values import Json, TenantId


class ExperimentState(StoreError):
    """It is not in a state for this, or another one stands in its way."""

    code = "experiment_state"


@dataclass(frozen=True, slots=True)
class ExperimentRow:
    tenant: TenantId
    id: str
    name: str
    kind: str
    unit: str
    state: str
    live: bool
    arms: Json
    shares: Json
    plan: Json
    winner: str | None
    note: str
    dropped: int
    created_by: str
    created_at: float
    started_at: float | None
    ended_at: float | None


@dataclass(frozen=True, slots=True)
class ExposureRow:
    """What one turn (or reviewed case) under an experiment came to."""

    tenant: TenantId
    experiment: str
    turn: str
    arm: str
    period: int
    outcome: str
    at: float
    conversation: str | None = None
    case_id: str | None = None
    fell_back: bool = False
    denied: bool = False
    corrected: bool = False
    cost_usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    calls: int = 0
    prompts: tuple[str, ...] = ()
    consistency: float | None = None
    """How far the answer keeps to its plan, by words; None where nothing was planned."""
    similarity: float | None = None
    """The same by meaning; None also where nothing can tell."""


@dataclass(frozen=True, slots=True)
class ArmSums:
    """The units of one arm in one period. By metric: how many have a value, its sum, the sum of its squares."""

    arm: str
    period: int
    units: int
    turns: int
    totals: dict[str, tuple[int, float, float]]


# --- experiments ----------------------------------------------------------------------------------------------------


def put(connection: sa.Connection, row: ExperimentRow) -> None:
    """A new one. Raises `ExperimentState` when there is one of that id."""
    check_identifiers(row.tenant, row.id)
    if connection.execute(sa.select(tenants.c.id).where(tenants.c.id == row.tenant)).first() is None:
        raise UnknownTenant(f"There is no tenant '{row.tenant}'.", fix="Create it: circumspect apply tenant.yaml.")
    if get(connection, frozenset({row.tenant}), row.id) is not None:
        raise ExperimentState(f"There is an experiment '{row.id}' already.", fix="Choose another id.")
    connection.execute(sa.insert(experiments).values(**_values(row)))


def change(connection: sa.Connection, row: ExperimentRow) -> None:
    """The row as it is now. Raises `ExperimentState` when another one of its kind is live."""
    if row.live:
        query = sa.select(experiments.c.id).where(
            experiments.c.tenant == row.tenant,
            experiments.c.kind == row.kind,
            experiments.c.unit == row.unit,
            experiments.c.id != row.id,
            experiments.c.live,
        )
        if other := connection.execute(query).scalar():
            raise ExperimentState(
                f"'{other}' is live already.", fix=f"Stop it first: circumspect experiments stop {other}."
            )
    values = _values(row)
    del values["dropped"]
    connection.execute(
        sa.update(experiments).where(experiments.c.tenant == row.tenant, experiments.c.id == row.id).values(**values)
    )


def get(connection: sa.Connection, seen: VisibleTenants, id_: str, *, lock: bool = False) -> ExperimentRow | None:
    """With `lock`, nobody else changes it before this transaction ends."""
    query = sa.select(experiments).where(experiments.c.id == id_, belongs_to(experiments, seen))
    row = connection.execute(query.with_for_update() if lock else query).first()
    return None if row is None else ExperimentRow(*row)


def list_experiments(
    connection: sa.Connection, seen: VisibleTenants, after: ListCursor | None, limit: int, kind: str | None = None
) -> Sequence[ExperimentRow]:
    """The newest first."""
    query = sa.select(experiments)
    if kind is not None:
        query = query.where(experiments.c.kind == kind)
    newest = newest_first(query, experiments, "created_at", seen, after, limit)
    return [ExperimentRow(*row) for row in connection.execute(newest)]


def live(connection: sa.Connection) -> Sequence[ExperimentRow]:
    """Those of all tenants that turns have to know of."""
    return [ExperimentRow(*row) for row in connection.execute(sa.select(experiments).where(sa.text("live")))]


def drop(connection: sa.Connection, tenant: TenantId, id_: str, number: int) -> None:
    """So many turns had no shadow because there were too many of them."""
    connection.execute(
        sa.update(experiments)
        .where(experiments.c.tenant == tenant, experiments.c.id == id_)
        .values(dropped=experiments.c.dropped + number)
    )


def get_conversation_start(connection: sa.Connection, tenant: TenantId, conversation: str) -> float | None:
    """When the conversation began; None when it has not."""
    query = sa.select(conversations.c.created_at).where(
        conversations.c.tenant == tenant, conversations.c.id == conversation
    )
    return connection.execute(query).scalar()


def _values(row: ExperimentRow) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in ExperimentRow.__dataclass_fields__}
    return values | {"name": clean(row.name), "note": clean(row.note)}


# --- exposures ------------------------------------------------------------------------------------------------------

_AT_ONCE = 200
_EXPOSE = sql("""
    INSERT INTO exposures (tenant, experiment, turn, conversation, case_id, arm, period, fell_back, outcome, denied,
                           corrected, cost_usd, tokens, seconds, calls, prompts, consistency, similarity, at)
    VALUES (:tenant, :experiment, :turn, :conversation, :case_id, :arm, :period, :fell_back, :outcome, :denied,
            :corrected, :cost_usd, :tokens, :seconds, :calls, :prompts, :consistency, :similarity, :at)
    ON CONFLICT (tenant, experiment, turn) DO NOTHING
""")


def expose(connection: sa.Connection, rows: Sequence[ExposureRow]) -> int:
    """Write down what turns came to. One whose conversation is gone by now is left out. How many were written."""
    written = 0
    there = _there(connection, rows)
    for row in rows:
        if row.conversation is not None and (row.tenant, row.conversation) not in there:
            continue
        values: dict[str, Any] = {name: getattr(row, name) for name in ExposureRow.__dataclass_fields__}
        given: SqlValues = values | {"prompts": dumps(list(row.prompts)) if row.prompts else None}
        written += run(connection, _EXPOSE, given).rowcount
    return written


def _there(connection: sa.Connection, rows: Sequence[ExposureRow]) -> set[tuple[str, str]]:
    wanted = sorted({(row.tenant, row.conversation) for row in rows if row.conversation is not None})
    found: set[tuple[str, str]] = set()
    for first in range(0, len(wanted), _AT_ONCE):
        key = sa.tuple_(conversations.c.tenant, conversations.c.id)
        query = sa.select(conversations.c.tenant, conversations.c.id).where(key.in_(wanted[first : first + _AT_ONCE]))
        found |= {(row.tenant, row.id) for row in connection.execute(query)}
    return found


def sums(
    connection: sa.Connection,
    tenant: TenantId,
    id_: str,
    *,
    quiet_since: float | None = None,
    only: Collection[str] | None = None,
) -> Sequence[ArmSums]:
    """By arm and period, over conversations or cases. With `quiet_since`, only those that said nothing since then; with
    `only`, no other metrics than these, which is quicker."""
    row = exposures.c

    def ever(condition: Any) -> Any:
        return sa.func.max(sa.case((condition, 1.0), else_=0.0))

    wrong = sa.or_(row.denied, row.corrected)
    measures = {
        **{name: ever(row.outcome == name) for name in ("answered", "asked", "acted", "escalated", "blocked")},
        "failed": ever(sa.or_(row.outcome == "failed", row.fell_back)),
        "denied": ever(row.denied),
        "corrected": ever(row.corrected),
        "wrong": ever(wrong),
        "cost": sa.func.sum(row.cost_usd),
        "tokens": sa.func.sum(row.tokens * 1.0),
        "seconds": sa.func.avg(row.seconds),
        "calls": sa.func.sum(row.calls * 1.0),
        "turns": sa.func.count() * 1.0,
        "consistency": sa.func.avg(row.consistency),
        "similarity": sa.func.avg(row.similarity),
    }
    measures = {name: value for name, value in measures.items() if only is None or name in only or name == "turns"}
    unit = sa.func.coalesce(row.conversation, row.case_id)
    units = (
        sa.select(row.arm, row.period, unit, *(value.label(name) for name, value in measures.items()))
        .where(row.tenant == tenant, row.experiment == id_)
        .group_by(row.arm, row.period, unit)
    )
    if quiet_since is not None:
        units = units.having(sa.func.max(row.at) <= quiet_since)
    each = units.subquery()
    added: list[Any] = []
    for name in measures:
        value = sa.cast(each.c[name], sa.Double)
        added += [sa.func.count(value), sa.func.sum(value), sa.func.sum(value * value)]
    query = sa.select(each.c.arm, each.c.period, sa.func.count(), *added).group_by(each.c.arm, each.c.period)
    found = []
    for arm, period, count, *values in connection.execute(query.order_by(each.c.arm, each.c.period)):
        totals = {
            name: (number, float(total or 0), float(squares or 0))
            for name, number, total, squares in zip(measures, values[::3], values[1::3], values[2::3], strict=True)
        }
        found.append(ArmSums(arm, period, count, int(totals["turns"][1]), totals))
    return found
