"""Reviews in the database. Plain functions on a connection; each call of one is one transaction.

What a worker writes carries its lease's token: an evaluation that was deleted, or taken over after the worker was
given up for dead, takes no more results. Case data is in `request` and `result` only, and goes with the case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import sqlalchemy as sa

from circumspect.stores import corrections, database_time, evaluation_usage
from circumspect.stores.codec import clean
from circumspect.stores.experiment_tables import exposures, shadows
from circumspect.stores.people import ListCursor, VisibleTenants, belongs_to, newest_first
from circumspect.stores.review_tables import TABLES, evaluations, results, summaries
from circumspect.stores.tables import metadata
from circumspect.values import Json, JsonObject

EvaluationState = Literal["queued", "running", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Evaluation:
    tenant: str
    id: str
    case_id: str
    state: EvaluationState
    controller: str
    total: int
    request: JsonObject
    error: str | None
    lease_until: float | None
    created_at: float
    finished_at: float | None
    done: int = 0


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A result on its way into the database; `result` is the whole of it."""

    case_id: str
    case_hash: str
    criterion: str
    position: int
    status: str
    confidence: float
    reason_code: str | None
    controller: str
    prompt_id: str
    input_tokens: int
    output_tokens: int
    cost_usd: float
    result: Mapping[str, Any]


_SHOWN = (
    evaluations.c.tenant, evaluations.c.id, evaluations.c.case_id, evaluations.c.state, evaluations.c.controller,
    evaluations.c.total, evaluations.c.request, evaluations.c.error, evaluations.c.lease_until,
    evaluations.c.created_at, evaluations.c.finished_at,
)  # fmt: skip
_DONE = (
    sa.select(sa.func.count())
    .select_from(results)
    .where(results.c.tenant == evaluations.c.tenant, results.c.evaluation == evaluations.c.id)
    .scalar_subquery()
)


_AT_ONCE = 500
"""Rows in one statement: databases have a limit for values."""


def create_tables(connection: sa.Connection) -> None:
    """For a file that holds reviews and nothing else. The server's database gets them by migration."""
    metadata.create_all(connection, tables=list(TABLES))


# --- evaluations ----------------------------------------------------------------------------------------------------


def create(
    connection: sa.Connection,
    *,
    tenant: str,
    id: str,  # noqa: A002
    case_id: str,
    controller: str,
    total: int,
    request: JsonObject,
    at: float,
    client_key: str | None = None,
) -> Evaluation:
    """A new one, queued; or the one that the same client key made before."""
    if client_key is not None:
        query = sa.select(*_SHOWN, _DONE).where(evaluations.c.tenant == tenant, evaluations.c.client_key == client_key)
        if row := connection.execute(query).first():
            return Evaluation(*row)
    connection.execute(
        sa.insert(evaluations).values(
            tenant=tenant, id=id, case_id=clean(case_id), client_key=client_key, state="queued", controller=controller,
            total=total, request=request, created_at=at,
        )
    )  # fmt: skip
    return Evaluation(tenant, id, case_id, "queued", controller, total, request, None, None, at, None)


def get(connection: sa.Connection, tenants: VisibleTenants, id_: str) -> Evaluation | None:
    row = connection.execute(
        sa.select(*_SHOWN, _DONE).where(evaluations.c.id == id_, belongs_to(evaluations, tenants))
    ).first()
    return Evaluation(*row) if row else None


def list_evaluations(
    connection: sa.Connection, tenants: VisibleTenants, after: ListCursor | None, limit: int, case: str | None = None
) -> Sequence[Evaluation]:
    """The newest first, without what was sent: that is read one by one."""
    shown = (sa.null().label("request") if one.name == "request" else one for one in _SHOWN)
    query = sa.select(*shown, _DONE.label("done"))
    if case is not None:
        query = query.where(evaluations.c.case_id == case)
    rows = connection.execute(newest_first(query, evaluations, "created_at", tenants, after, limit))
    return [replace(Evaluation(*row), request={}) for row in rows]


def claim(connection: sa.Connection, tenant: str, id_: str, token: str, lease_seconds: float) -> bool:
    """Take it for this worker, if nobody has it: it is queued, or whoever had it has not been heard of."""
    now = database_time.read(connection)
    free = sa.or_(
        evaluations.c.state == "queued", sa.and_(evaluations.c.state == "running", evaluations.c.lease_until <= now)
    )
    taken = connection.execute(
        sa.update(evaluations)
        .where(evaluations.c.tenant == tenant, evaluations.c.id == id_, free)
        .values(state="running", lease_token=token, lease_until=now + lease_seconds)
        .returning(evaluations.c.id)
    )
    return taken.first() is not None


