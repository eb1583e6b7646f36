"""Threads: a talk that a client sends whole each time -> the conversation it is, with its past.

A conversation is named by the client, or found by its Idempotency-Key or by a request that is sent again
(`unanswered_requests.py`), or recognised by the digest of what was said so far. One that nobody knows begins here, with
the past that the client tells: its words, and what its tools returned.
A talk is recognised once: with the next turn its digest moves on, so two that began alike part ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

import sqlalchemy as sa

from circumspect.policy.keys.tool_policy import effect_of
from circumspect.ports import Ids
from circumspect.server.client_talk import ClientTalk, identify_talk, read_result
from circumspect.server.services import Services
from circumspect.server.stores import client_chats
from circumspect.setup import TurnSetup
from circumspect.stores import people
from circumspect.values import (
    ChatMessage,
    ClientResult,
    ConversationId,
    Execution,
    ExecutionId,
    Json,
    TenantId,
    ToolCall,
    TurnId,
    TurnResult,
)


@dataclass(frozen=True, slots=True)
class Thread:
    conversation: ConversationId
    returned: tuple[ClientResult, ...]
    """Results of calls that this conversation handed to the client."""


@dataclass(frozen=True, slots=True)
class ChatSender:
    """Who sends the talk; two senders never share one."""

    tenant: TenantId
    key: str
    person: str | None

    @property
    def owner(self) -> tuple[str, ...]:
        return (self.tenant, self.key, self.person or "")


async def find(
    services: Services,
    setup: TurnSetup,
    sender: ChatSender,
    talk: ClientTalk,
    named: str | None,
    idempotency_key: str | None,
) -> Thread:
    """The conversation, made and given its past if it is not there yet."""
    store, now = services.store, services.clock.now()
    conversation = ConversationId(named) if named else None
    if conversation is None and idempotency_key:
        conversation = await store.tx(client_chats.conversation_of_key, sender.tenant, sender.person, idempotency_key)
    if conversation is None and talk.earlier:
        conversation = await store.tx(
            client_chats.find_thread, sender.tenant, identify_talk(sender.owner, talk.earlier)
        )
    id_ = conversation or ConversationId(services.ids.new("conv"))
    past = _past(talk, setup, sender.tenant, id_, services.ids, now)
    known = await store.tx(_begin, setup, sender, id_, past, now)
    if not known:
        return Thread(id_, ())
    back = tuple(
        ClientResult(ExecutionId(one.call_id), read_result(one.text), _find_error(talk, one)) for one in talk.results
    )
    return Thread(id_, back)


async def remember(services: Services, sender: ChatSender, said: Sequence[ChatMessage], result: TurnResult) -> None:
    """The next request of this talk begins with what this one ends with."""
    await services.store.tx(
        client_chats.set_thread, sender.tenant, result.conversation, identify_talk(sender.owner, said)
    )


@dataclass(frozen=True, slots=True)
class _Past:
    said: tuple[dict[Literal["role", "content"], str], ...]
    ran: tuple[Execution, ...]
    turn: TurnId


def _begin(
    connection: sa.Connection, setup: TurnSetup, sender: ChatSender, id_: ConversationId, past: _Past, now: datetime
) -> bool:
    """False when the conversation was empty, and has its past now."""
    mode, drawn = setup.tenant.mode_of(id_), setup.draws_mode
    found = people.create_conversation(connection, sender.tenant, id_, mode, now, drawn=drawn, person=sender.person)
    if found.messages:
        return True
    client_chats.import_talk(connection, sender.tenant, id_, past.said, past.ran, past.turn, now)
    return False


def _past(
    talk: ClientTalk, setup: TurnSetup, tenant: TenantId, conversation: ConversationId, ids: Ids, now: datetime
) -> _Past:
    turn = TurnId(ids.new("import"))
    said: list[dict[Literal["role", "content"], str]] = []
    calls: dict[str, ToolCall] = {}
    ran: list[Execution] = []
    for one in (*talk.earlier, *talk.results):
        calls |= {call.id: call for call in one.calls}
        if one.role == "tool":
            call = calls.get(one.call_id)
            if call is not None:
                done = _ran(call, read_result(one.text), setup, tenant, conversation, turn, ids, now)
                error = _find_error(talk, one)
                ran.append(replace(done, state="failed", result=None, error=error) if error else done)
        elif one.text:
            said.append({"role": one.role, "content": one.text})
    return _Past(tuple(said), _one_after_another(ran), turn)


def _one_after_another(ran: Sequence[Execution]) -> tuple[Execution, ...]:
    """The client does not say when its calls were made. Their order is known, and it is by their times that a ledger is
    read: each a microsecond after the one before, and all before now."""
    times = [one.started_at - timedelta(microseconds=len(ran) - place) for place, one in enumerate(ran)]
    return tuple(replace(one, started_at=at, finished_at=at) for one, at in zip(ran, times, strict=True))


def _find_error(talk: ClientTalk, result: ChatMessage) -> str:
    """What a client says went wrong; empty where it says nothing of the kind."""
    return (result.text or "The tool failed.") if result.call_id in talk.failed else ""


def _ran(
    call: ToolCall,
    result: Json,
    setup: TurnSetup,
    tenant: TenantId,
    conversation: ConversationId,
    turn: TurnId,
    ids: Ids,
    now: datetime,
) -> Execution:
    spec = setup.ports.tools.specs().get(call.tool)
    effect = effect_of(spec, setup.policy.of(call.tool, tenant)) if spec else None
    return Execution(
        id=ExecutionId(ids.new("exec")),
        tenant=tenant,
        conversation=conversation,
        turn=turn,
        call=call,
        effect=effect or "destructive",
        recovery="blind",
        state="succeeded",
        token="",
        lease_until=now,
        started_at=now,
        finished_at=now,
        result=result,
        runner="import",
    )
