"""The outbox as people see it: what waits to leave, what was given up, and sending that again.

What was given up stays until somebody sends it again or its conversation is forgotten. Whom it was for is shown, and
never what it says: it may quote a customer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa

from circumspect.stores import database_time
from circumspect.stores.codec import moment
from circumspect.stores.people import ListCursor, NotThere, VisibleTenants, belongs_to, newest_first
from circumspect.stores.tables import outbox

NotificationState = Literal["pending", "delivered", "dead"]
AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class NotificationRow:
    """`target` is the webhook's URL or the addresses; empty while nobody has looked up who is to hear of it."""

    id: str
    topic: str
    tenant: str | None
    conversation: str | None
    target: str
    state: NotificationState
    attempts: int
    created_at: datetime
    next_at: datetime


def list_notifications(
    connection: sa.Connection,
    tenants: VisibleTenants,
    state: NotificationState | None,
    after: ListCursor | None,
    limit: int,
) -> Sequence[NotificationRow]:
    """The newest first."""
    query = sa.select(outbox)
    if state is not None:
        query = query.where(sa.text(f"state = '{state}'"))  # word for word as the indexes have it
    rows = connection.execute(newest_first(query, outbox, "created_at", tenants, after, limit))
    return [read_notification(row) for row in rows]


def get_notification(connection: sa.Connection, tenants: VisibleTenants, id_: str) -> NotificationRow:
    query = sa.select(outbox).where(outbox.c.id == id_, belongs_to(outbox, tenants))
    row = connection.execute(query).one_or_none()
    if row is None:
        raise NotThere("There is no such notification.", fix="List them and use an id from there.")
    return read_notification(row)


def redrive(connection: sa.Connection, tenants: VisibleTenants, id_: str) -> NotificationRow:
    """One that was given up is sent again, as if it had just been written."""
    row = connection.execute(_again(connection, tenants).where(outbox.c.id == id_).returning(outbox)).one_or_none()
    if row is None:
        raise NotThere("There is no notification of that id that was given up.", fix="List those in the state `dead`.")
    return read_notification(row)


def redrive_all(connection: sa.Connection, tenants: VisibleTenants) -> int:
    """All that were given up, up to a thousand of them. How many there were."""
    some = sa.select(outbox.c.id).where(sa.text("state = 'dead'"), belongs_to(outbox, tenants)).limit(AT_ONCE)
    return connection.execute(_again(connection, tenants).where(outbox.c.id.in_(some))).rowcount


def _again(connection: sa.Connection, tenants: VisibleTenants) -> sa.Update:
    now = database_time.read(connection)
    dead = sa.update(outbox).where(outbox.c.state == "dead", belongs_to(outbox, tenants))
    return dead.values(state="pending", attempts=0, token=None, next_at=now)


def read_notification(row: Any) -> NotificationRow:
    target = row.payload.get("target")
    return NotificationRow(
        row.id,
        row.topic,
        row.tenant,
        row.conversation,
        _name(target) if isinstance(target, Mapping) else "",
        row.state,
        row.attempts,
        moment(row.created_at),
        moment(row.next_at),
    )


def _name(target: Mapping[str, Any]) -> str:
    return str(target["url"]) if "url" in target else ", ".join(target.get("to", ()))
