"""open_turn: claim a conversation, store the user's message, read what the turn needs. One transaction.

Plain functions on a connection. A plain turn is four statements: the claim makes the conversation if it is new, takes
the lease if it is free, numbers the message and says whether there is an intent, an interrupted turn or a call to look
at; only then are those asked for. Nobody waits for the disk: nothing has happened until a call is begun or the turn is
closed, which wait for it, and a message that a power cut took along is sent again.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from circumspect.errors import ConversationBusy, NotYourConversation, StoreError
from circumspect.journal import ButtonAnswerEvent, UserMessageEvent
from circumspect.reasons import ReasonCode
from circumspect.stores import codec, database_time
from circumspect.stores.codec import check_identifiers, clean, dumps, epoch, loads_object
from circumspect.stores.lasting_files import require_room
from circumspect.stores.ledger import take_back
from circumspect.stores.statements import Rows, SqlValues, roll_back, run, sql, synced_later
from circumspect.stores.tables import LOOKED_AT, VISIBLE, intents, tool_executions, turns
from circumspect.stores.told_outcomes import has_happened
from circumspect.values import (
    ANONYMOUS,
    Abandoned,
    ClientResults,
    Execution,
    Incoming,
    Mode,
    Opened,
    PersonDecision,
    TurnResult,
    Usage,
)

SKEW_SECONDS = 600.0
"""A lease that ends later than ours would by so much was taken before the clock was set back: nobody holds it."""

_CLAIM = sql("""
    INSERT INTO conversations
        (tenant, id, mode, drawn, next_seq, lease_token, lease_until, turn, calls, created_at, updated_at, person)
    VALUES (:tenant, :conversation, :mode, :drawn, 1, :token, :until, :turn, FALSE, :now, :now, :person)
    ON CONFLICT (tenant, id) DO UPDATE SET
        next_seq = conversations.next_seq + 1,
        lease_token = excluded.lease_token,
        lease_until = excluded.lease_until,
        turn = COALESCE(conversations.turn, excluded.turn),
        person = COALESCE(conversations.person, excluded.person),
        updated_at = excluded.updated_at
    WHERE conversations.lease_token IS NULL OR conversations.lease_until <= :time
       OR conversations.lease_until > :impossible
    RETURNING mode, drawn, language, next_seq, turn, intent, calls, paused_by, CAST(wishes AS TEXT), person
""")

_DRAW = sql("UPDATE conversations SET mode = :mode, drawn = TRUE WHERE tenant = :tenant AND id = :conversation")

_PERSON = sql("SELECT person FROM conversations WHERE tenant = :tenant AND id = :conversation")

_HISTORY = sql(f"""
    SELECT {codec.MESSAGE_COLUMNS} FROM messages
    WHERE tenant = :tenant AND conversation = :conversation AND seq <> :own AND {VISIBLE}
    ORDER BY seq DESC LIMIT :history
""")  # noqa: S608

_BEGIN = (
    sql("""
        INSERT INTO turns (id, tenant, conversation, client_key, account, status, mode, first_seq, started_at)
        VALUES (:turn, :tenant, :conversation, :key, :account, 'started', :mode, :own, :now)
    """),
    sql("""
        INSERT INTO messages (tenant, conversation, seq, turn, role, kind, content, meta, at)
        VALUES (:tenant, :conversation, :own, :turn, :role, :kind, :content, :meta, :now)
    """),
)

_RUN_AGAIN = (
    sql("UPDATE turns SET id = :turn, status = 'started', started_at = :now WHERE id = :earlier"),
    sql("""
        UPDATE messages SET turn = :turn, content = :content, meta = :meta
        WHERE tenant = :tenant AND conversation = :conversation AND seq = :own
    """),
    sql("""
        UPDATE tool_executions SET turn = :turn
        WHERE tenant = :tenant AND conversation = :conversation AND turn = :earlier
    """),
)

_SAME = sa.select(turns.c.id, turns.c.status, turns.c.first_seq, turns.c.result).where(
    turns.c.tenant == sa.bindparam("tenant"), turns.c.conversation == sa.bindparam("conversation")
)
_BY_KEY = _SAME.where(turns.c.client_key == sa.bindparam("key"))
_BY_ID = _SAME.where(turns.c.id == sa.bindparam("turn"))

_OVERTAKEN = sql("""
    SELECT 1 FROM turns WHERE tenant = :tenant AND conversation = :conversation AND first_seq > :own LIMIT 1
