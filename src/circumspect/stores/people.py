"""People in conversations: escalations taken over, approvals waiting, words said by a person, clients' own threads.

Plain functions on a connection, off the path of a turn. Every one takes `tenants`, the tenants its caller may see (None
is all of them); what belongs to anyone else is not there. A person's words get their number from the conversation's
row, as a turn's do, so the two can come at the same moment.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa

from circumspect.errors import StoreError
from circumspect.reasons import ReasonCode
from circumspect.stores import codec
from circumspect.stores.codec import checked, clean, dumps, epoch, moment
from circumspect.stores.ledger import execution_row, notify
from circumspect.stores.statements import Values, insert
from circumspect.stores.tables import WAITING, conversations, escalations, intents, messages, tool_executions, turns
from circumspect.turn import (
    ConversationId,
    Execution,
    Intent,
    IntentId,
    Language,
    Mode,
    TenantId,
    TurnId,
)

EscalationState = Literal["open", "taken", "resolved"]
Tenants = Collection[TenantId] | None


class NotThere(StoreError):
    """There is no such row, or it belongs to somebody else; the two are not told apart."""

    code = "not_found"


class TakenByAnother(StoreError):
    code = "taken"


@dataclass(frozen=True, slots=True)
class Conversation:
    tenant: TenantId
    id: ConversationId
    mode: Mode
    language: Language | None
    person: str | None
    paused_by: str | None
    messages: int
    """All rows of the conversation, internal ones included."""
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class EscalationRow:
    """A conversation that waits for a person. `execution` names the call when its outcome is what nobody knows."""

    id: str
    tenant: TenantId
    conversation: ConversationId
    turn: TurnId
    execution: str | None
    reason: ReasonCode | None
    summary: str
    suggestion: str | None
    state: EscalationState
    created_at: datetime
    taken_by: str | None
    taken_at: datetime | None
    resolved_by: str | None
    resolved_at: datetime | None


@dataclass(frozen=True, slots=True)
class Approval:
    """A call that waits for a colleague, or did. `intent` holds exactly what will run."""

    intent: Intent
    settled_by: str | None
    settled_at: datetime | None


@dataclass(frozen=True, slots=True)
class Page:
    """Where a list goes on: the sort key of the last row seen."""

    at: float
    id: str


def _mine(table: sa.Table, tenants: Tenants) -> sa.ColumnElement[bool]:
    return sa.true() if tenants is None else table.c.tenant.in_(sorted(tenants))


def _some(query: sa.Select[Any], table: sa.Table, time: str, after: Page | None, limit: int) -> sa.Select[Any]:
    """Newest first, from there on. A row that comes in meanwhile moves nothing."""
    if after is not None:
        query = query.where(sa.tuple_(table.c[time], table.c.id) < sa.tuple_(sa.literal(after.at), after.id))
    return query.order_by(table.c[time].desc(), table.c.id.desc()).limit(limit)


# --- conversations --------------------------------------------------------------------------------------------------


def create_conversation(
    connection: sa.Connection,
    tenant: TenantId,
    conversation: ConversationId,
    mode: Mode,
    now: datetime,
    *,
    person: str | None = None,
    language: Language | None = None,
) -> Conversation:
    """The conversation of that id, made if there is none yet."""
    checked(tenant, conversation, person)
    there: Any = connection.execute(_one(tenant, conversation)).one_or_none()
    if there is None:
        row: Values = {
            "tenant": tenant,
            "id": conversation,
            "mode": mode,
            "language": language,
            "next_seq": 0,
            "lease_until": 0.0,
            "calls": False,
            "created_at": epoch(now),
            "updated_at": epoch(now),
            "person": person,
        }
        insert(connection, conversations, row)
        there = connection.execute(_one(tenant, conversation)).one()
    return _conversation(there)


def get_conversation(connection: sa.Connection, tenants: Tenants, conversation: ConversationId) -> Conversation:
    """Where several tenants are visible, an id names one conversation only if no two of them use it."""
    query = sa.select(conversations).where(conversations.c.id == conversation, _mine(conversations, tenants))
    rows = connection.execute(query.limit(2)).all()
    if len(rows) != 1:
        raise _not_there("conversation")
    return _conversation(rows[0])


def list_conversations(
    connection: sa.Connection,
    tenants: Tenants,
    after: Page | None,
    limit: int,
    *,
    person: str | None = None,
) -> Sequence[Conversation]:
    """The most recently used first."""
    query = sa.select(conversations).where(_mine(conversations, tenants))
    if person is not None:
        query = query.where(conversations.c.person == person)
    rows = connection.execute(_some(query, conversations, "updated_at", after, limit))
    return [_conversation(row) for row in rows]


def _one(tenant: TenantId, conversation: ConversationId) -> sa.Select[Any]:
    return sa.select(conversations).where(conversations.c.tenant == tenant, conversations.c.id == conversation)


def _conversation(row: Any) -> Conversation:
    return Conversation(
        tenant=row.tenant,
        id=row.id,
        mode=row.mode,
        language=row.language,
        person=row.person,
        paused_by=row.paused_by,
        messages=row.next_seq,
        created_at=moment(row.created_at),
        updated_at=moment(row.updated_at),
    )


def _not_there(what: str) -> NotThere:
    return NotThere(f"There is no such {what}.", fix=f"List the {what}s and use an id from there.")


# --- a person takes over --------------------------------------------------------------------------------------------


def list_escalations(
    connection: sa.Connection, tenants: Tenants, state: EscalationState | None, after: Page | None, limit: int
) -> Sequence[EscalationRow]:
    query = sa.select(escalations).where(_mine(escalations, tenants))
    if state is not None:
        query = query.where(escalations.c.state == state)
    rows = connection.execute(_some(query, escalations, "created_at", after, limit))
    return [_escalation(row) for row in rows]


def get_escalation(connection: sa.Connection, tenants: Tenants, id_: str) -> EscalationRow:
    return _escalation(_escalation_row(connection, tenants, id_))


def pause(connection: sa.Connection, tenants: Tenants, tenant: TenantId, conversation: ConversationId, by: str) -> None:
    """From now on a person answers. A turn under way is finished first; what it says stands before theirs."""
    there: Any = connection.execute(_one(tenant, conversation).where(_mine(conversations, tenants))).one_or_none()
    if there is None:
        raise _not_there("conversation")
    if there.paused_by not in (None, by):
        raise TakenByAnother(f"{there.paused_by} has this conversation.", fix="Ask them to hand it back first.")
    _set(connection, tenant, conversation, paused_by=by)


def hand_back(
    connection: sa.Connection, tenants: Tenants, tenant: TenantId, conversation: ConversationId, by: str
) -> None:
    """The agent answers again. Handing back what nobody has does no harm."""
    there: Any = connection.execute(_one(tenant, conversation).where(_mine(conversations, tenants))).one_or_none()
    if there is None:
        raise _not_there("conversation")
    if there.paused_by not in (None, by):
        raise TakenByAnother(f"{there.paused_by} has this conversation.", fix="Only they can hand it back.")
    _set(connection, tenant, conversation, paused_by=None)


def take_over(connection: sa.Connection, tenants: Tenants, id_: str, by: str, now: datetime) -> EscalationRow:
    row = _escalation_row(connection, tenants, id_)
    if row.state == "resolved":
        raise TakenByAnother("This escalation is resolved.", fix="Take the conversation over instead.")
    if row.state == "taken" and row.taken_by != by:
        raise TakenByAnother(f"{row.taken_by} has this escalation.", fix="Ask them, or choose another one.")
    pause(connection, tenants, row.tenant, row.conversation, by)
    if row.state == "open":
        _update(connection, id_, state="taken", taken_by=by, taken_at=epoch(now))
    return get_escalation(connection, tenants, id_)


def take_conversation(
    connection: sa.Connection, tenants: Tenants, conversation: ConversationId, by: str, id_: str, now: datetime
) -> EscalationRow:
    """Take over a conversation that nobody handed over: by the escalation that waits in it, or by one of one's own, so
    that it is in the inbox and is answered, handed back and resolved like any other."""
    found = get_conversation(connection, tenants, conversation)
    own = (escalations.c.tenant == found.tenant, escalations.c.conversation == conversation)
    unresolved = sa.select(escalations.c.id).where(*own, escalations.c.state != "resolved")
    waiting = connection.execute(unresolved.order_by(escalations.c.created_at.desc()).limit(1)).scalar_one_or_none()
    if waiting is not None:
        return take_over(connection, tenants, str(waiting), by, now)
    said = (messages.c.tenant == found.tenant, messages.c.conversation == conversation)
    last = sa.select(messages.c.turn).where(*said).order_by(messages.c.seq.desc()).limit(1)
    row: Values = {
        "id": id_,
        "tenant": found.tenant,
        "conversation": conversation,
        "turn": connection.execute(last).scalar_one_or_none() or "",
        "reason_code": ReasonCode.WITH_A_PERSON,
        "summary": "",
        "state": "open",
        "created_at": epoch(now),
    }
    insert(connection, escalations, row)
    return take_over(connection, tenants, id_, by, now)


def resolve(connection: sa.Connection, tenants: Tenants, id_: str, by: str, now: datetime) -> EscalationRow:
    """Done with. The agent answers again, and a call whose outcome was unknown may be proposed anew."""
    row = _escalation_row(connection, tenants, id_)
    if row.state == "resolved":
        return _escalation(row)
    if row.state == "taken" and row.taken_by != by:
        raise TakenByAnother(f"{row.taken_by} has this escalation.", fix="Ask them to resolve it.")
    there: Any = connection.execute(_one(row.tenant, row.conversation)).one()
    if there.paused_by == by:
        _set(connection, row.tenant, row.conversation, paused_by=None)
    _update(connection, id_, state="resolved", resolved_by=by, resolved_at=epoch(now))
    told = {
        "id": id_,
        "tenant": row.tenant,
        "conversation": row.conversation,
        "turn": row.turn,
        "reason_code": row.reason_code,
        "summary": row.summary,
        "resolved_by": by,
        "created_at": epoch(now),
    }
    notify(connection, f"{id_}:resolved", "resolved", told, epoch(now))
    if row.execution is not None:
        connection.execute(
            sa.update(tool_executions)
            .where(tool_executions.c.id == row.execution, tool_executions.c.state == "indeterminate")
            .values(reported=True)
        )
    return get_escalation(connection, tenants, id_)


def person_says(
    connection: sa.Connection,
    tenants: Tenants,
    tenant: TenantId,
    conversation: ConversationId,
    by: str,
    text: str,
    turn: TurnId,
    now: datetime,
) -> int:
    """A person's words to the user; the number of the message. Only who has the conversation may speak in it."""
    there: Any = connection.execute(_one(tenant, conversation).where(_mine(conversations, tenants))).one_or_none()
    if there is None:
        raise _not_there("conversation")
    if there.paused_by != by:
        raise TakenByAnother("The agent still answers this conversation.", fix="Take it over first.")
    seq: int = connection.execute(
        sa.update(conversations)
        .where(conversations.c.tenant == tenant, conversations.c.id == conversation)
        .values(next_seq=conversations.c.next_seq + 1, updated_at=epoch(now))
        .returning(conversations.c.next_seq)
    ).scalar_one()
    row: Values = {
        "tenant": tenant,
        "conversation": conversation,
        "seq": seq - 1,
        "turn": turn,
        "role": "assistant",
        "kind": "message",
        "content": clean(text),
        "meta": dumps({"by": "person", "operator": by}),
        "at": epoch(now),
    }
    insert(connection, messages, row)
    return seq - 1


