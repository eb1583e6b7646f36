"""Signing in: a name and a password in, a token out, or nothing.

Whatever is wrong, the answer is the same and takes the same time: no such name, a wrong password, a locked or a
disabled account. The same work is done for each, and a refusal comes no sooner than it always does. The lock is per
name and grows: five attempts are free, then 30 seconds, a minute, and so on to a quarter of an hour; attempts during a
lock neither succeed nor lengthen it, so that nobody can be kept out for good.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from circumspect.ports import Ids
from circumspect.server import credentials
from circumspect.server.stores import access
from circumspect.server.stores.access import FREE_FAILURES, Attempt, OperatorRow
from circumspect.stores import SqlStore, action_log

REFUSAL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class SignIn:
    token: str
    operator: OperatorRow
    until: datetime


async def sign_in(store: SqlStore, ids: Ids, name: str, password: str, now: datetime, hours: float) -> SignIn | None:
    begun = time.monotonic()
    attempt = await store.tx(access.begin_attempt, name.strip(), now.timestamp())
    fits = await credentials.password_fits(password, attempt.password if attempt else None)
    if attempt is None or not fits or attempt.locked or attempt.operator.disabled_at is not None:
        if attempt is not None and not attempt.locked and attempt.failures >= FREE_FAILURES:
            await store.tx(_log_lock, ids, attempt, now)
        await asyncio.sleep(max(0.0, begun + REFUSAL_SECONDS - time.monotonic()))
        return None
    outdated = credentials.is_outdated(attempt.password)
    again = await asyncio.to_thread(credentials.hash_password, password) if outdated else None
    token, until = credentials.new_session(), now + timedelta(hours=hours)
    await store.tx(_start_session, ids, attempt.operator, token, now, until, again)
    return SignIn(token, attempt.operator, until)


async def sign_out(store: SqlStore, ids: Ids, token: str, now: datetime) -> None:
    await store.tx(_end_session, ids, token, now)


def _log_lock(connection: sa.Connection, ids: Ids, attempt: Attempt, now: datetime) -> None:
    action_log.log_action(
        connection,
        id=ids.new("log"),
        at=now,
        operator=attempt.operator.name,
        action="operator.locked",
        subject=attempt.operator.id,
        detail={"failures": attempt.failures},
    )


def _start_session(
    connection: sa.Connection,
    ids: Ids,
    operator: OperatorRow,
    token: str,
    now: datetime,
    until: datetime,
    password: str | None,
) -> None:
    access.attempt_succeeded(connection, operator.id, password)
    access.add_session(connection, operator.id, credentials.hash_token(token), now.timestamp(), until.timestamp())
    action_log.log_action(
        connection, id=ids.new("log"), at=now, operator=operator.name, action="session.created", subject=operator.id
    )


def _end_session(connection: sa.Connection, ids: Ids, token: str, now: datetime) -> None:
    operator = access.end_session(connection, credentials.hash_token(token))
    if operator is not None:
        action_log.log_action(
            connection,
            id=ids.new("log"),
            at=now,
            operator=operator.name,
            action="session.ended",
            subject=operator.id,
        )
