"""What a person found out about a call whose outcome nobody knew, in the ledger; and in the journal who said so.

The row ends when it is told how it ended: until then it was under way, for whoever looks at the past. It stays
unreported until a turn has told the user. A call that happened stays in sight for good, so that it is not made again.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from circumspect.journal import ToldOutcomeEvent
from circumspect.reasons import ReasonCode
from circumspect.stores.codec import clean, dumps, epoch
from circumspect.stores.statements import SqlValues, insert
from circumspect.stores.tables import conversations, messages, tool_executions
from circumspect.stores.turn_marks import mark_reason, put_marks
from circumspect.values import ExecutionState, ToldOutcome

_STATES: Mapping[ToldOutcome, ExecutionState] = {"happened": "succeeded", "not": "failed"}


def is_unknown(execution: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """Is it a call of which nobody knows how it ended?"""
    calls = tool_executions
    return sa.exists(sa.select(calls.c.id).where(calls.c.id == execution, calls.c.state == "indeterminate"))


def has_happened(row: Any) -> bool:
    return bool(row.state == "succeeded" and row.reason_code == ReasonCode.OUTCOME_TOLD)


def tell_outcome(
    connection: sa.Connection, escalation: str, execution: str, outcome: ToldOutcome, by: str, now: datetime
) -> None:
    """Close the call as what it came to; while that is still unknown, only note that somebody looked."""
    call: Any = connection.execute(sa.select(tool_executions).where(tool_executions.c.id == execution)).one()
    if outcome in _STATES:
        connection.execute(
            sa.update(tool_executions)
            .where(tool_executions.c.id == execution, tool_executions.c.state == "indeterminate")
            .values(
                state=_STATES[outcome],
                error="" if outcome == "happened" else "A person found that it did not happen.",
                reason_code=str(ReasonCode.OUTCOME_TOLD),
                finished_at=epoch(now),
                reported=False,
            )
        )
    said = ToldOutcomeEvent(
        f"{call.tool}: {outcome}", execution=execution, tool=call.tool, outcome=outcome, told_by=clean(by)
    )
    seq: int = connection.execute(
        sa.update(conversations)
        .where(conversations.c.tenant == call.tenant, conversations.c.id == call.conversation)
        .values(next_seq=conversations.c.next_seq + 1, updated_at=epoch(now), calls=True)
        .returning(conversations.c.next_seq)
    ).scalar_one()
    row: SqlValues = {
        "tenant": call.tenant,
        "conversation": call.conversation,
        "seq": seq - 1,
        "turn": escalation,
        "role": "internal",
        "kind": said.kind,
        "content": said.content,
        "reason_code": str(ReasonCode.OUTCOME_TOLD),
        "meta": dumps(said.to_json()),
        "at": epoch(now),
    }
    insert(connection, messages, row)
    marks = {mark_reason(ReasonCode.OUTCOME_TOLD)}
    put_marks(connection, call.tenant, call.conversation, escalation, epoch(now), marks)