def _set(connection: sa.Connection, tenant: TenantId, conversation: ConversationId, **values: Any) -> None:
    connection.execute(
        sa.update(conversations)
        .where(conversations.c.tenant == tenant, conversations.c.id == conversation)
        .values(values)
    )


def _update(connection: sa.Connection, id_: str, **values: Any) -> None:
    connection.execute(sa.update(escalations).where(escalations.c.id == id_).values(values))


def _escalation_row(connection: sa.Connection, tenants: Tenants, id_: str) -> Any:
    query = sa.select(escalations).where(escalations.c.id == id_, _mine(escalations, tenants)).with_for_update()
    row = connection.execute(query).one_or_none()
    if row is None:
        raise _not_there("escalation")
    return row


def _escalation(row: Any) -> EscalationRow:
    return EscalationRow(
        id=row.id,
        tenant=row.tenant,
        conversation=row.conversation,
        turn=row.turn,
        execution=row.execution,
        reason=codec.reason(row.reason_code),
        summary=row.summary,
        suggestion=row.suggestion,
        state=row.state,
        created_at=moment(row.created_at),
        taken_by=row.taken_by,
        taken_at=_moment(row.taken_at),
        resolved_by=row.resolved_by,
        resolved_at=_moment(row.resolved_at),
    )


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else moment(seconds)


