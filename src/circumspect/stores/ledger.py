"""The ledger of side effects, and the outbox.

A call is written down as `started` in the transaction that uses up its intent, and completed after. Whoever finds a
started row whose lease ran out settles it under a token of their own; of two who try, one gets through. A call is
`reported` when no turn needs to look at it any more: it failed, so nothing happened; or the client has it; or it
succeeded and a turn that could speak of it was closed. One whose end nobody knows stays until a person says how it
ended, and a turn has told the user: `told_outcomes.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from circumspect.approvers import WHO_MAY, check_approver, name_person
from circumspect.errors import ApproverRefused, LeaseLost
from circumspect.ports import OutboxItem
from circumspect.reasons import ReasonCode
from circumspect.stores import codec, database_time
from circumspect.stores.codec import clean, dumps, epoch
from circumspect.stores.day_counts import count_escalation, count_escalation_beside_turns
from circumspect.stores.lasting_files import require_room
from circumspect.stores.statements import SqlValues, insert, roll_back, run, sql
from circumspect.stores.tables import RUNNING, WAITING, escalations, intents, operators, outbox, tool_executions
from circumspect.values import ClientResult, ConversationId, Escalation, Execution, IntentId, TenantId, TurnId

ATTEMPTS = 80
"""Of a notification, before it is given up: about three days."""
FIRST_WAIT = 5
LONGEST_WAIT = 3600

_HOLDS = sql("""
    UPDATE conversations SET calls = TRUE WHERE tenant = :tenant AND id = :conversation AND lease_token = :token
""")

_CONSUME = sql("""
    UPDATE intents SET state = 'consumed', settled_at = :now
    WHERE id = :intent AND tenant = :tenant AND conversation = :conversation
      AND state = 'pending' AND expires_at > :now AND hash = :hash
    RETURNING kind
""")

# Only what was handed to the client can come back from it, and once.
_TAKE_BACK = sql("""
    UPDATE tool_executions SET state = :state, result = :result, error = :error, finished_at = :now
    WHERE id = :execution AND tenant = :tenant AND conversation = :conversation AND state = 'delegated'
""")

_FINISH = sql("""
    UPDATE tool_executions
    SET state = :state, result = :result, error = :error, reason_code = :reason, finished_at = :now,
        reported = :reported
    WHERE id = :id AND tenant = :tenant AND token = :token AND state = 'started'
""")


def lease_lost() -> LeaseLost:
    return LeaseLost(
        "Another worker took this conversation over.", fix="Nothing was written; read the conversation again."
    )


def begin_call(connection: sa.Connection, execution: Execution, token: str, by: str = "") -> bool:
    require_room(connection)
    where = {"tenant": execution.tenant, "conversation": execution.conversation}
    if not run(connection, _HOLDS, {**where, "token": token}).rowcount:
        raise lease_lost()
    if execution.intent:
        consumed = run(
            connection,
            _CONSUME,
            {**where, "intent": execution.intent, "hash": execution.call.hash, "now": epoch(execution.started_at)},
        ).fetchone()
        if consumed is None:
            roll_back(connection)
            return False
        if consumed[0] == "approval":
            _check_approver(connection, execution.intent, by)
    lease = execution.lease_until - execution.started_at
    until = database_time.read(connection) + lease.total_seconds()
    reported = execution.state == "delegated"
    insert(connection, tool_executions, {**execution_row(execution, reported=reported), "lease_until": until})
    return True


def _check_approver(connection: sa.Connection, approval: IntentId, by: str) -> None:
    """In the transaction that uses the approval up, which is undone when it was not theirs to give."""
    name = name_person(by)
    disabled = sa.select(operators.c.id).where(operators.c.name == name, operators.c.disabled_at.is_not(None))
    if connection.execute(disabled).first() is not None:
        raise ApproverRefused(f"The account of {name} is switched off.", fix=WHO_MAY)
    row = connection.execute(sa.select(intents).where(intents.c.id == approval)).one()
    check_approver(codec.intent(row), by)
    # Now, and not when the call has ended: whoever comes meanwhile is told who it was.
    connection.execute(sa.update(intents).where(intents.c.id == approval).values(settled_by=clean(by)))


def finish_call(connection: sa.Connection, execution: Execution) -> bool:
    at = execution.finished_at or execution.started_at
    finished = run(
        connection,
        _FINISH,
        {
            "id": execution.id,
            "tenant": execution.tenant,
            "token": execution.token,
            "state": execution.state,
            "result": None if execution.result is None else dumps(execution.result),
            "error": clean(execution.error),
            "reason": _text(execution.reason),
            "now": epoch(at),
            "reported": execution.state in ("failed", "delegated"),
        },
    )
    if not finished.rowcount:
        return False
    if execution.state == "indeterminate":
        unknown = Escalation(
            execution.reason or ReasonCode.OUTCOME_UNKNOWN,
            f"{execution.call.tool} was started and nobody knows how it ended. {execution.error}".strip(),
        )
        escalate(
            connection,
            execution.tenant,
            execution.conversation,
            execution.turn,
            unknown,
            at,
            execution=execution,
        )
    return True


def take_back(
    connection: sa.Connection,
    tenant: TenantId,
    conversation: ConversationId,
    returned: Sequence[ClientResult],
    now: float,
) -> None:
    """What the client's own tools returned for the calls it was handed."""
    where: SqlValues = {"tenant": tenant, "conversation": conversation, "now": now}
    for one in returned:
        told: SqlValues = {"state": "failed" if one.error else "succeeded", "error": clean(one.error)}
        run(connection, _TAKE_BACK, {**where, **told, "execution": one.execution, "result": dumps(one.result)})


