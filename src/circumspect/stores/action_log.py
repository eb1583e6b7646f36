"""The log of what people did: one row an action, written in the transaction that acts, each sealed to the one before.

Rows are numbered without a gap, so writers wait for each other from here to the end of their transaction: **write the
log last**, or two of them may wait for each other for ever. Where an action came from is the business of whoever takes
the request or the command: they set `acting_from`, and it is read here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa

from circumspect.stores.codec import clean, dumps, epoch, loads_object, read_row
from circumspect.stores.log_chain import seal
from circumspect.stores.log_tables import log_persons, operator_log
from circumspect.stores.people import ListCursor, newest_first
from circumspect.values import JsonObject, TenantId

ActionResult = Literal["done", "refused"]
ABOUT_PERSONS = ("export_person", "delete_person")
"""Actions whose subject is an end user."""
_LOCK = 0x6F706C67  # any number, as long as everyone who writes the log uses the same

acting_from: ContextVar[str] = ContextVar("circumspect_acting_from", default="")
"""The address of a request, or who sits at which machine; empty for what a server does by itself."""


@dataclass(frozen=True, slots=True)
class LogRow:
    id: str
    seq: int
    at: float
    operator: str
    action: str
    tenant: TenantId | None
    subject: str
    detail: JsonObject
    origin: str
    result: ActionResult
    hash: str


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
    result: ActionResult = "done",
) -> None:
    """Call it in the transaction that acts, as its last step: what happened is logged, and what is logged happened."""
    wait_for_turn(connection)
    seq, previous = read_head(connection)
    row: dict[str, Any] = {
        "id": id,
        "seq": seq + 1,
        "at": epoch(at) if isinstance(at, datetime) else float(at),
        "operator": clean(operator),
        "action": action,
        "tenant": tenant,
        "subject": clean(subject),
        "detail": loads_object(dumps(detail)) if detail else None,
        "origin": clean(acting_from.get()),
        "result": result,
    }
    connection.execute(sa.insert(operator_log).values(**row, hash=seal(previous, row)))


def wait_for_turn(connection: sa.Connection) -> None:
    """Nobody else writes the log until the transaction ends. SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))


def read_head(connection: sa.Connection) -> tuple[int, str]:
    """The number and the hash of the newest row; 0 and nothing where there is none."""
    newest = sa.select(operator_log.c.seq, operator_log.c.hash).order_by(operator_log.c.seq.desc()).limit(1)
    found: Any = connection.execute(newest).one_or_none()
    return (0, "") if found is None else (found.seq, found.hash)


def is_logged(connection: sa.Connection, id_: str) -> bool:
    return connection.execute(sa.select(operator_log.c.id).where(operator_log.c.id == id_)).first() is not None


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Which rows are wanted; what is None does not matter."""

    operator: str | None = None
    action: str | None = None
    subject: str | None = None
    result: ActionResult | None = None
    since: float | None = None
    until: float | None = None
    """Rows of this very moment are not among them."""


EVERYTHING = LogFilter()


def list_actions(
    connection: sa.Connection,
    *,
    allowed: Collection[TenantId] | None = None,
    subject: str | None = None,
    wanted: LogFilter = EVERYTHING,
    before: tuple[float, str] | None = None,
    limit: int = 100,
) -> Sequence[LogRow]:
    """The newest first, of these tenants or of all, with `subject` only what was done with that; `before` is the time
    and id of the last one seen. End users are named, as long as they are known."""
    log, query = operator_log.c, sa.select(operator_log)
    if subject is not None:
        wanted = replace(wanted, subject=subject)
    for name in ("operator", "action", "subject", "result"):
        if (value := getattr(wanted, name)) is not None:
            query = query.where(log[name] == value)
    if wanted.since is not None:
        query = query.where(log.at >= wanted.since)
    if wanted.until is not None:
        query = query.where(log.at < wanted.until)
    after = None if before is None else ListCursor(*before)
    rows = connection.execute(newest_first(query, operator_log, "at", allowed, after, limit)).all()
    found = [read_row(LogRow, row, detail=row.detail or {}) for row in rows]
    persons = _find_persons(connection, {row.subject for row in found if row.action in ABOUT_PERSONS})
    return [replace(row, subject=persons.get(row.subject, row.subject)) for row in found]


# --- end users ------------------------------------------------------------------------------------------------------


def give_pseudonym(connection: sa.Connection, tenant: TenantId, person: str, new: str) -> str:
    """By which name the log speaks of this end user: `new`, unless there is one."""
    known = _own(tenant, person)
    found = connection.execute(sa.select(log_persons.c.pseudonym).where(*known)).scalar()
    if found is None:
        connection.execute(sa.insert(log_persons).values(tenant=tenant, person=clean(person), pseudonym=new))
    return found or new


def forget_pseudonym(connection: sa.Connection, tenant: TenantId, person: str) -> None:
    """Whoever is deleted is not named any more; that it was one and the same can still be seen."""
    connection.execute(sa.delete(log_persons).where(*_own(tenant, person)))


def _own(tenant: TenantId, person: str) -> tuple[sa.ColumnElement[bool], ...]:
    return log_persons.c.tenant == tenant, log_persons.c.person == clean(person)


def _find_persons(connection: sa.Connection, pseudonyms: Collection[str]) -> Mapping[str, str]:
    if not pseudonyms:
        return {}
    query = sa.select(log_persons).where(log_persons.c.pseudonym.in_(sorted(pseudonyms)))
    return {row.pseudonym: row.person for row in connection.execute(query)}
