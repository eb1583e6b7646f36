"""What a client has of us and names by its id only: a response that it goes on from, a message or a call of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from circumspect.stores import admin, codec, people
from circumspect.stores.codec import dumps
from circumspect.stores.tables import VISIBLE, conversations, messages, tool_executions, turns
from circumspect.values import ChatMessage, ConversationId, Execution, TenantId, ToolCall, TurnId, TurnResult


@dataclass(frozen=True, slots=True)
class FormerReply:
    result: TurnResult
    at: float
    """When its turn began, in seconds since the epoch."""


def find_reply(connection: sa.Connection, tenant: TenantId, person: str | None, turn: TurnId) -> FormerReply | None:
    """None also where it is somebody else's."""
    found = connection.execute(_own(turns, tenant, person).where(turns.c.id == turn, _DONE)).one_or_none()
    return None if found is None else FormerReply(codec.result(found.result), found.started_at)


def list_replies(
    connection: sa.Connection, tenant: TenantId, person: str | None, ids: Iterable[str]
) -> Mapping[str, ChatMessage]:
    """The words of these turns, by the turns' ids."""
    rows = connection.execute(_own(turns, tenant, person).where(turns.c.id.in_(list(ids)), _DONE))
    return {row.id: ChatMessage("assistant", codec.result(row.result).reply) for row in rows}


def list_calls(
    connection: sa.Connection, tenant: TenantId, person: str | None, ids: Iterable[str]
) -> Mapping[str, ChatMessage]:
    """Calls that were handed to a client, by their ids."""
    rows = connection.execute(_own(tool_executions, tenant, person).where(tool_executions.c.id.in_(list(ids))))
    made = (codec.execution(row) for row in rows)
    return {
        one.id: ChatMessage("assistant", "", (ToolCall(one.call.tool, one.call.arguments, one.id),)) for one in made
    }


_DONE = turns.c.status == "done"


def _own(table: sa.Table, tenant: TenantId, person: str | None) -> sa.Select[Any]:
    same = sa.and_(conversations.c.tenant == table.c.tenant, conversations.c.id == table.c.conversation)
    nobodys = conversations.c.person.is_(None)
    theirs = sa.or_(nobodys, conversations.c.person == person) if person is not None else nobodys
    return sa.select(table).join(conversations, same).where(table.c.tenant == tenant, theirs)


# --- a whole talk ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FormerTalk:
    said: tuple[ChatMessage, ...]
    """As a client would send it that keeps the talk itself."""
    conversation: ConversationId
    is_newest: bool
    """Nothing was said in the conversation since."""


def read_talk(connection: sa.Connection, tenant: TenantId, person: str | None, turn: TurnId) -> FormerTalk | None:
    """What was said up to the end of this turn; None where there is no such turn, or it is somebody else's."""
    reply = find_reply(connection, tenant, person, turn)
    if reply is None:
        return None
    return _read(connection, tenant, reply.result.conversation, turn)


def read_conversation(
    connection: sa.Connection, tenant: TenantId, person: str | None, conversation: ConversationId
) -> FormerTalk | None:
    """All that was said in a conversation; None where nothing was yet."""
    there = connection.execute(people.row_of(tenant, conversation)).one_or_none()
    if there is None:
        return None
    if there.person not in (None, person):
        raise people.not_there("conversation")
    return _read(connection, tenant, conversation, None)


def _read(connection: sa.Connection, tenant: TenantId, conversation: ConversationId, last: TurnId | None) -> FormerTalk:
    own = sa.and_(messages.c.tenant == tenant, messages.c.conversation == conversation)
    written = connection.execute(sa.select(messages).where(own, sa.text(VISIBLE)).order_by(messages.c.seq)).all()
    took = connection.execute(
        sa.select(turns)
        .where(turns.c.tenant == tenant, turns.c.conversation == conversation)
        .order_by(turns.c.first_seq)
    ).all()
    order = [row.id for row in took]
    ran: dict[str, Execution] = {one.id: one for one in admin.get_executions(connection, tenant, conversation)}
    kept = took if last is None else took[: order.index(last) + 1]
    until = took[len(kept)].first_seq if len(kept) < len(took) else None
    said = [
        *_list_words(written, {row.id for row in kept}, until),
        *_list_replies(kept, written, ran),
        (took[0].first_seq - 0.5 if took else 0, list(_list_imported(ran.values()))),
    ]
    said.sort(key=lambda one: one[0])
    return FormerTalk(tuple(m for _, found in said for m in found), conversation, len(kept) == len(took))


def _list_words(
    written: Sequence[Any], kept: set[str], until: int | None
) -> Iterator[tuple[float, Sequence[ChatMessage]]]:
    """What was said by others than the agent, which says what it says in its replies."""
    for row in written:
        if (until is None or row.seq < until) and (row.role == "user" or row.turn not in kept):
            yield row.seq, [ChatMessage(row.role, row.content)]


def _list_replies(
    took: Sequence[Any], written: Sequence[Any], ran: Mapping[str, Execution]
) -> Iterator[tuple[float, Sequence[ChatMessage]]]:
    spoken = {row.turn: row.seq for row in written if row.role == "assistant"}
    for row in took:
        if row.status != "done":
            continue
        result = codec.result(row.result)
        results = (ran.get(call.id) for call in result.calls)
        came = [ChatMessage("tool", _write(one), call_id=one.id) for one in results if one and one.finished_at]
        # Calls without words are no message: they come right after what they answer.
        place = spoken.get(row.id, row.first_seq + 0.5)
        if result.reply or result.calls:
            yield place, [ChatMessage("assistant", result.reply, result.calls), *came]


def _list_imported(ran: Iterable[Execution]) -> Iterator[ChatMessage]:
    """What the client's tools returned before the talk came to us. Between which words is not known any more."""
    for one in ran:
        if one.runner == "import":
            yield ChatMessage("assistant", "", (ToolCall(one.call.tool, one.call.arguments, one.id),))
            yield ChatMessage("tool", _write(one), call_id=one.id)


def _write(execution: Execution) -> str:
    """A result as the client told it."""
    told = execution.result if not execution.error else execution.error
    return told if isinstance(told, str) else dumps(told).strip()