def execution_row(execution: Execution, *, reported: bool) -> SqlValues:
    return {
        "id": execution.id,
        "tenant": execution.tenant,
        "conversation": execution.conversation,
        "turn": execution.turn,
        "tool": clean(execution.call.tool),
        "arguments": dumps(execution.call.arguments),
        "call_id": clean(execution.call.id),
        "effect": execution.effect,
        "recovery": execution.recovery,
        "state": execution.state,
        "token": execution.token,
        "lease_until": epoch(execution.lease_until),
        "started_at": epoch(execution.started_at),
        "finished_at": None if execution.finished_at is None else epoch(execution.finished_at),
        "intent": execution.intent,
        "result": None if execution.result is None else dumps(execution.result),
        "error": clean(execution.error),
        "reason_code": _text(execution.reason),
        "reported": reported,
        "runner": execution.runner,
    }


def _text(reason: ReasonCode | None) -> str | None:
    """Drivers have their own ideas about enums."""
    return None if reason is None else str(reason)


def escalate(
    connection: sa.Connection,
    tenant: TenantId,
    conversation: ConversationId,
    turn: TurnId,
    escalation: Escalation,
    at: datetime,
    *,
    execution: Execution | None = None,
) -> None:
    """The row a person works from and the notification, whose id is its own so that a receiver can tell repeats."""
    id_ = f"esc-{execution.id if execution else turn}"
    row: SqlValues = {
        "id": id_,
        "tenant": tenant,
        "conversation": conversation,
        "turn": turn,
        "execution": execution.id if execution else None,
        "reason_code": str(escalation.reason),
        "summary": clean(escalation.summary),
        "state": "open",
        "created_at": epoch(at),
        "suggestion": clean(escalation.suggestion) or None,
    }
    insert(connection, escalations, row)
    count_escalation(connection, tenant, at)
    if execution:
        count_escalation_beside_turns(connection, tenant, conversation, at)
    notify(connection, id_, "escalation", row, tenant, conversation)


def notify(
    connection: sa.Connection,
    id_: str,
    topic: str,
    payload: Mapping[str, object],
    tenant: TenantId,
    conversation: ConversationId,
) -> None:
    """Something that somebody has to hear of, in the transaction that made it so. The id says it only once; with the
    conversation that it quotes it is forgotten."""
    at = database_time.read(connection)
    note: SqlValues = {
        "id": id_,
        "topic": topic,
        "payload": dumps(payload),
        "attempts": 0,
        "next_at": at,
        "created_at": at,
        "tenant": tenant,
        "conversation": conversation,
    }
    run(connection, _NOTIFY, note)


# --- what died, and what has to leave -------------------------------------------------------------------------------


