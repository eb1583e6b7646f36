"""Calls that wait for somebody: a colleague's approval, or the agent of somebody else's that proposed them.

Plain functions on a connection. `tenants` are those that the caller may see; None is all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from circumspect.stores import codec
from circumspect.stores.codec import epoch
from circumspect.stores.people import ListCursor, VisibleTenants, belongs_to, newest_first, not_there, oldest_first
from circumspect.stores.rehearsals import is_real
from circumspect.stores.tables import APPROVALS, WAITING, intents, tool_executions
from circumspect.values import Execution, Intent, IntentId, TenantId


@dataclass(frozen=True, slots=True)
class Approval:
    """A call that waits for a colleague, or did. `intent` holds exactly what will run."""

    intent: Intent
    settled_by: str | None
    settled_at: datetime | None


def list_approvals(
    connection: sa.Connection,
    tenants: VisibleTenants,
    after: ListCursor | None,
    limit: int,
    *,
    waiting: bool = True,
    now: datetime | None = None,
    oldest: bool = False,
) -> Sequence[Approval]:
    """Those that wait and have not expired (`now`), or all there ever were; the newest first, or the `oldest`."""
    query = sa.select(intents).where(sa.text(APPROVALS), is_real(intents))
    if waiting:
        query = query.where(sa.text(WAITING))
        if now is not None:
            query = query.where(intents.c.expires_at > epoch(now))
    if oldest:
        query = oldest_first(query, intents, tenants, after, limit)
    else:
        query = newest_first(query, intents, "created_at", tenants, after, limit)
    return [_approval(row) for row in connection.execute(query)]


def get_approval(connection: sa.Connection, tenants: VisibleTenants, id_: str) -> Approval:
    query = sa.select(intents).where(intents.c.id == id_, intents.c.kind == "approval", belongs_to(intents, tenants))
    row = connection.execute(query).one_or_none()
    if row is None:
        raise not_there("approval")
    return _approval(row)


def _approval(row: Any) -> Approval:
    return Approval(codec.intent(row), row.settled_by, codec.moment_of(row.settled_at))


_DID = {"consumed": "approved by", "denied": "denied by", "superseded": "changed by"}


def describe_end(approval: Approval, now: datetime) -> str:
    """What became of a call that does not wait any more, for whoever wanted to decide on it."""
    intent, by, at = approval.intent, approval.settled_by, approval.settled_at
    if intent.state == "pending":
        waited = intent.expires_at <= now
        return f"It waited until {_write(intent.expires_at)}." if waited else "It could not be decided on just now."
    if by is None or at is None:
        return "This does not wait any more."
    did = _DID.get(intent.state)
    return f"Already decided: {did} {by} at {_write(at)}." if did else f"Already decided by {by} at {_write(at)}."


def _write(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


# --- clients that propose a call and come back for it ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HeldCall:
    """What became of a call that was held when it was proposed."""

    intent: Intent
    execution: Execution | None


def waiting_call(
    connection: sa.Connection, tenant: TenantId, principal: str, hash_: str, now: datetime
) -> HeldCall | None:
    """The newest intent for exactly this call that its proposer has not collected yet, whichever of their conversations
    it is from; None when there is none."""
    query = (
        sa.select(intents)
        .where(
            intents.c.tenant == tenant,
            intents.c.hash == hash_,
            intents.c.principal == principal,
            intents.c.state.in_(("pending", "consumed", "denied")),
        )
        .order_by(intents.c.created_at.desc(), intents.c.id.desc())
        .limit(1)
    )
    row: Any = connection.execute(query).one_or_none()
    if row is None or (row.state == "pending" and row.expires_at <= epoch(now)):
        return None
    ran: Any = connection.execute(
        sa.select(tool_executions).where(tool_executions.c.intent == row.id, tool_executions.c.tenant == tenant)
    ).one_or_none()
    return HeldCall(codec.intent(row), None if ran is None else codec.execution(ran))


def collect(connection: sa.Connection, tenant: TenantId, intent: IntentId) -> None:
    """Its proposer has heard what became of it: the same call proposed again is a new one."""
    connection.execute(
        sa.update(intents)
        .where(intents.c.id == intent, intents.c.tenant == tenant, intents.c.state.in_(("consumed", "denied")))
        .values(state="collected")
    )
