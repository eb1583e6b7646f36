"""Sign-ins: one row for each browser or program in which an operator is signed in.

Plain functions on a connection; tokens come in hashed. A sign-in ends three ways: at its own end, when it was not used
for too long (`idle`), and when its row is gone. `authenticated_at` is when the person last proved who they are, and
moves when they do it again; `seen_at` is right to the minute, so that a page that is looked at is not a write for
every request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from circumspect.stores.codec import clean
from circumspect.stores.tables import operator_sessions

SignInMethod = Literal["password", "totp", "passkey", "oidc"]
"""The strongest that was shown."""
SEEN_SECONDS = 60
_LONGEST_CLIENT = 200


@dataclass(frozen=True, slots=True)
class SessionRow:
    id: str
    operator: str
    method: SignInMethod
    created_at: float
    authenticated_at: float
    seen_at: float
    expires_at: float
    address: str = ""
    client: str = ""
    """What the program calls itself."""
    device: str = ""
    """The browser, by the cookie that it keeps; empty for programs."""


@dataclass(frozen=True, slots=True)
class KnownDevice:
    """A browser that somebody has signed in with before."""

    id: str
    operators: tuple[str, ...]
    """Their ids, the last one last."""


def add_session(connection: sa.Connection, row: SessionRow, hash_: str) -> None:
    connection.execute(
        sa.insert(operator_sessions).values(
            hash=hash_,
            id=row.id,
            operator=row.operator,
            method=row.method,
            created_at=row.created_at,
            authenticated_at=row.authenticated_at,
            seen_at=row.seen_at,
            expires_at=row.expires_at,
            address=clean(row.address),
            client=clean(row.client[:_LONGEST_CLIENT]),
            device=row.device,
        )
    )


def _is_open(now: float, idle: float) -> sa.ColumnElement[bool]:
    """Neither at its end nor left alone for `idle` seconds."""
    return sa.and_(operator_sessions.c.expires_at > now, operator_sessions.c.seen_at > now - idle)


def find_session(connection: sa.Connection, hash_: str, now: float, idle: float) -> SessionRow | None:
    query = sa.select(operator_sessions).where(operator_sessions.c.hash == hash_, _is_open(now, idle))
    row: Any = connection.execute(query).one_or_none()
    return None if row is None else _read(row)


def list_sessions(connection: sa.Connection, operator: str, now: float, idle: float) -> Sequence[SessionRow]:
    """Of this operator, the last used first."""
    query = (
        sa.select(operator_sessions)
        .where(operator_sessions.c.operator == operator, _is_open(now, idle))
        .order_by(operator_sessions.c.seen_at.desc(), operator_sessions.c.id)
    )
    return [_read(row) for row in connection.execute(query)]


def touch_session(connection: sa.Connection, id_: str, now: float) -> None:
    query = sa.update(operator_sessions).where(operator_sessions.c.id == id_, operator_sessions.c.seen_at < now)
    connection.execute(query.values(seen_at=now))


def mark_authenticated(connection: sa.Connection, id_: str, at: float, method: SignInMethod | None = None) -> None:
    """They proved once more who they are; by `method`, where that is to be remembered."""
    values: dict[str, object] = {"authenticated_at": at, "seen_at": at}
    if method is not None:
        values["method"] = method
    connection.execute(sa.update(operator_sessions).where(operator_sessions.c.id == id_).values(**values))


def end_session(connection: sa.Connection, hash_: str) -> SessionRow | None:
    """The sign-in of this token, if it was there."""
    return _end(connection, operator_sessions.c.hash == hash_)


def end_session_by_id(connection: sa.Connection, id_: str, operator: str) -> SessionRow | None:
    """One of this operator's, if it was there."""
    return _end(connection, sa.and_(operator_sessions.c.id == id_, operator_sessions.c.operator == operator))


def end_sessions(connection: sa.Connection, operator: str, *, but: str | None = None) -> int:
    """All of an operator's, or all but the one with the id `but`. How many there were."""
    query = sa.delete(operator_sessions).where(operator_sessions.c.operator == operator)
    return connection.execute(query if but is None else query.where(operator_sessions.c.id != but)).rowcount


def sweep_sessions(connection: sa.Connection, now: float) -> None:
    connection.execute(sa.delete(operator_sessions).where(operator_sessions.c.expires_at <= now))


def _end(connection: sa.Connection, which: sa.ColumnElement[bool]) -> SessionRow | None:
    query = sa.delete(operator_sessions).where(which).returning(*operator_sessions.c)
    row: Any = connection.execute(query).one_or_none()
    return None if row is None else _read(row)


def _read(row: Any) -> SessionRow:
    return SessionRow(
        row.id,
        row.operator,
        row.method,
        row.created_at,
        row.authenticated_at,
        row.seen_at,
        row.expires_at,
        row.address,
        row.client,
        row.device,
    )