# --- approvals ------------------------------------------------------------------------------------------------------


def list_approvals(
    connection: sa.Connection,
    tenants: Tenants,
    after: Page | None,
    limit: int,
    *,
    waiting: bool = True,
    now: datetime | None = None,
) -> Sequence[Approval]:
    """Those that wait and have not expired (`now`), or all there ever were."""
    query = sa.select(intents).where(intents.c.kind == "approval", _mine(intents, tenants))
    if waiting:
        query = query.where(sa.text(WAITING))
        if now is not None:
            query = query.where(intents.c.expires_at > epoch(now))
    rows = connection.execute(_some(query, intents, "created_at", after, limit))
    return [_approval(row) for row in rows]


def get_approval(connection: sa.Connection, tenants: Tenants, id_: str) -> Approval:
    query = sa.select(intents).where(intents.c.id == id_, intents.c.kind == "approval", _mine(intents, tenants))
    row = connection.execute(query).one_or_none()
    if row is None:
        raise _not_there("approval")
    return _approval(row)


def _approval(row: Any) -> Approval:
    return Approval(codec.intent(row), row.settled_by, _moment(row.settled_at))


# --- clients that propose a call and come back for it ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Waiting:
    """What became of a call that was held when it was proposed."""

    intent: Intent
    execution: Execution | None


