"""Clients that send the whole talk each time: which conversation it belongs to, and a past that began elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa

from circumspect.errors import StoreError
from circumspect.journal import ImportedMessageEvent
from circumspect.stores import database_time
from circumspect.stores.codec import clean, dumps, epoch
from circumspect.stores.ledger import execution_row
from circumspect.stores.people import change, row_of
from circumspect.stores.statements import SqlValues, insert
from circumspect.stores.tables import conversations, messages, tool_executions, turns
from circumspect.stores.turn_marks import mark_tool, put_marks
from circumspect.values import ConversationId, Execution, TenantId, TurnId


def find_thread(connection: sa.Connection, tenant: TenantId, thread: str) -> ConversationId | None:
    """The conversation whose talk so far has this digest; the most recent, should there be several."""
    query = (
        sa.select(conversations.c.id)
        .where(conversations.c.tenant == tenant, conversations.c.thread == thread, sa.text("thread IS NOT NULL"))
        .order_by(conversations.c.updated_at.desc())
        .limit(1)
    )
    found = connection.execute(query).scalar()
    return None if found is None else ConversationId(found)


def set_thread(connection: sa.Connection, tenant: TenantId, conversation: ConversationId, thread: str) -> None:
    change(connection, tenant, conversation, thread=thread)


def import_talk(
    connection: sa.Connection,
    tenant: TenantId,
    conversation: ConversationId,
    said: Sequence[Mapping[Literal["role", "content"], str]],
    ran: Sequence[Execution],
    turn: TurnId,
    now: datetime,
) -> None:
    """What a client says was said and done before it came to us, into an empty conversation."""
    if not said and not ran:
        return
    there: Any = connection.execute(row_of(tenant, conversation)).one_or_none()
    if there is None or there.next_seq:
        raise StoreError("Only an empty conversation can be given a past.", fix="Use a new conversation.")
    if said:
        rows: list[SqlValues] = [
            {"seq": seq, "role": one["role"], "kind": "message", "content": clean(one["content"])}
            for seq, one in enumerate(said)
        ]
        common: SqlValues = {
            "tenant": tenant,
            "conversation": conversation,
            "turn": turn,
            "meta": dumps(ImportedMessageEvent("").to_json()),
            "at": epoch(now),
        }
        insert(connection, messages, *rows, common=common)
        change(connection, tenant, conversation, next_seq=len(said))
    if ran:
        insert(connection, tool_executions, *(execution_row(one, reported=True) for one in ran))
        marks = {mark_tool(one.call.tool) for one in ran}
        put_marks(connection, tenant, conversation, turn, epoch(now), marks)


def conversation_of_key(
    connection: sa.Connection, tenant: TenantId, person: str | None, key: str
) -> ConversationId | None:
    """Where that person's turn with a client's key took place, whether or not it has ended. Another person's with the
    same key is another turn."""
    query = (
        sa.select(turns.c.conversation)
        .join(conversations, sa.and_(conversations.c.tenant == tenant, conversations.c.id == turns.c.conversation))
        .where(turns.c.tenant == tenant, turns.c.client_key == key, conversations.c.person.is_not_distinct_from(person))
        .limit(1)
    )
    found = connection.execute(query).scalar()
    return None if found is None else ConversationId(found)


@dataclass(frozen=True, slots=True)
class FormerRequest:
    """A turn that the same request led to."""

    conversation: ConversationId
    turn: TurnId
    ended_ago: float | None
    """Seconds; None while it has not ended."""
    held: bool
    """A worker has the conversation, or had it a moment ago."""
    changed: bool


def list_former(connection: sa.Connection, tenant: TenantId, person: str | None, key: str) -> Sequence[FormerRequest]:
    """Turns of that person which were begun under this key and whose answer did not go out yet."""
    now = database_time.read(connection)
    calls = sa.select(tool_executions.c.id).where(
        tool_executions.c.tenant == turns.c.tenant,
        tool_executions.c.conversation == turns.c.conversation,
        tool_executions.c.turn == turns.c.id,
        tool_executions.c.effect != "read",
    )
    query = (
        sa.select(
            turns.c.conversation,
            turns.c.id,
            sa.case((turns.c.status == "done", now - turns.c.finished_at)),
            sa.and_(conversations.c.lease_token.is_not(None), conversations.c.lease_until > now),
            sa.exists(calls),
        )
        .join(conversations, sa.and_(conversations.c.tenant == tenant, conversations.c.id == turns.c.conversation))
        .where(turns.c.tenant == tenant, turns.c.client_key == key, conversations.c.person.is_not_distinct_from(person))
    )
    return [FormerRequest(*row) for row in connection.execute(query)]


def release_key(connection: sa.Connection, turn: TurnId, key: str) -> None:
    """The answer went out: the next request of that content is another one."""
    connection.execute(sa.update(turns).where(turns.c.id == turn, turns.c.client_key == key).values(client_key=None))
