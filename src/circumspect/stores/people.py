"""People in conversations: escalations taken over, words said by a person.

Plain functions on a connection, off the path of a turn. Every one takes `tenants`, the tenants its caller may see (None
is all of them); what belongs to anyone else is not there. A person's words get their number from the conversation's
row, as a turn's do, so the two can come at the same moment.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa

from circumspect.errors import StoreError
from circumspect.journal import PersonReplyEvent
from circumspect.reasons import ReasonCode
from circumspect.stores.codec import check_identifiers, clean, dumps, epoch, read_row, reason
from circumspect.stores.day_counts import count_escalation, count_escalation_beside_turns
from circumspect.stores.ledger import notify
from circumspect.stores.statements import SqlValues, insert, run, sql
from circumspect.stores.tables import KNOWN, conversations, escalations, intents, messages
from circumspect.stores.told_outcomes import is_unknown, tell_outcome
from circumspect.values import ConversationId, Language, Mode, TenantId, ToldOutcome, TurnId

EscalationState = Literal["open", "taken", "resolved"]
VisibleTenants = Collection[str] | None


class NotThere(StoreError):
    """There is no such row, or it belongs to somebody else; the two are not told apart."""

    code = "not_found"


class TakenByAnother(StoreError):
    code = "taken"


class OutcomeNeeded(StoreError):
    """An escalation about a call is resolved by saying what became of the call, any other without."""

    code = "outcome_needed"


@dataclass(frozen=True, slots=True)
class StoredConversation:
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
    """A conversation that waits for a person. `execution` names the call where its outcome was what nobody knew, and
    `asks_outcome` says that it still is."""

    id: str
    tenant: TenantId
    conversation: ConversationId
    turn: TurnId
    execution: str | None
    asks_outcome: bool
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
class ListCursor:
    """Where a list goes on: the sort key of the last row seen."""

    at: float
    id: str


def belongs_to(table: sa.Table, tenants: VisibleTenants) -> sa.ColumnElement[bool]:
    return sa.true() if tenants is None else table.c.tenant.in_(sorted(tenants))


MOST_WALKS = 50
"""Tenants that are looked through one by one; of more, all rows are walked, since most of them will be theirs."""


def newest_first(
    query: sa.Select[Any],
    table: sa.Table,
    time: str,
    tenants: VisibleTenants,
    after: ListCursor | None,
    limit: int,
    *,
    key: str = "id",
) -> sa.Select[Any]:
    """The newest of these tenants' rows first, from there on. A row that comes in meanwhile moves nothing.

    One walk along the index for each tenant, and the newest of what they found: asked for several at once, a database
    would read and sort all that they have.
    """
    if after is not None:
        query = query.where(sa.tuple_(table.c[time], table.c[key]) < sa.tuple_(sa.literal(after.at), after.id))
    return _walk(query, table, tenants, lambda columns: (columns[time].desc(), columns[key].desc()), limit)


def oldest_first(
    query: sa.Select[Any], table: sa.Table, tenants: VisibleTenants, after: ListCursor | None, limit: int
) -> sa.Select[Any]:
    """The same from the other end: what was made first, first."""
    if after is not None:
        query = query.where(sa.tuple_(table.c.created_at, table.c.id) > sa.tuple_(sa.literal(after.at), after.id))
    return _walk(query, table, tenants, lambda columns: (columns["created_at"], columns["id"]), limit)


def _walk(
    query: sa.Select[Any], table: sa.Table, tenants: VisibleTenants, order: Callable[[Any], Any], limit: int
) -> sa.Select[Any]:
    def sort(some: sa.Select[Any], columns: Any) -> sa.Select[Any]:
        return some.order_by(*order(columns)).limit(limit)

    if tenants is None or len(tenants) == 0 or len(tenants) > MOST_WALKS:
        return sort(query.where(belongs_to(table, tenants)), table.c)
    walks = [sort(query.where(table.c.tenant == one), table.c) for one in sorted(tenants)]
    if len(walks) == 1:
        return walks[0]
    found = sa.union_all(*(sa.select(walk.subquery()) for walk in walks)).subquery()
    return sort(sa.select(found), found.c)


# --- conversations --------------------------------------------------------------------------------------------------


def create_conversation(
    connection: sa.Connection,
    tenant: TenantId,
    conversation: ConversationId,
    mode: Mode,
    now: datetime,
    *,
    drawn: bool = False,
    person: str | None = None,
    language: Language | None = None,
) -> StoredConversation:
    """The conversation of that id, made if there is none yet; one that is somebody else's is not there. A mode that was
    `drawn` it keeps."""
    check_identifiers(tenant, conversation, person)
    there: Any = connection.execute(row_of(tenant, conversation)).one_or_none()
    if there is None:
        row: SqlValues = {
            "tenant": tenant,
            "id": conversation,
            "mode": mode,
            "drawn": drawn,
            "language": language,
            "next_seq": 0,
            "lease_until": 0.0,
            "calls": False,
            "created_at": epoch(now),
            "updated_at": epoch(now),
            "person": person,
        }
        insert(connection, conversations, row)
        there = connection.execute(row_of(tenant, conversation)).one()
    return require_owner(_conversation(there), person)


def get_conversation(
    connection: sa.Connection,
    tenants: VisibleTenants,
    conversation: ConversationId,
    *,
    person: str | None = None,
) -> StoredConversation:
    """Where several tenants are visible, an id names one conversation only if no two of them use it. With a `person`,
    only one that is not somebody else's."""
    query = sa.select(conversations).where(conversations.c.id == conversation, belongs_to(conversations, tenants))
    rows = connection.execute(query.limit(2)).all()
    if len(rows) != 1:
        raise not_there("conversation")
    found = _conversation(rows[0])
    return found if person is None else require_owner(found, person)


