"""The log of what people did: one row an action, written in the transaction that acts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from circumspect.stores.codec import clean, epoch, read_row
from circumspect.stores.people import ListCursor, newest_first
from circumspect.stores.tables import operator_log
from circumspect.values import JsonObject, TenantId

ABOUT_PERSONS = ("export_person", "delete_person")
"""Actions whose subject is an end user."""


@dataclass(frozen=True, slots=True)
class LogRow:
    id: str
    at: float
    operator: str
    action: str
    tenant: TenantId | None
    subject: str
    detail: JsonObject


def log_action(
    connection: sa.Connection,
    *,
    id: str,  # noqa: A002
    at: datetime | float,
    operator: str,
    action: str,
    tenant: str | None = None,
    subject: str = "",
    detail: JsonObject | None = None,
) -> None:
    """Call it in the transaction that acts: what happened is logged, and what is logged happened."""
    connection.execute(
        sa.insert(operator_log).values(
            id=id,
            at=epoch(at) if isinstance(at, datetime) else at,
            operator=clean(operator),
            action=action,
            tenant=tenant,
            subject=clean(subject),
            detail=detail or None,
        )
    )


def rename_subject(connection: sa.Connection, tenant: TenantId, person: str, pseudonym: str) -> None:
    """Whoever is deleted is not named here either; that it was one and the same can still be seen."""
    about = operator_log.c.action.in_(ABOUT_PERSONS)
    own = sa.and_(operator_log.c.tenant == tenant, operator_log.c.subject == clean(person))
    connection.execute(sa.update(operator_log).where(own, about).values(subject=pseudonym))


def is_logged(connection: sa.Connection, id_: str) -> bool:
    return connection.execute(sa.select(operator_log.c.id).where(operator_log.c.id == id_)).first() is not None


def list_actions(
    connection: sa.Connection,
    *,
    allowed: Collection[TenantId] | None = None,
    subject: str | None = None,
    before: tuple[float, str] | None = None,
    limit: int = 100,
) -> Sequence[LogRow]:
    """The newest first, of these tenants or of all, with `subject` only what was done with that; `before` is the time
    and id of the last one seen."""
    query = sa.select(operator_log)
    if subject is not None:
        query = query.where(operator_log.c.subject == subject)
    after = None if before is None else ListCursor(*before)
    rows = connection.execute(newest_first(query, operator_log, "at", allowed, after, limit))
    return [read_row(LogRow, row, detail=row.detail or {}) for row in rows]