def write_result(
    connection: sa.Connection, tenant: str, id_: str, token: str, row: ResultRow, now: float, lease_seconds: float
) -> bool:
    """Keep a result and the claim. False, with nothing written, when the claim is gone."""
    until = database_time.read(connection) + lease_seconds
    if not _update_if_held(connection, tenant, id_, token, lease_until=until):
        return False
    insert_results(connection, tenant, id_, [row], now, evaluation_usage.get_multiplier(connection, tenant))
    return True


def finish(
    connection: sa.Connection,
    tenant: str,
    id_: str,
    token: str,
    state: EvaluationState,
    now: float,
    error: str | None = None,
) -> bool:
    return _update_if_held(connection, tenant, id_, token, state=state, error=error, finished_at=now, lease_token=None)


def release(connection: sa.Connection, tenant: str, id_: str, token: str) -> bool:
    """Give it back unfinished: the next worker goes on from the results that are there."""
    return _update_if_held(connection, tenant, id_, token, state="queued", lease_token=None, lease_until=None)


def _update_if_held(connection: sa.Connection, tenant: str, id_: str, token: str, **values: Any) -> bool:
    mine = connection.execute(
        sa.update(evaluations)
        .where(evaluations.c.tenant == tenant, evaluations.c.id == id_, evaluations.c.lease_token == token)
        .values(**values)
        .returning(evaluations.c.id)
    )
    return mine.first() is not None


def list_unfinished(connection: sa.Connection, limit: int = 20) -> Sequence[tuple[str, str]]:
    """Evaluations that nobody works on, oldest first: tenant and id."""
    now = database_time.read(connection)
    query = (
        sa.select(evaluations.c.tenant, evaluations.c.id)
        .where(
            sa.or_(
                evaluations.c.state == "queued",
                sa.and_(evaluations.c.state == "running", evaluations.c.lease_until <= now),
            )
        )
        .order_by(evaluations.c.created_at)
        .limit(limit)
    )
    return [(row.tenant, row.id) for row in connection.execute(query)]


def forget_case(connection: sa.Connection, tenant: str, case_id: str) -> int:
    """Everything that is known of a case: what was sent, found and thought, and what people said about it. How many
    evaluations it was in."""
    own = sa.select(evaluations.c.id).where(evaluations.c.tenant == tenant, evaluations.c.case_id == case_id)
    corrections.forget(connection, tenant, connection.execute(own.with_for_update()).scalars().all())
    touched = connection.execute(
        sa.select(sa.func.count(sa.distinct(results.c.evaluation))).where(
            results.c.tenant == tenant, results.c.case_id == case_id
        )
    ).scalar_one()
    connection.execute(sa.delete(results).where(results.c.tenant == tenant, results.c.case_id == case_id))
    connection.execute(sa.delete(exposures).where(exposures.c.tenant == tenant, exposures.c.case_id == case_id))
    connection.execute(sa.delete(shadows).where(shadows.c.tenant == tenant, shadows.c.case_id == case_id))
    gone = connection.execute(
        sa.delete(evaluations).where(evaluations.c.tenant == tenant, evaluations.c.case_id == case_id)
    )
    return max(int(touched), gone.rowcount)


# --- results --------------------------------------------------------------------------------------------------------


def insert_results(
    connection: sa.Connection, tenant: str, id_: str, rows: Sequence[ResultRow], at: float, multiplier: float = 1.0
) -> None:
    """Written, and counted as usage. A file that holds only reviews has no plans, and bills what was spent."""
    values = [
        {
            "tenant": tenant, "evaluation": id_, "case_id": row.case_id, "criterion": row.criterion,
            "case_hash": row.case_hash, "position": row.position, "status": row.status, "confidence": row.confidence,
            "reason_code": row.reason_code, "controller": row.controller, "prompt_id": row.prompt_id,
            "input_tokens": row.input_tokens, "output_tokens": row.output_tokens, "cost_usd": row.cost_usd,
            "result": row.result, "made_at": at,
        }
        for row in rows
    ]  # fmt: skip
    for first in range(0, len(values), _AT_ONCE):
        connection.execute(sa.insert(results).values(values[first : first + _AT_ONCE]))
    for row in rows:
        evaluation_usage.count_verdict(connection, tenant, row.result, at, multiplier)


def results_of(
    connection: sa.Connection, tenant: str, id_: str, *, after: int = -1, limit: int = 1000
) -> Sequence[tuple[int, JsonObject]]:
    """Position and whole result, in the order of the criteria."""
    query = (
        sa.select(results.c.position, results.c.result)
        .where(results.c.tenant == tenant, results.c.evaluation == id_, results.c.position > after)
        .order_by(results.c.position)
        .limit(limit)
    )
    return [(row.position, row.result) for row in connection.execute(query)]