def get_own_conversation(
    connection: sa.Connection, tenant: TenantId, conversation: ConversationId, person: str | None
) -> StoredConversation:
    return require_owner(get_conversation(connection, frozenset({tenant}), conversation), person)


_WHOSE = sql("SELECT person FROM conversations WHERE tenant = :tenant AND id = :conversation")


def require_own_conversation(
    connection: sa.Connection, tenant: TenantId, conversation: ConversationId, person: str | None
) -> None:
    """`get_own_conversation` for whoever wants to know no more than that it is there."""
    row = run(connection, _WHOSE, {"tenant": tenant, "conversation": conversation}).fetchone()
    if row is None or row[0] not in (None, person):
        raise not_there("conversation")


def require_owner(found: StoredConversation, person: str | None) -> StoredConversation:
    """A conversation belongs to the first person it was given. For anybody else, and for who does not say who they are,
    it is not there."""
    if found.person not in (None, person):
        raise not_there("conversation")
    return found


def list_conversations(
    connection: sa.Connection,
    tenants: VisibleTenants,
    after: ListCursor | None,
    limit: int,
    *,
    person: str | None = None,
) -> Sequence[StoredConversation]:
    """The most recently used first."""
    query = sa.select(conversations)
    if person is not None:
        query = query.where(conversations.c.person == person, sa.text(KNOWN))
    rows = connection.execute(newest_first(query, conversations, "updated_at", tenants, after, limit))
    return [_conversation(row) for row in rows]


def row_of(tenant: TenantId, conversation: ConversationId) -> sa.Select[Any]:
    return sa.select(conversations).where(conversations.c.tenant == tenant, conversations.c.id == conversation)


def _visible_row(
    connection: sa.Connection, tenants: VisibleTenants, tenant: TenantId, conversation: ConversationId
) -> Any:
    query = row_of(tenant, conversation).where(belongs_to(conversations, tenants))
    there = connection.execute(query).one_or_none()
    if there is None:
        raise not_there("conversation")
    return there


def _conversation(row: Any) -> StoredConversation:
    return read_row(StoredConversation, row, messages=row.next_seq)


def not_there(what: str) -> NotThere:
    return NotThere(f"There is no such {what}.", fix=f"List the {what}s and use an id from there.")


# --- a person takes over --------------------------------------------------------------------------------------------


