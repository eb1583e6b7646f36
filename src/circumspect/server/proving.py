"""Proving who one is: the second step of signing in, and once more before something dangerous.

A password opens nothing for an operator who has a second factor: it leads to a second step, which is a row of its own
and no sign-in. Whoever proves it once more needs what they would need at the second step; a password is asked only of
those who have nothing else.
"""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from fastapi import Request, Response

from circumspect.errors import CircumspectError
from circumspect.server.access import NotSignedIn, address_of, services_of
from circumspect.server.credentials import hash_token
from circumspect.server.passkeys import PasskeyRefused, read_signature, require_party
from circumspect.server.second_factors import check_code, find_second_factors
from circumspect.server.session_cookies import delete_own_cookie, read_own_cookie, set_own_cookie
from circumspect.server.signin import check_password, read_origin
from circumspect.server.stores import access, second_factors, sessions
from circumspect.server.stores.access import OperatorRow
from circumspect.server.stores.second_factors import ChallengePurpose
from circumspect.server.stores.sessions import SessionRow, SignInMethod
from circumspect.stores import action_log

STEP_COOKIE = "circumspect_second_step"
STEP_SECONDS = 300
PROOFS_PER_MINUTE = 20
"""From one address."""


class SecondFactorNeeded(CircumspectError):
    """The password is right, and not enough."""

    code = "second_factor_needed"
    status = 401

    def __init__(self, operator: OperatorRow) -> None:
        super().__init__(
            "The password is right, but a second proof is needed.",
            fix="Send a code of your app, or a recovery code, as `code` with name and password.",
        )
        self.operator = operator


async def require_second_proof(request: Request, operator: OperatorRow, code: str | None) -> SignInMethod:
    """What somebody whose password was right has shown altogether. Raises `SecondFactorNeeded` or `NotSignedIn`."""
    services = services_of(request)
    if not (await find_second_factors(services.store, operator.id)).any:
        return "password"
    if code is None:
        raise SecondFactorNeeded(operator)
    await require_code(request, operator, code)
    return "totp"


async def require_code(request: Request, operator: OperatorRow, code: str) -> None:
    services = services_of(request)
    await services.limiter.check(f"proof:{address_of(request)}", PROOFS_PER_MINUTE)
    if not await check_code(services.store, services.ids, services.vault, operator, code, services.clock.now()):
        raise NotSignedIn(
            "The code is wrong, was used before, or no code is taken for a while.",
            fix="Wait for the next code; after several failures wait a few minutes.",
        )


async def require_passkey(request: Request, answer: str, purpose: ChallengePurpose) -> OperatorRow:
    """Whose passkey it is. Raises `PasskeyRefused`."""
    services = services_of(request)
    await services.limiter.check(f"proof:{address_of(request)}", PROOFS_PER_MINUTE)
    party = require_party(request, services.settings.public_url)
    return await read_signature(services.store, party, purpose, answer, services.clock.now().timestamp())


# --- between password and second proof ------------------------------------------------------------------------------


async def begin_second_step(request: Request, response: Response, operator: OperatorRow) -> None:
    """The browser gets a token that says whose password was right; it opens nothing but the second step."""
    services, token = services_of(request), secrets.token_urlsafe(32)
    now = services.clock.now().timestamp()
    await services.store.tx(
        second_factors.add_challenge, hash_token(token), "second_step", operator.id, now, STEP_SECONDS
    )
    set_own_cookie(request, response, STEP_COOKIE, token, STEP_SECONDS)


async def find_second_step(request: Request) -> OperatorRow | None:
    """Who is in the middle of signing in with this browser."""
    token, services = read_own_cookie(request, STEP_COOKIE), services_of(request)
    if not token:
        return None
    now = services.clock.now().timestamp()
    _, whose = await services.store.tx(second_factors.is_open, hash_token(token), "second_step", now)
    operator = None if whose is None else await services.store.tx(access.get_operator, whose)
    return None if operator is None or operator.disabled_at is not None else operator


async def end_second_step(request: Request, response: Response) -> bool:
    """False when another request ended it first."""
    token, services = read_own_cookie(request, STEP_COOKIE), services_of(request)
    now = services.clock.now().timestamp()
    ended, _ = await services.store.tx(second_factors.take_challenge, hash_token(token or ""), "second_step", now)
    delete_own_cookie(request, response, STEP_COOKIE)
    return ended


# --- once more ------------------------------------------------------------------------------------------------------


async def prove_by_word(request: Request, operator: OperatorRow, session: SessionRow, given: str) -> None:
    """With a code where there is a second factor, and otherwise with the password. Raises `NotSignedIn`."""
    services = services_of(request)
    if (await find_second_factors(services.store, operator.id)).any:
        await require_code(request, operator, given)
        return await _note_proof(request, operator, session, "totp")
    await services.limiter.check(f"proof:{address_of(request)}", PROOFS_PER_MINUTE)
    now, origin = services.clock.now(), read_origin(request)
    if await check_password(services.store, services.ids, operator.name, given, origin, now) is None:
        raise NotSignedIn("The password is wrong, or the account is locked for a while.", fix="Try again.")
    return await _note_proof(request, operator, session, None)


async def prove_by_passkey(request: Request, operator: OperatorRow, session: SessionRow, answer: str) -> None:
    """Raises `PasskeyRefused`."""
    if (await require_passkey(request, answer, "prove")).id != operator.id:
        raise PasskeyRefused("The passkey was not accepted.", fix="Use one of your own.")
    await _note_proof(request, operator, session, "passkey")


async def _note_proof(
    request: Request, operator: OperatorRow, session: SessionRow, method: SignInMethod | None
) -> None:
    services, now = services_of(request), services_of(request).clock.now()

    def note(connection: sa.Connection) -> None:
        sessions.mark_authenticated(connection, session.id, now.timestamp(), method)
        action_log.log_action(
            connection,
            id=services.ids.new("log"),
            at=now,
            operator=operator.name,
            action="session.proved",
            subject=operator.id,
            detail={"session": session.id},
        )

    await services.store.tx(note)
