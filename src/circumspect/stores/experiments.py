"""Experiments and what came of their turns. Plain functions on a connection; each call of one is one transaction.

The store keeps arms, shares and plan as documents: `lab.trials.experiments` knows what is in them. What turns came to
is added up by `arm_sums`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from circumspect.errors import StoreError, UnknownTenant
from circumspect.stores.codec import check_identifiers, clean, dumps
from circumspect.stores.experiment_tables import experiments
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
    citations: float | None = None
    """Of the quotes that a review claimed, the share that stands in the documents; None where nothing was quoted."""


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
                f"'{other}' is live already.",
                fix=f"Stop it first: circumspect experiments stop {other}. With a share of 0 % it is live, too.",
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
                           corrected, cost_usd, tokens, seconds, calls, prompts, consistency, similarity,
                           citations, at)
    VALUES (:tenant, :experiment, :turn, :conversation, :case_id, :arm, :period, :fell_back, :outcome, :denied,
            :corrected, :cost_usd, :tokens, :seconds, :calls, :prompts, :consistency, :similarity,
            :citations, :at)
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
