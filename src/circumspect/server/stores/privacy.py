"""What is kept, for how long, and about whom: retention, export and deletion of a person's data.

Plain functions on a connection. A conversation is forgotten whole: what was said, thought and done in it, and the
notifications that quoted it. Usage stays counted, since it names nobody. Whoever forgets many does so a few at a time:
on SQLite a transaction has the only writer, and between two of them turns get theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from circumspect.server.stores.mcp_sessions import forget_ended_sessions
from circumspect.server.stores.sign_in_attempts import sweep_attempts
from circumspect.stores.experiment_tables import exposures, labels, shadows
from circumspect.stores.search_tables import held_calls, turn_marks
from circumspect.stores.tables import (
    DELIVERED,
    conversations,
    escalations,
    intents,
    messages,
    operator_sessions,
    outbox,
    tool_executions,
    turns,
)
from circumspect.stores.work_tables import work_items, work_notes
from circumspect.values import ConversationId, TenantId

_OWNED = (
    exposures, shadows, labels, turn_marks, held_calls, work_items, work_notes, messages, tool_executions, intents,
    escalations, outbox, turns,
)  # fmt: skip
"""Every table with a conversation's rows; calls before the intents that they refer to."""

FEW = 5
"""Conversations forgotten in one transaction."""
SOME = 500
"""Notifications and sign-ins, which are one row each."""


def forget(connection: sa.Connection, tenant: TenantId, conversation: ConversationId) -> None:
    """As if it had never been. Whoever writes about it at this moment waits, and then finds nothing."""
    own = sa.select(conversations.c.id).where(conversations.c.tenant == tenant, conversations.c.id == conversation)
    connection.execute(own.with_for_update())
    for table in _OWNED:
        connection.execute(sa.delete(table).where(table.c.tenant == tenant, table.c.conversation == conversation))
    connection.execute(
        sa.delete(conversations).where(conversations.c.tenant == tenant, conversations.c.id == conversation)
    )


def forget_older(connection: sa.Connection, tenant: TenantId, before: float, limit: int = FEW) -> int:
    """A few conversations whose last message is older than that; none that a worker holds. How many there were."""
    query = (
        sa.select(conversations.c.id)
        .where(
            conversations.c.tenant == tenant,
            conversations.c.updated_at < before,
            sa.or_(conversations.c.lease_token.is_(None), conversations.c.lease_until < before),
        )
        .order_by(conversations.c.updated_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    old = connection.execute(query).scalars().all()
    for conversation in old:
        forget(connection, tenant, conversation)
    return len(old)


def tidy(connection: sa.Connection, delivered_before: float, now: float, limit: int = SOME) -> int:
    """Some notifications that arrived long ago, sign-ins and sessions that ended, and old failures to sign in: how many
    there were."""
    arrived = sa.select(outbox.c.id).where(sa.text(DELIVERED), outbox.c.created_at < delivered_before).limit(limit)
    ended = sa.select(operator_sessions.c.hash).where(operator_sessions.c.expires_at < now).limit(limit)
    for added in (work_items, work_notes):
        connection.execute(sa.delete(added).where(added.c.about == outbox.name, added.c.item.in_(arrived)))
    gone = connection.execute(sa.delete(outbox).where(outbox.c.id.in_(arrived))).rowcount
    gone += connection.execute(sa.delete(operator_sessions).where(operator_sessions.c.hash.in_(ended))).rowcount
    gone += sweep_attempts(connection, now, limit)
    return gone + forget_ended_sessions(connection, now, limit)


def _of_person(tenant: TenantId, person: str) -> sa.Select[Any]:
    return (
        sa.select(conversations.c.id)
        .where(conversations.c.tenant == tenant, conversations.c.person == person, sa.text("person IS NOT NULL"))
        .order_by(conversations.c.created_at, conversations.c.id)
    )


def list_conversations_of(connection: sa.Connection, tenant: TenantId, person: str) -> Sequence[ConversationId]:
    return [ConversationId(id_) for id_ in connection.execute(_of_person(tenant, person)).scalars()]


def export_person(connection: sa.Connection, tenant: TenantId, person: str) -> Mapping[str, Any]:
    """Everything that is kept about a person, as it is kept."""
    found = list_conversations_of(connection, tenant, person)
    return {
        "tenant": tenant,
        "person": person,
        "conversations": [export_conversation(connection, tenant, conversation) for conversation in found],
    }


def delete_person(connection: sa.Connection, tenant: TenantId, person: str, limit: int = FEW) -> int:
    """A few of that person's conversations. How many were forgotten."""
    found = connection.execute(_of_person(tenant, person).limit(limit)).scalars().all()
    for conversation in found:
        forget(connection, tenant, conversation)
    return len(found)


def export_conversation(connection: sa.Connection, tenant: TenantId, conversation: ConversationId) -> Mapping[str, Any]:
    return {
        "id": conversation,
        "messages": _rows(connection, messages, tenant, conversation, "seq"),
        "calls": _rows(connection, tool_executions, tenant, conversation, "started_at"),
        "confirmations": _rows(connection, intents, tenant, conversation, "created_at"),
        "escalations": _rows(connection, escalations, tenant, conversation, "created_at"),
        "experiments": _rows(connection, exposures, tenant, conversation, "at"),
        "shadows": _rows(connection, shadows, tenant, conversation, "at"),
        "labels": _rows(connection, labels, tenant, conversation, "at"),
        "work_items": _rows(connection, work_items, tenant, conversation, "item"),
        "notes": _rows(connection, work_notes, tenant, conversation, "at"),
    }


_OURS = frozenset(("token", "lease_until", "nonce", "tenant", "conversation"))
"""Columns that say nothing about anybody."""


def _rows(
    connection: sa.Connection, table: sa.Table, tenant: TenantId, conversation: ConversationId, order: str
) -> Sequence[Mapping[str, Any]]:
    columns = [column for column in table.c if column.name not in _OURS and column is not messages.c.id]
    query = (
        sa.select(*columns)
        .where(table.c.tenant == tenant, table.c.conversation == conversation)
        .order_by(table.c[order])
    )
    return [dict(row._mapping) for row in connection.execute(query)]
