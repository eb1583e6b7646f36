"""Sessions of MCP clients over HTTP, and the questions that stand before their users.

Plain functions on a connection. A session ends when its client says so, after an hour in which it was not used, or
after a day; then its id is known to nobody, and a client has to begin a new one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import sqlalchemy as sa

from circumspect.stores.mcp_tables import questions, sessions
from circumspect.values import JsonObject, TenantId

IDLE_SECONDS = 3600.0
LONGEST_SECONDS = 24 * 3600.0
MOST_SESSIONS = 1_000
"""Of one client at a time: a new one ends the one that was used least recently."""
DISMISSED: JsonObject = {"action": "cancel"}
"""What a client answers whose user closed the form and said nothing."""
_NOTED_SECONDS = 60.0
"""How exactly it is written down when a session was last used."""


@dataclass(frozen=True, slots=True)
class GatewaySession:
    id: str
    tenant: TenantId
    owner: str
    """Who opened it; nobody else can use it."""
    can_ask: bool
    """Its client can put a form before its user."""


def begin_session(connection: sa.Connection, session: GatewaySession, now: float) -> None:
    owner = _digest(session.owner)
    own = sa.and_(sessions.c.tenant == session.tenant, sessions.c.owner == owner)
    newest = sa.select(sessions.c.id).where(own).order_by(sessions.c.used_at.desc(), sessions.c.id)
    too_many = connection.execute(newest.offset(MOST_SESSIONS - 1)).scalars().all()
    if too_many:
        connection.execute(sa.delete(sessions).where(own, sessions.c.id.in_(too_many)))
    connection.execute(
        sa.insert(sessions).values(
            id=session.id,
            tenant=session.tenant,
            owner=owner,
            can_ask=session.can_ask,
            created_at=now,
            used_at=now,
        )
    )


def find_session(
    connection: sa.Connection, tenant: TenantId, owner: str, id_: str, now: float
) -> GatewaySession | None:
    """The session, if it is this owner's and has not ended; it counts as used."""
    own = _own(tenant, owner, id_)
    living = sa.and_(sessions.c.used_at > now - IDLE_SECONDS, sessions.c.created_at > now - LONGEST_SECONDS)
    row = connection.execute(sa.select(sessions).where(own, living)).one_or_none()
    if row is None:
        return None
    if now - row.used_at >= _NOTED_SECONDS:
        connection.execute(sa.update(sessions).where(own).values(used_at=now))
    return GatewaySession(row.id, tenant, owner, row.can_ask)


def end_session(connection: sa.Connection, tenant: TenantId, owner: str, id_: str) -> bool:
    """False when there was none."""
    return bool(connection.execute(sa.delete(sessions).where(_own(tenant, owner, id_))).rowcount)


def forget_ended_sessions(connection: sa.Connection, now: float, limit: int) -> int:
    """Some of those that ended unnoticed; one that is older than a day cannot be used, and so is idle soon. How many
    there were."""
    ended = sa.select(sessions.c.id).where(sessions.c.used_at <= now - IDLE_SECONDS).limit(limit)
    return connection.execute(sa.delete(sessions).where(sessions.c.id.in_(ended))).rowcount


def put_question(connection: sa.Connection, id_: str, session: GatewaySession, request: str) -> None:
    connection.execute(sa.insert(questions).values(id=id_, session=session.id, request=request))


def put_answer(connection: sa.Connection, session: GatewaySession, id_: str, answer: JsonObject) -> None:
    """The first answer to a question counts; one to a question that does not stand is nobody's."""
    connection.execute(
        sa.update(questions)
        .where(questions.c.id == id_, questions.c.session == session.id, questions.c.answer.is_(None))
        .values(answer=answer)
    )


def dismiss_request(connection: sa.Connection, session: GatewaySession, request: str) -> None:
    """The client does not wait for this request any more, nor for what it asks."""
    connection.execute(
        sa.update(questions)
        .where(questions.c.session == session.id, questions.c.request == request, questions.c.answer.is_(None))
        .values(answer=DISMISSED)
    )


def find_answer(connection: sa.Connection, id_: str) -> JsonObject | None:
    """None as long as there is none. A question whose session ended is dismissed."""
    row = connection.execute(sa.select(questions.c.answer).where(questions.c.id == id_)).one_or_none()
    answer: JsonObject | None = DISMISSED if row is None else row.answer
    return answer


def withdraw_question(connection: sa.Connection, id_: str) -> None:
    connection.execute(sa.delete(questions).where(questions.c.id == id_))


def _own(tenant: TenantId, owner: str, id_: str) -> sa.ColumnElement[bool]:
    return sa.and_(sessions.c.id == id_, sessions.c.tenant == tenant, sessions.c.owner == _digest(owner))


def _digest(owner: str) -> str:
    return hashlib.sha256(owner.encode()).hexdigest()
