"""After a backup was restored: what it left open is held until a person has looked. One transaction, before any worker.

The ledger of a backup knows nothing of what happened after it was taken. A call that it shows as begun may long have
ended; a question that it shows as open may have been answered; a notification that it shows as waiting may have left.
So begun calls become unknown, each with an escalation that a person resolves; open questions have run out, and are put
again; waiting notifications are held with those that were given up, to be sent again by hand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from circumspect.approvers import COMMAND_LINE
from circumspect.reasons import ReasonCode
from circumspect.stores import codec, ledger
from circumspect.stores.action_log import log_action
from circumspect.stores.codec import epoch
from circumspect.stores.sql import SqlStore
from circumspect.stores.tables import RUNNING, WAITING, conversations, intents, outbox, tool_executions

WHY = "The database was restored from a backup that was taken while it ran."


@dataclass(frozen=True, slots=True)
class HeldAfterRestore:
    """How many of each."""

    calls: int
    questions: int
    notifications: int


async def hold_restored_work(database: str, login: str, now: datetime, id_: str) -> HeldAfterRestore:
    """Opens the database, brings its schema up to date, holds what is open, and says so in the operators' log."""

    def body(connection: sa.Connection) -> HeldAfterRestore:
        held = hold_open_work(connection, now)
        detail = {"calls": held.calls, "questions": held.questions, "notifications": held.notifications}
        who = f"{COMMAND_LINE}{login}"
        log_action(connection, id=id_, at=now, operator=who, action="restored", tenant=None, subject="", detail=detail)
        return held

    store = await SqlStore.open(database, restored=True)
    try:
        return await store.tx(body)
    finally:
        await store.close()


def hold_open_work(connection: sa.Connection, now: datetime) -> HeldAfterRestore:
    # First, for the escalations of the calls are to leave.
    notifications = connection.execute(sa.update(outbox).where(sa.text(WAITING)).values(state="dead"))
    questions = connection.execute(
        sa.update(intents).where(sa.text(WAITING), intents.c.expires_at > epoch(now)).values(expires_at=epoch(now))
    )
    begun: Any = connection.execute(sa.select(tool_executions).where(sa.text(RUNNING))).all()
    for row in begun:
        ended = replace(
            codec.execution(row),
            state="indeterminate",
            reason=ReasonCode.OUTCOME_UNKNOWN,
            error=WHY,
            finished_at=now,
        )
        ledger.finish_call(connection, ended)
    held = conversations.c.lease_token.is_not(None)
    connection.execute(sa.update(conversations).where(held).values(lease_token=None))
    return HeldAfterRestore(len(begun), questions.rowcount, notifications.rowcount)
