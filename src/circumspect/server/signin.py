"""Signing in, in two halves: `check_password` says who it is, `start_session` lets them in.

They are apart because more may come between them: a second factor, or no password at all. Whatever is wrong with a name
and a password, the answer is the same and takes the same time: no such name, a wrong password, too many attempts, a
disabled account. The same work is done for each, and a refusal comes no sooner than it always does. How many attempts
are heard is said in `stores.sign_in_attempts`.

A browser has one sign-in: a new one ends the one it had.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from fastapi import Request, Response

from circumspect.ports import Ids
from circumspect.server import credentials
from circumspect.server.access import address_of, services_of
from circumspect.server.config import Settings
from circumspect.server.session_cookies import (
    new_device,
    read_device,
    read_session_cookie,
    set_device_cookie,
    set_session_cookie,
)
from circumspect.server.stores import access, sessions
from circumspect.server.stores.access import OperatorRow
from circumspect.server.stores.sessions import KnownDevice, SessionRow, SignInMethod
from circumspect.server.stores.sign_in_attempts import Attempt, begin_attempt, forgive_attempt
from circumspect.stores import SqlStore, action_log
from circumspect.values import Json

REFUSAL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class SignInOrigin:
    """Where somebody signs in."""

    address: str
    client: str = ""
    device: KnownDevice | None = None
    """The browser, if we have seen it before."""
    replaces: str | None = None
    """The hash of the token that the browser has now."""


@dataclass(frozen=True, slots=True)
class SignIn:
    token: str
    operator: OperatorRow
    session: SessionRow


def read_origin(request: Request) -> SignInOrigin:
    token = read_session_cookie(request)
    replaces = credentials.hash_token(token) if token and credentials.is_session(token) else None
    return SignInOrigin(
        address_of(request), request.headers.get("user-agent", ""), read_device(request), replaces=replaces
    )


async def check_password(
    store: SqlStore, ids: Ids, name: str, password: str, origin: SignInOrigin, now: datetime
) -> OperatorRow | None:
    """Whose name and password these are, or nobody. It signs nobody in yet."""
    begun, at = time.monotonic(), now.timestamp()
    attempt = await store.tx(begin_attempt, name.strip(), origin.address, origin.device, at)
    fits = await credentials.password_fits(password, attempt.password if attempt else None)
    if attempt is None or not fits or attempt.locked or attempt.operator.disabled_at is not None:
        if attempt is not None and attempt.locks:
            await store.tx(_log_lock, ids, attempt, now)
        await asyncio.sleep(max(0.0, begun + REFUSAL_SECONDS - time.monotonic()))
        return None
    await store.tx(forgive_attempt, attempt)
    if credentials.is_outdated(attempt.password):
        again = await asyncio.to_thread(credentials.hash_password, password)
        await store.tx(access.rehash_password, attempt.operator.id, again)
    return attempt.operator


async def start_session(
    store: SqlStore,
    ids: Ids,
    settings: Settings,
    operator: OperatorRow,
    method: SignInMethod,
    origin: SignInOrigin,
    now: datetime,
) -> SignIn:
    """Lets in somebody who has proved who they are."""
    token, at = credentials.new_session(), now.timestamp()
    row = SessionRow(
        ids.new("ssn"),
        operator.id,
        method,
        created_at=at,
        authenticated_at=at,
        seen_at=at,
        expires_at=at + settings.session_hours * 3600,
        address=origin.address,
        client=origin.client,
        device=origin.device.id if origin.device else "",
    )
    await store.tx(_add_session, ids, operator, row, token, origin.replaces, now)
    return SignIn(token, operator, row)


async def let_browser_in(request: Request, response: Response, operator: OperatorRow, method: SignInMethod) -> SignIn:
    """`start_session` for a browser: it gets the cookies, and the sign-in that it had is over."""
    services, origin = services_of(request), read_origin(request)
    device = origin.device or new_device()
    origin = SignInOrigin(origin.address, origin.client, device, origin.replaces)
    made = await start_session(
        services.store, services.ids, services.settings, operator, method, origin, services.clock.now()
    )
    set_session_cookie(request, response, made.token)
    set_device_cookie(request, response, device, operator.id)
    return made


async def sign_out(store: SqlStore, ids: Ids, token: str, now: datetime) -> None:
    await store.tx(_end_session, ids, credentials.hash_token(token), now)


def _log_lock(connection: sa.Connection, ids: Ids, attempt: Attempt, now: datetime) -> None:
    _log(
        connection,
        ids,
        now,
        attempt.operator,
        "operator.locked",
        {"failures": attempt.failures, "bucket": attempt.bucket},
    )


def _add_session(
    connection: sa.Connection,
    ids: Ids,
    operator: OperatorRow,
    row: SessionRow,
    token: str,
    replaces: str | None,
    now: datetime,
) -> None:
    sessions.sweep_sessions(connection, now.timestamp())
    if replaces is not None:
        _end_session(connection, ids, replaces, now)
    sessions.add_session(connection, row, credentials.hash_token(token))
    _log(connection, ids, now, operator, "session.created", {"method": row.method, "session": row.id})


def _end_session(connection: sa.Connection, ids: Ids, hash_: str, now: datetime) -> None:
    ended = sessions.end_session(connection, hash_)
    operator = access.get_operator(connection, ended.operator) if ended else None
    if ended is not None and operator is not None:
        _log(connection, ids, now, operator, "session.ended", {"session": ended.id})


def _log(
    connection: sa.Connection, ids: Ids, now: datetime, operator: OperatorRow, action: str, detail: dict[str, Json]
) -> None:
    action_log.log_action(
        connection,
        id=ids.new("log"),
        at=now,
        operator=operator.name,
        action=action,
        subject=operator.id,
        detail=detail,
    )
