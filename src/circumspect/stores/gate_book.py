"""SqlBook: what a gate decided, in the tables of our own turns. One transaction for each ruling.

A ruling is a turn in which nobody spoke to us: it claims the conversation, decides, and gives it back before anybody
else sees that it was claimed. So the console, replays, limits and deletions know it like any other turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from circumspect.errors import ConversationBusy
from circumspect.gating.book import (
    HEARD,
    TAIL,
    Decide,
    Reach,
    Standing,
    StoredRuling,
    Taken,
    Words,
    decide_taking,
    name_dropped_kind,
    used_before,
)
from circumspect.journal import ImportedMessageEvent
from circumspect.ports import Ids
from circumspect.stores import admin, codec, database_time
from circumspect.stores.codec import clean, dumps, epoch
from circumspect.stores.ledger import begin_call, execution_row, finish_call
from circumspect.stores.sql import SqlStore
from circumspect.stores.statements import Rows, SqlValues, insert, roll_back, run, sql
from circumspect.stores.tables import intents, messages, tool_executions
from circumspect.stores.turn_closing import close_turn
from circumspect.stores.turn_marks import mark_tool, put_marks
from circumspect.stores.turn_opening import open_turn
from circumspect.values import (
    Execution,
    ExecutionId,
    Incoming,
    Intent,
    IntentId,
    TenantId,
    TurnId,
)

LEASE_SECONDS = 20.0
"""Nobody ever sees it: it is given back in the transaction that takes it."""

_ASKED = Rows(
    intents,
    """
    WHERE tenant = :tenant AND conversation = :conversation AND hash = :hash AND state IN ('pending', 'denied')
    ORDER BY created_at
    """,
)
_PUT = Rows(
    intents,
    """
    WHERE tenant = :tenant AND conversation = :conversation AND (
        state = 'pending' OR created_at >= :since OR id IN (
            SELECT intent FROM tool_executions
            WHERE tenant = :tenant AND conversation = :conversation AND state = 'delegated'))
    ORDER BY created_at
    """,
)
_INTENT = Rows(intents, "WHERE tenant = :tenant AND id = :id")
_SPOKE = sql("""
    SELECT max(seq) FROM messages WHERE tenant = :tenant AND conversation = :conversation AND role = 'user'
""")
_HEARD = sql(f"""
    SELECT seq, content FROM messages
    WHERE tenant = :tenant AND conversation = :conversation AND role = 'user' AND seq > :since
    ORDER BY seq DESC LIMIT {HEARD}
""")  # noqa: S608
_LATER = sql(f"""
    SELECT at, content FROM messages
    WHERE tenant = :tenant AND conversation = :conversation AND role = 'user' AND at > :since
    ORDER BY seq DESC LIMIT {HEARD}
""")  # noqa: S608
_TAIL = sql(f"""
    SELECT role, content FROM messages
    WHERE tenant = :tenant AND conversation = :conversation AND role IN ('user', 'assistant')
    ORDER BY seq DESC LIMIT {TAIL}
""")  # noqa: S608
_PERSON = sql("SELECT person FROM conversations WHERE tenant = :tenant AND id = :conversation")
_NUMBER = sql("""
    UPDATE conversations SET next_seq = next_seq + :count WHERE tenant = :tenant AND id = :conversation
    RETURNING next_seq
""")
_COLLECT = sql("""
    UPDATE intents SET state = 'collected' WHERE id = :intent AND tenant = :tenant AND state IN ('denied', 'consumed')
""")
# Under another token than it had: whoever is about to take it finds it changed.
_VOID = sql("""
    UPDATE tool_executions SET reason_code = :reason, error = :words, finished_at = :at, token = 'void'
    WHERE id = :id AND tenant = :tenant AND state = 'delegated' AND token = :before
""")
_DROP = sql("""
    UPDATE intents SET state = 'denied', settled_at = :at
    WHERE id = :intent AND tenant = :tenant AND state = 'consumed' AND kind = :kind
""")
_TAKE = sql("""
    UPDATE tool_executions SET state = 'started', token = :token, lease_until = :until, reported = FALSE
    WHERE id = :id AND state = :state AND token = :before