def list_escalations(
    connection: sa.Connection,
    tenants: VisibleTenants,
    state: EscalationState | None,
    after: ListCursor | None,
    limit: int,
) -> Sequence[EscalationRow]:
    query = _ESCALATIONS if state is None else _ESCALATIONS.where(escalations.c.state == state)
    rows = connection.execute(newest_first(query, escalations, "created_at", tenants, after, limit))
    return [_escalation(row) for row in rows]


def get_escalation(connection: sa.Connection, tenants: VisibleTenants, id_: str) -> EscalationRow:
    return _escalation(_escalation_row(connection, tenants, id_))


def pause(
    connection: sa.Connection,
    tenants: VisibleTenants,
    tenant: TenantId,
    conversation: ConversationId,
    by: str,
    away_from: str | None = None,
) -> None:
    """From now on a person answers. A turn under way is finished first; what it says stands before theirs. Taken away
    from a colleague, it is from that one and no other."""
    there = _visible_row(connection, tenants, tenant, conversation)
    if there.paused_by not in (None, by, away_from):
        raise TakenByAnother(f"{there.paused_by} has this conversation.", fix="Ask them to hand it back first.")
    change(connection, tenant, conversation, paused_by=by)


def hand_back(
    connection: sa.Connection, tenants: VisibleTenants, tenant: TenantId, conversation: ConversationId, by: str
) -> None:
    """The agent answers again. Handing back what nobody has does no harm."""
    there = _visible_row(connection, tenants, tenant, conversation)
    if there.paused_by not in (None, by):
        raise TakenByAnother(f"{there.paused_by} has this conversation.", fix="Only they can hand it back.")
    change(connection, tenant, conversation, paused_by=None)


def take_over(
    connection: sa.Connection, tenants: VisibleTenants, id_: str, by: str, now: datetime, away_from: str | None = None
) -> EscalationRow:
    row = _escalation_row(connection, tenants, id_)
    if row.state == "resolved":
        raise TakenByAnother("This escalation is resolved.", fix="Take the conversation over instead.")
    if row.state == "taken" and row.taken_by not in (by, away_from):
        raise TakenByAnother(
            f"{row.taken_by} has this escalation.",
            fix="Ask them, choose another one, or have an administrator take it from them.",
        )
    pause(connection, tenants, row.tenant, row.conversation, by, away_from)
    if row.taken_by != by:
        _update(connection, id_, state="taken", taken_by=by, taken_at=epoch(now))
    return get_escalation(connection, tenants, id_)