def _claim(table: sa.Table, due: sa.Column[Any], condition: str, **values: Any) -> sa.Update:
    """Take rows that are due, oldest first. SKIP LOCKED is PostgreSQL's; SQLite leaves it out, having one writer. The
    rows are found in a WITH, which runs once; as a subquery PostgreSQL may run it again and take more than the limit.
    """
    found = (
        sa.select(table.c.id)
        .where(sa.text(condition), due <= sa.bindparam("now"))
        .order_by(due)
        .limit(sa.bindparam("at_most"))
        .with_for_update(skip_locked=True)
        .cte("due")
    )
    return (
        sa.update(table)
        .where(table.c.id.in_(sa.select(found.c.id)))
        .values({"token": sa.bindparam("by"), due.name: sa.bindparam("until"), **values})
        .returning(*table.c)
    )


_CLAIM_CALLS = _claim(tool_executions, tool_executions.c.lease_until, RUNNING)
_CLAIM_OWN_CALLS = _claim(tool_executions, tool_executions.c.lease_until, f"{RUNNING} AND tenant = :owner")
# An attempt counts from when it begins, and the last one begins as dead: only a delivery changes that. So an item which
# kills whoever delivers it ends like any other that cannot be delivered, and as slowly: who was killed sets no wait.
_TRIED = outbox.c.attempts
_CLAIM_NOTES = _claim(
    outbox,
    outbox.c.next_at,
    WAITING,
    attempts=_TRIED + 1,
    state=sa.case((_TRIED + 1 >= ATTEMPTS, "dead"), else_="pending"),
    next_at=sa.bindparam("until")
    + sa.case((_TRIED == 0, 0), (_TRIED >= 10, LONGEST_WAIT), else_=sa.literal(FIRST_WAIT).op("<<")(_TRIED)),
)

_NOTIFY = sql("""
    INSERT INTO outbox (id, topic, payload, state, attempts, next_at, created_at, tenant, conversation)
    VALUES (:id, :topic, :payload, 'pending', :attempts, :next_at, :created_at, :tenant, :conversation)
    ON CONFLICT (id) DO NOTHING
""")

_DELIVERED = sql("UPDATE outbox SET state = 'delivered' WHERE id = :id")

_LATER = sql("""
    UPDATE outbox SET next_at = :next_at WHERE id = :id AND token = :token AND state = 'pending'
""")


# Not DISTINCT, for whose sake SQLite would walk all calls there ever were in the order of tenants.
_DUE = sa.select(tool_executions.c.tenant).where(sa.text(RUNNING), tool_executions.c.lease_until <= sa.bindparam("now"))


def tenants_with_expired(connection: sa.Connection) -> Sequence[TenantId]:
    """Whose calls wait for a sweeper that has their tools."""
    due = connection.execute(_DUE, {"now": database_time.read(connection)})
    return sorted({TenantId(row.tenant) for row in due})


def claim_expired(
    connection: sa.Connection, token: str, lease_seconds: float, limit: int, tenant: TenantId | None
) -> Sequence[Execution]:
    now = database_time.read(connection)
    values = {"by": token, "now": now, "until": now + lease_seconds, "at_most": limit}
    if tenant is None:
        found = connection.execute(_CLAIM_CALLS, values).all()
    else:
        found = connection.execute(_CLAIM_OWN_CALLS, {**values, "owner": tenant}).all()
    return sorted((codec.execution(row) for row in found), key=lambda execution: execution.started_at)


def claim_outbox(connection: sa.Connection, token: str, lease_seconds: float, limit: int) -> Sequence[OutboxItem]:
    now = database_time.read(connection)
    found: Sequence[Any] = connection.execute(
        _CLAIM_NOTES, {"by": token, "now": now, "until": now + lease_seconds, "at_most": limit}
    ).all()
    return [
        OutboxItem(row.id, row.topic, row.payload, row.attempts - 1, token)
        for row in sorted(found, key=lambda row: row.created_at)
    ]


def settle_outbox(connection: sa.Connection, item: OutboxItem, delivered: bool) -> None:
    if delivered:
        # Whoever holds the claim by now: it has left.
        run(connection, _DELIVERED, {"id": item.id})
        return
    wait = min(FIRST_WAIT * 2**item.attempts, LONGEST_WAIT)
    due = database_time.read(connection) + wait
    run(connection, _LATER, {"id": item.id, "token": item.token, "next_at": due})
