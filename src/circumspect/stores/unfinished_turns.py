"""Turns whose worker is gone and whose sender did not come back: what a server needs to end them by itself.

Nobody holds their conversation, and none of their calls is open. One that changed something can be ended at once, since
it would not be run again anyhow. One that changed nothing is left to its sender for a while, who gets a better answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from circumspect.stores import database_time
from circumspect.stores.tables import RUNNING, UNFINISHED, conversations, messages, tool_executions, turns
from circumspect.values import ConversationId, Language, TenantId, TurnId

SENDER_SECONDS = 120.0
"""For so long after it began, a turn that changed nothing is run again for whoever sends it again."""


@dataclass(frozen=True, slots=True)
class UnfinishedTurn:
    tenant: TenantId
    conversation: ConversationId
    turn: TurnId
    person: str | None
    language: Language | None
    """The conversation's, where it has one."""
    words: str
    """What the user said; empty where it was no message."""


_CALLS = sa.select(tool_executions.c.id).where(
    tool_executions.c.tenant == turns.c.tenant,
    tool_executions.c.conversation == turns.c.conversation,
    tool_executions.c.turn == turns.c.id,
)
_LEFT = sa.and_(
    sa.text(UNFINISHED),
    sa.or_(conversations.c.lease_token.is_(None), conversations.c.lease_until <= sa.bindparam("now")),
    ~sa.exists(_CALLS.where(sa.text(f"tool_executions.{RUNNING}"))),
    sa.or_(turns.c.started_at <= sa.bindparam("begun"), sa.exists(_CALLS.where(tool_executions.c.effect != "read"))),
)
_OWN_CONVERSATION = sa.and_(conversations.c.tenant == turns.c.tenant, conversations.c.id == turns.c.conversation)
# Not DISTINCT, for whose sake SQLite would walk all turns there ever were in the order of tenants.
_TENANTS = sa.select(turns.c.tenant).join_from(turns, conversations, _OWN_CONVERSATION).where(_LEFT)
_TURNS = (
    sa.select(
        turns.c.tenant,
        turns.c.conversation,
        turns.c.id,
        conversations.c.person,
        conversations.c.language,
        sa.case((messages.c.role == "user", messages.c.content), else_=""),
    )
    .join_from(turns, conversations, _OWN_CONVERSATION)
    .join(
        messages,
        sa.and_(
            messages.c.tenant == turns.c.tenant,
            messages.c.conversation == turns.c.conversation,
            messages.c.seq == turns.c.first_seq,
        ),
    )
    .where(_LEFT, turns.c.tenant == sa.bindparam("owner"))
    .order_by(turns.c.started_at)
    .limit(sa.bindparam("at_most"))
)


def tenants_with_unfinished(connection: sa.Connection) -> Sequence[TenantId]:
    return sorted({TenantId(tenant) for (tenant,) in connection.execute(_TENANTS, _read_times(connection))})


def list_unfinished(connection: sa.Connection, tenant: TenantId, limit: int) -> Sequence[UnfinishedTurn]:
    """The oldest first."""
    found = connection.execute(_TURNS, {**_read_times(connection), "owner": tenant, "at_most": limit})
    return [UnfinishedTurn(*row) for row in found]


def _read_times(connection: sa.Connection) -> dict[str, Any]:
    now = database_time.read(connection)
    return {"now": now, "begun": now - SENDER_SECONDS}