def waiting_call(
    connection: sa.Connection, tenant: TenantId, conversation: ConversationId, hash_: str, now: datetime
) -> Waiting | None:
    """The newest intent for exactly this call that its proposer has not collected yet; None when there is none."""
    query = (
        sa.select(intents)
        .where(
            intents.c.tenant == tenant,
            intents.c.conversation == conversation,
            intents.c.hash == hash_,
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
    return Waiting(codec.intent(row), None if ran is None else codec.execution(ran))


def collect(connection: sa.Connection, tenant: TenantId, intent: IntentId) -> None:
    """Its proposer has heard what became of it: the same call proposed again is a new one."""
    connection.execute(
        sa.update(intents)
        .where(intents.c.id == intent, intents.c.tenant == tenant, intents.c.state.in_(("consumed", "denied")))
        .values(state="collected")
    )


# --- clients that send the whole talk each time ----------------------------------------------------------------------


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
    _set(connection, tenant, conversation, thread=thread)


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
    there: Any = connection.execute(_one(tenant, conversation)).one_or_none()
    if there is None or there.next_seq:
        raise StoreError("Only an empty conversation can be given a past.", fix="Use a new conversation.")
    if said:
        rows: list[Values] = [
            {"seq": seq, "role": one["role"], "kind": "message", "content": clean(one["content"])}
            for seq, one in enumerate(said)
        ]
        common: Values = {
            "tenant": tenant,
            "conversation": conversation,
            "turn": turn,
            "meta": dumps({"imported": True}),
            "at": epoch(now),
        }
        insert(connection, messages, *rows, common=common)
        _set(connection, tenant, conversation, next_seq=len(said))
    if ran:
        insert(connection, tool_executions, *(execution_row(one, reported=True) for one in ran))


def conversation_of_key(connection: sa.Connection, tenant: TenantId, key: str) -> ConversationId | None:
    """Where the turn with a client's key took place, whether or not it has ended."""
    query = sa.select(turns.c.conversation).where(turns.c.tenant == tenant, turns.c.client_key == key).limit(1)
    found = connection.execute(query).scalar()
    return None if found is None else ConversationId(found)