def get_decided_criteria(connection: sa.Connection, tenant: str, id_: str) -> frozenset[str]:
    """The criteria of a single case that have a result."""
    query = sa.select(results.c.criterion).where(results.c.tenant == tenant, results.c.evaluation == id_)
    return frozenset(connection.execute(query).scalars())


# --- batches --------------------------------------------------------------------------------------------------------


def begin_batch(
    connection: sa.Connection, tenant: str, id_: str, controller: str, total: int, request: JsonObject, at: float
) -> Mapping[tuple[str, str], int]:
    """The batch's row, made if it is new; and how many results there are, by case and the hash of what it was."""
    known = connection.execute(
        sa.select(evaluations.c.id).where(evaluations.c.tenant == tenant, evaluations.c.id == id_)
    ).first()
    if known is None:
        create(
            connection, tenant=tenant, id=id_, case_id="", controller=controller, total=total, request=request, at=at
        )
    connection.execute(
        sa.update(evaluations)
        .where(evaluations.c.tenant == tenant, evaluations.c.id == id_)
        .values(state="running", total=total, finished_at=None)
    )
    mine = (results.c.tenant == tenant, results.c.evaluation == id_)
    done = sa.select(results.c.case_id, results.c.case_hash, sa.func.count()).where(*mine).group_by(
        results.c.case_id, results.c.case_hash
    )  # fmt: skip
    return {(row[0], row[1]): int(row[2]) for row in connection.execute(done)}


def criteria_done(connection: sa.Connection, tenant: str, id_: str, case_id: str, case_hash: str) -> frozenset[str]:
    query = sa.select(results.c.criterion).where(
        results.c.tenant == tenant,
        results.c.evaluation == id_,
        results.c.case_id == case_id,
        results.c.case_hash == case_hash,
    )
    return frozenset(connection.execute(query).scalars())


def commit_results(connection: sa.Connection, tenant: str, id_: str, made: Sequence[ResultRow], at: float) -> int:
    """Results of a batch. One of the same text that another process wrote meanwhile stays; one of an older text of the
    case is replaced. How many were written."""
    mine = (results.c.tenant == tenant, results.c.evaluation == id_)
    cases = sorted({row.case_id for row in made})
    query = sa.select(results.c.case_id, results.c.criterion, results.c.case_hash).where(
        *mine, results.c.case_id.in_(cases)
    )
    there = {(row[0], row[1]): row[2] for row in connection.execute(query)}
    new = [row for row in made if there.get((row.case_id, row.criterion)) != row.case_hash]
    for row in new:
        if (row.case_id, row.criterion) in there:
            connection.execute(
                sa.delete(results).where(*mine, results.c.case_id == row.case_id, results.c.criterion == row.criterion)
            )
    insert_results(connection, tenant, id_, new, at)
    return len(new)


def end_batch(connection: sa.Connection, tenant: str, id_: str, *, complete: bool, at: float) -> None:
    connection.execute(
        sa.update(evaluations)
        .where(evaluations.c.tenant == tenant, evaluations.c.id == id_)
        .values(state="done" if complete else "queued", finished_at=at if complete else None)
    )


def count_results(connection: sa.Connection, tenant: str, id_: str) -> tuple[Mapping[str, int], int, float]:
    """Results by status, and the tokens and money that all of them cost."""
    mine = (results.c.tenant == tenant, results.c.evaluation == id_)
    rows = connection.execute(sa.select(results.c.status, sa.func.count()).where(*mine).group_by(results.c.status))
    statuses = {row[0]: int(row[1]) for row in rows}
    tokens, cost = connection.execute(
        sa.select(
            sa.func.coalesce(sa.func.sum(results.c.input_tokens + results.c.output_tokens), 0),
            sa.func.coalesce(sa.func.sum(results.c.cost_usd), 0.0),
        ).where(*mine)
    ).one()
    return statuses, int(tokens), float(cost)


# --- outlines -------------------------------------------------------------------------------------------------------


def get_summaries(connection: sa.Connection, tenant: str, key: str) -> Mapping[str, str] | None:
    query = sa.select(summaries.c.summaries).where(summaries.c.tenant == tenant, summaries.c.key == key)
    found: Json = connection.execute(query).scalar()
    return {name: str(text) for name, text in found.items()} if isinstance(found, Mapping) else None


def put_summaries(connection: sa.Connection, tenant: str, key: str, made: Mapping[str, str]) -> None:
    connection.execute(sa.delete(summaries).where(summaries.c.tenant == tenant, summaries.c.key == key))
    connection.execute(sa.insert(summaries).values(tenant=tenant, key=key, summaries=dict(made)))