""")
_LOOK = sql("UPDATE conversations SET calls = TRUE WHERE tenant = :tenant AND id = :conversation")
_TOLD = sql("UPDATE tool_executions SET reported = TRUE WHERE id = :id AND state = 'succeeded'")


class SqlBook:
    def __init__(self, store: SqlStore, ids: Ids) -> None:
        self._store, self._ids = store, ids

    async def enter(
        self, incoming: Incoming, call_hash: str, decide: Decide, reach: Reach | None, *, tail: bool
    ) -> None:
        await self._store.tx(_enter, incoming, call_hash, decide, reach, tail, self._ids.new("lease"))

    async def take(
        self,
        tenant: TenantId,
        execution: ExecutionId | None,
        intent: IntentId | None,
        token: str,
        seconds: float,
        *,
        reports: bool = False,
    ) -> Taken | None:
        return await self._store.tx(_take, tenant, execution, intent, token, seconds, reports)

    async def end(self, ended: Execution) -> bool:
        return await self._store.tx(_end, ended)

    async def add(self, ended: Execution) -> None:
        await self._store.tx(_add, ended)

    async def recall(self, tenant: TenantId, ruling: TurnId) -> StoredRuling | None:
        return await self._store.tx(_recall, tenant, ruling)

    async def find_intent(self, tenant: TenantId, intent: IntentId) -> Intent | None:
        return await self._store.tx(_find_intent, tenant, intent)


def _enter(
    connection: sa.Connection,
    incoming: Incoming,
    call_hash: str,
    decide: Decide,
    reach: Reach | None,
    tail: bool,
    token: str,
) -> None:
    opened = open_turn(connection, incoming, "adaptive", 0, token, LEASE_SECONDS, hears_late=True)
    where: dict[str, Any] = {"tenant": incoming.tenant, "conversation": incoming.conversation}
    questions = [codec.intent(row) for row in _ASKED.read(connection, {**where, "hash": call_hash})]
    spoke = run(connection, _SPOKE, where).fetchone()[0] if questions else None
    asked = [*questions, *((opened.intent,) if opened.intent else ())]
    since = min((one.question_seq for one in asked), default=0)
    heard = run(connection, _HEARD, {**where, "since": since}).fetchall() if asked else ()
    words = reversed(run(connection, _TAIL, where).fetchall()) if tail else ()
    ran = admin.get_executions(connection, incoming.tenant, incoming.conversation)
    begun = min((epoch(one.started_at) for one in ran if one.state == "delegated"), default=None)
    later = () if begun is None else reversed(run(connection, _LATER, {**where, "since": begun}).fetchall())
    put = () if begun is None else [codec.intent(row) for row in _PUT.read(connection, {**where, "since": begun})]
    decided = decide(
        Standing(
            opened,
            ran,
            _find_elsewhere(connection, incoming, reach) if reach else (),
            questions,
            -1 if spoke is None else spoke,
            [(int(seq), str(text)) for seq, text in heard],
            [(codec.moment(at), str(text)) for at, text in later],
            put,
            tuple((str(role), str(text)) for role, text in words),
        )
    )
    if decided.said:
        _import_words(connection, incoming, decided.said, epoch(decided.closing.at))
    for one in decided.voided:
        _void(connection, one)
    handed = decided.execution
    if handed and not begin_call(connection, handed, token, decided.by):
        raise used_before()
    close_turn(connection, decided.closing)
    if handed:
        put_marks(
            connection, incoming.tenant, incoming.conversation, incoming.turn, epoch(decided.closing.at),
            {mark_tool(handed.call.tool)},
        )  # fmt: skip
    if decided.collected:
        run(connection, _COLLECT, {"intent": decided.collected, "tenant": incoming.tenant})


def _void(connection: sa.Connection, one: Execution) -> None:
    at = epoch(one.finished_at or one.started_at)
    values: SqlValues = {"id": one.id, "tenant": one.tenant, "before": one.token, "at": at}
    if not run(connection, _VOID, {**values, "reason": str(one.reason), "words": clean(one.error)}).rowcount:
        roll_back(connection)  # somebody has just begun to run it: look again
        raise ConversationBusy("The call is being run.", fix="Try again.")
    if one.intent:
        run(connection, _DROP, {"intent": one.intent, "tenant": one.tenant, "kind": name_dropped_kind(one), "at": at})


def _find_elsewhere(connection: sa.Connection, incoming: Incoming, reach: Reach) -> Sequence[tuple[Execution, bool]]:
    since = epoch(reach.since)
    own: Sequence[Execution] = ()
    if reach.by_person:
        own = admin.get_recent_executions(connection, incoming.tenant, reach.tools, since, incoming.person or "")
    found = own
    if reach.by_tenant:
        found = admin.get_recent_executions(connection, incoming.tenant, reach.tools, since)
    theirs = {one.id for one in own}
    here = incoming.conversation
    return [(one, one.id in theirs) for one in found if one.conversation != here and one.runner != "import"]


def _import_words(connection: sa.Connection, incoming: Incoming, said: Sequence[Words], now: float) -> None:
    where: SqlValues = {"tenant": incoming.tenant, "conversation": incoming.conversation}
    next_seq = run(connection, _NUMBER, {**where, "count": len(said)}).fetchone()[0]
    rows: list[SqlValues] = [
        {"seq": seq, "role": speaker, "kind": "message", "content": clean(text)}
        for seq, (speaker, text) in enumerate(said, next_seq - len(said))
    ]
    meta = dumps(ImportedMessageEvent("").to_json())
    insert(connection, messages, *rows, common={**where, "turn": incoming.turn, "meta": meta, "at": now})


def _take(
    connection: sa.Connection,
    tenant: TenantId,
    execution: ExecutionId | None,
    intent: IntentId | None,
    token: str,
    seconds: float,
    reports: bool,
) -> Taken | None:
    row: Any = connection.execute(_named(tenant, execution, intent)).one_or_none()
    if row is None:
        return None
    found = codec.execution(row)
    time = database_time.read(connection)
    # Leases go by the database's time, which all workers share.
    may, left = decide_taking(found, codec.moment(time), reports)
    if may:
        until = time + seconds
        values: SqlValues = {
            "id": found.id, "token": token, "until": until, "state": found.state, "before": found.token,
        }  # fmt: skip
        if not run(connection, _TAKE, values).rowcount:  # somebody was quicker: what it is now is what counts
            return _take(connection, tenant, execution, intent, token, seconds, reports)
        run(connection, _LOOK, {"tenant": found.tenant, "conversation": found.conversation})
        return Taken(_with(found, token, until), True)
    if left and not finish_call(connection, left):
        return _take(connection, tenant, execution, intent, token, seconds, reports)
    return Taken(left or found, False)


def _with(found: Execution, token: str, until: float) -> Execution:
    return replace(found, state="started", token=token, lease_until=codec.moment(until))


def _end(connection: sa.Connection, ended: Execution) -> bool:
    """The agent that ran it tells its user itself."""
    if not finish_call(connection, ended):
        return False
    run(connection, _TOLD, {"id": ended.id})
    return True


def _add(connection: sa.Connection, ended: Execution) -> None:
    insert(connection, tool_executions, execution_row(ended, reported=True))
    now = epoch(ended.finished_at or ended.started_at)
    put_marks(connection, ended.tenant, ended.conversation, ended.turn, now, {mark_tool(ended.call.tool)})


def _recall(connection: sa.Connection, tenant: TenantId, ruling: TurnId) -> StoredRuling | None:
    result = admin.result_of(connection, ruling, tenant)
    if result is None:
        return None
    person = run(connection, _PERSON, {"tenant": tenant, "conversation": result.conversation}).fetchone()
    intent = _find_intent(connection, tenant, result.pending.id) if result.pending else None
    execution = next((ExecutionId(one.id) for one in result.calls if one.id), None)
    row: Any = None
    if execution or intent:
        row = connection.execute(_named(tenant, execution, intent.id if intent else None)).one_or_none()
    return StoredRuling(result, person[0] if person else None, intent, codec.execution(row) if row else None)


def _named(tenant: TenantId, execution: ExecutionId | None, intent: IntentId | None) -> sa.Select[Any]:
    columns = tool_executions.c
    named = columns.id == execution if execution else columns.intent == intent
    query = sa.select(tool_executions).where(columns.tenant == tenant, named)
    return query.order_by(columns.started_at.desc()).limit(1)


def _find_intent(connection: sa.Connection, tenant: TenantId, intent: IntentId) -> Intent | None:
    row = _INTENT.find(connection, {"tenant": tenant, "id": intent})
    return codec.intent(row) if row is not None else None