""")

_INTENT = Rows(intents, "WHERE id = :intent AND tenant = :tenant AND conversation = :conversation")

_LOOKED_AT = Rows(
    tool_executions,
    f"WHERE tenant = :tenant AND conversation = :conversation AND {LOOKED_AT} ORDER BY started_at",
)

_OWN_CALLS = Rows(
    tool_executions,
    """
    WHERE tenant = :tenant AND conversation = :conversation AND turn = :turn AND effect <> 'read'
    ORDER BY started_at
    """,
)

_INTERRUPTED = sql("UPDATE turns SET status = 'interrupted' WHERE id = :turn AND status = 'started'")

_TAKE_OVER = sql("""
    UPDATE conversations SET turn = :turn, next_seq = :next_seq WHERE tenant = :tenant AND id = :conversation
""")


@synced_later
def open_turn(
    connection: sa.Connection,
    incoming: Incoming,
    mode: Mode,
    history: int,
    token: str,
    lease_seconds: float,
    *,
    drawn: bool = False,
    hears_late: bool = False,
) -> Opened:
    """`hears_late`: a decision on what was decided before is a turn all the same, which says what became of it."""
    require_room(connection)
    check_identifiers(incoming.tenant, incoming.conversation, incoming.turn, incoming.key, incoming.person)
    now = epoch(incoming.at)
    turn: SqlValues = {
        "tenant": incoming.tenant,
        "conversation": incoming.conversation,
        "turn": incoming.turn,
        "now": now,
    }
    time = database_time.read(connection)
    claim = {
        **turn,
        "mode": mode,
        "drawn": drawn,
        "token": token,
        "time": time,
        "until": time + lease_seconds,
        "person": incoming.person,
        "impossible": time + lease_seconds + SKEW_SECONDS,
    }
    if incoming.begun and run(connection, _PERSON, turn).fetchone() is None:
        raise _not_theirs()
    claimed = run(connection, _CLAIM, claim).fetchone()
    _require_owner(connection, incoming, turn, claimed)
    # Asked only now: while we waited for the row, another worker may have answered this very key.
    earlier = _find_earlier(connection, incoming, turn)
    if earlier is not None and earlier.status == "done":
        roll_back(connection)
        return _open_answered(codec.result(earlier.result), token)
    if claimed is None:
        raise ConversationBusy(
            "Another worker is answering this conversation.", fix="Send the message again in a few seconds."
        )
    kept, was_drawn, language, next_seq, claimed_turn, intent, calls, paused_by, wishes, person = claimed
    if earlier is None and not hears_late and _is_late(connection, incoming, turn):
        roll_back(connection)
        return _open_answered(_make_late_result(incoming, kept), token)
    if drawn and not was_drawn:
        run(connection, _DRAW, {**turn, "mode": mode})
    else:
        mode = kept
    if claimed_turn != incoming.turn:
        run(connection, _INTERRUPTED, {"turn": claimed_turn})
    # A message that is there already keeps its place; the one that the claim set aside goes back.
    own, next_seq = (next_seq - 1, next_seq) if earlier is None else (earlier.first_seq, next_seq - 1)
    said = _describe_speaker(incoming)
    values: SqlValues = {
        **turn,
        "own": own,
        "mode": mode,
        "key": incoming.key,
        "account": clean(incoming.account) or None,
        "role": "user" if incoming.is_said else "internal",
        "kind": "message" if incoming.is_said else "intent",
        "content": clean(incoming.note),
        "meta": None if said is None else dumps(said.to_json()),
        "earlier": None if earlier is None else earlier.id,
    }
    if not isinstance(incoming.errand, Abandoned):
        for statement in _BEGIN if earlier is None else _RUN_AGAIN:
            run(connection, statement, values)
    if earlier is not None or claimed_turn != incoming.turn:
        run(connection, _TAKE_OVER, {**turn, "next_seq": next_seq})
    errand = incoming.errand
    if returned := errand.returned if isinstance(errand, ClientResults) else incoming.returned:
        take_back(connection, incoming.tenant, incoming.conversation, returned, now)
    if isinstance(errand, PersonDecision):
        intent = errand.intent
    rows = run(connection, _HISTORY, {**turn, "own": own, "history": history}).fetchall() if history else []
    asked = _INTENT.find(connection, {**turn, "intent": intent}) if intent else None
    looked_at = _LOOKED_AT.read(connection, turn) if calls else ()
    return Opened(
        token=token,
        mode=mode,
        language=language,
        history=tuple([codec.message_of(row) for row in reversed(rows)]),
        next_seq=next_seq,
        intent=None if asked is None else codec.intent(asked),
        unsettled=tuple(codec.execution(row) for row in looked_at if not row.reported),
        happened=tuple(codec.execution(row) for row in looked_at if has_happened(row)),
        paused_by=paused_by or "",
        person=person,
        # A message that is sent again was written when it first came, whatever was asked since.
        waited=asked is not None and asked.question_seq > own,
        before=_list_own_calls(connection, turn) if earlier is not None else (),
        wishes=loads_object(wishes) if wishes and earlier is None else None,
        overtaken=earlier is not None and run(connection, _OVERTAKEN, values).fetchone() is not None,
    )


def _describe_speaker(incoming: Incoming) -> UserMessageEvent | None:
    """Who says it, and by which button; None where there is nothing to add to the words."""
    who: Any = {"principal": incoming.principal, "claims": incoming.claims or None}
    if isinstance(incoming.errand, PersonDecision) and incoming.errand.words:
        return ButtonAnswerEvent(incoming.errand.words, button=incoming.errand.intent, **who)
    return None if incoming.principal == ANONYMOUS else UserMessageEvent(incoming.text, **who)


def _list_own_calls(connection: sa.Connection, turn: SqlValues) -> tuple[Execution, ...]:
    return tuple(codec.execution(row) for row in _OWN_CALLS.read(connection, turn))


def _find_earlier(connection: sa.Connection, incoming: Incoming, turn: SqlValues) -> Any:
    """The row of this very turn, where it was begun before."""
    found = connection.execute(_BY_KEY, {**turn, "key": incoming.key}).one_or_none() if incoming.key else None
    if found is None and incoming.again:
        found = connection.execute(_BY_ID, turn).one_or_none()
        if found is None:
            raise StoreError("The turn is not there any more.", fix="Nothing was written: it was deleted.")
    return found


def _require_owner(connection: sa.Connection, incoming: Incoming, turn: SqlValues, claimed: Any) -> None:
    """A conversation belongs to the first person it was given. Nobody else speaks in it or hears what was said, and who
    does not say who they are is somebody else; only a colleague decides there in their own name, on what is theirs."""
    found = run(connection, _PERSON, turn).fetchone() if claimed is None else claimed[-1:]
    if found is None or found[0] in (None, incoming.person) or _decides_as_colleague(connection, incoming, turn):
        return
    raise _not_theirs()


def _not_theirs() -> NotYourConversation:
    return NotYourConversation(
        "There is no such conversation.", fix="Check the id, and that you say whose it is as when it began."
    )


def _decides_as_colleague(connection: sa.Connection, incoming: Incoming, turn: SqlValues) -> bool:
    return _find_approval(connection, incoming, turn) is not None


def _is_late(connection: sa.Connection, incoming: Incoming, turn: SqlValues) -> bool:
    """Asked while the conversation is held, so that nobody else decides before this turn has."""
    asked = _find_approval(connection, incoming, turn)
    return asked is not None and asked.state != "pending"


def _find_approval(connection: sa.Connection, incoming: Incoming, turn: SqlValues) -> Any:
    """The row of the approval that a colleague decides on; None where this is no such decision."""
    if not isinstance(incoming.errand, PersonDecision):
        return None
    asked = _INTENT.find(connection, {**turn, "intent": incoming.errand.intent})
    return asked if asked is not None and asked.kind == "approval" else None


def _make_late_result(incoming: Incoming, mode: Mode) -> TurnResult:
    missing = (ReasonCode.PENDING_INTENT_MISSING,)
    return TurnResult(incoming.turn, incoming.conversation, "asked", "", missing, None, Usage(mode), late=True)


def _open_answered(result: TurnResult, token: str) -> Opened:
    return Opened(
        token, result.usage.mode, result.language, history=(), next_seq=0, intent=result.pending, answered=result
    )