def take_conversation(
    connection: sa.Connection, tenants: VisibleTenants, conversation: ConversationId, by: str, id_: str, now: datetime
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
    row: SqlValues = {
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
    count_escalation(connection, found.tenant, now)
    count_escalation_beside_turns(connection, found.tenant, conversation, now)
    return take_over(connection, tenants, id_, by, now)


def resolve(
    connection: sa.Connection,
    tenants: VisibleTenants,
    id_: str,
    by: str,
    now: datetime,
    outcome: ToldOutcome | None = None,
) -> EscalationRow:
    """Done with; the agent answers again. A call whose outcome nobody knew is closed as what it came to. While that is
    still unknown, the escalation waits on, for whoever finds out."""
    row = _escalation_row(connection, tenants, id_)
    if row.state == "resolved":
        if row.resolved_by != by:
            raise TakenByAnother(f"{row.resolved_by} has resolved this escalation.", fix="Look at it again.")
        return _escalation(row)
    if row.state == "taken" and row.taken_by != by:
        raise TakenByAnother(f"{row.taken_by} has this escalation.", fix="Ask them to resolve it.")
    _check_outcome(row, outcome)
    there: Any = connection.execute(row_of(row.tenant, row.conversation)).one()
    if there.paused_by == by:
        change(connection, row.tenant, row.conversation, paused_by=None)
    if outcome:
        tell_outcome(connection, id_, row.execution, outcome, by, now)
    if outcome == "unknown":
        _update(connection, id_, state="open", taken_by=None, taken_at=None)
        return get_escalation(connection, tenants, id_)
    _update(connection, id_, state="resolved", resolved_by=by, resolved_at=epoch(now))
    told = {
        "id": id_,
        "tenant": row.tenant,
        "conversation": row.conversation,
        "turn": row.turn,
        "reason_code": row.reason_code,
        "summary": row.summary,
        "resolved_by": by,
        "outcome": outcome,
        "created_at": epoch(now),
    }
    notify(connection, f"{id_}:resolved", "resolved", told, row.tenant, row.conversation)
    return get_escalation(connection, tenants, id_)


def _check_outcome(row: Any, outcome: ToldOutcome | None) -> None:
    if row.asks_outcome and outcome is None:
        raise OutcomeNeeded(
            "Nobody knows yet how the call of this escalation ended.",
            fix="Look it up, and say the outcome: happened, not (it did not happen) or unknown (still).",
        )
    if outcome and not row.asks_outcome:
        raise OutcomeNeeded(
            "This escalation is about no call whose outcome is unknown.", fix="Resolve it without an outcome."
        )


def settle_approvals(
    connection: sa.Connection, tenant: TenantId, conversation: ConversationId, by: str, now: datetime
) -> None:
    """Where nothing waits for an approval any more, what called for one is done with, unless a colleague is at it."""
    waits = sa.select(intents.c.id).where(
        intents.c.tenant == tenant,
        intents.c.conversation == conversation,
        intents.c.kind == "approval",
        sa.text("state = 'pending'"),
    )
    if connection.execute(waits.limit(1)).first() is not None:
        return
    called = sa.select(escalations.c.id).where(
        escalations.c.tenant == tenant,
        escalations.c.conversation == conversation,
        escalations.c.reason_code == ReasonCode.APPROVAL_REQUIRED,
        sa.or_(escalations.c.state == "open", escalations.c.taken_by == by),
        escalations.c.state != "resolved",
    )
    for id_ in connection.execute(called).scalars().all():
        with contextlib.suppress(TakenByAnother):
            resolve(connection, frozenset({tenant}), id_, by, now)


def person_says(
    connection: sa.Connection,
    tenants: VisibleTenants,
    tenant: TenantId,
    conversation: ConversationId,
    by: str,
    text: str,
    turn: TurnId,
    now: datetime,
) -> int:
    """A person's words to the user; the number of the message. Only who has the conversation may speak in it."""
    there = _visible_row(connection, tenants, tenant, conversation)
    if there.paused_by != by:
        raise TakenByAnother("The agent still answers this conversation.", fix="Take it over first.")
    seq: int = connection.execute(
        sa.update(conversations)
        .where(conversations.c.tenant == tenant, conversations.c.id == conversation)
        .values(next_seq=conversations.c.next_seq + 1, updated_at=epoch(now))
        .returning(conversations.c.next_seq)
    ).scalar_one()
    row: SqlValues = {
        "tenant": tenant,
        "conversation": conversation,
        "seq": seq - 1,
        "turn": turn,
        "role": "assistant",
        "kind": "message",
        "content": clean(text),
        "meta": dumps(PersonReplyEvent(text, operator=by).to_json()),
        "at": epoch(now),
    }
    insert(connection, messages, row)
    return seq - 1


def change(connection: sa.Connection, tenant: TenantId, conversation: ConversationId, **values: Any) -> None:
    connection.execute(
        sa.update(conversations)
        .where(conversations.c.tenant == tenant, conversations.c.id == conversation)
        .values(values)
    )


def _update(connection: sa.Connection, id_: str, **values: Any) -> None:
    connection.execute(sa.update(escalations).where(escalations.c.id == id_).values(values))


_ESCALATIONS = sa.select(escalations, is_unknown(escalations.c.execution).label("asks_outcome"))


def _escalation_row(connection: sa.Connection, tenants: VisibleTenants, id_: str) -> Any:
    query = _ESCALATIONS.where(escalations.c.id == id_, belongs_to(escalations, tenants)).with_for_update()
    row = connection.execute(query).one_or_none()
    if row is None:
        raise not_there("escalation")
    return row


def _escalation(row: Any) -> EscalationRow:
    return read_row(EscalationRow, row, reason=reason(row.reason_code))
