"""`/v1/session`: sign in, sign out, who am I.

A token comes back in the answer, for programs, or in an HttpOnly cookie, for browsers; never in both, so that a script
in a page cannot read what its cookie holds.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request, Response
from pydantic import Field

from circumspect.server import credentials
from circumspect.server.access import (
    NotPermitted,
    NotSignedIn,
    Operator,
    Principal,
    either,
    from_here,
    operator,
    require_sign_in,
    services_of,
    session_token,
)
from circumspect.server.config import Settings
from circumspect.server.problems import require_found
from circumspect.server.proving import prove_by_word, require_second_proof
from circumspect.server.responses import OPERATOR, describe_route, resource
from circumspect.server.schemas.session import CallerShown, Credentials, OperatorShown, Proof, SignInShown
from circumspect.server.session_cookies import delete_session_cookie
from circumspect.server.signin import SignInOrigin, check_password, let_browser_in, read_origin, sign_out, start_session
from circumspect.server.stores import access
from circumspect.stores.codec import moment

ATTEMPTS_PER_MINUTE = 20
"""From one address, for whatever names."""

SignedIn = Annotated[Operator, Depends(operator())]

router = resource("session")


@router.post("/v1/session", **describe_route(SignInShown, 400, 401, 403, 429, 503, status=201, security=()))
async def create_session(request: Request, response: Response, given: Credentials) -> SignInShown:
    """Sign in as an operator."""
    services = services_of(request)
    if request.headers.get("sec-fetch-site") is not None and not from_here(request):
        raise NotPermitted("Signing in has to come from a page of this server.", fix="Open its own sign-in page.")
    if not takes_passwords(services.settings):
        raise NotPermitted("Passwords let nobody in here.", fix=f"Sign in with {services.settings.oidc_label}.")
    now, origin = services.clock.now(), read_origin(request)
    # Strangers at the same address take no room from a browser that is known.
    crowd = "known-sign-in" if origin.device else "sign-in"
    await services.limiter.check(f"{crowd}:{origin.address}", ATTEMPTS_PER_MINUTE)
    operator = await check_password(services.store, services.ids, given.name, given.password, origin, now)
    if operator is None:
        raise NotSignedIn(
            "The name or the password is wrong, or there were too many attempts.",
            fix="Try again; after several failures wait a few minutes.",
        )
    method = await require_second_proof(request, operator, given.code)
    if given.cookie:
        made = await let_browser_in(request, response, operator, method)
    else:
        program = SignInOrigin(origin.address, origin.client)
        made = await start_session(services.store, services.ids, services.settings, operator, method, program, now)
    response.headers["Cache-Control"] = "no-store"
    return SignInShown.of(
        operator, expires_at=moment(made.session.expires_at), token=None if given.cookie else made.token
    )


@router.get("/v1/session", **describe_route(OperatorShown | CallerShown))
async def get_session(
    request: Request, response: Response, who: Annotated[Principal, Depends(either())]
) -> Annotated[OperatorShown | CallerShown, Field(discriminator="kind")]:
    """Who am I? For operators and for API keys."""
    response.headers["Cache-Control"] = "no-store"
    if who.caller is not None:
        return CallerShown(id=who.caller.key, tenant=who.caller.tenant, scopes=sorted(who.caller.scopes))
    person, session = await require_sign_in(request)
    return OperatorShown.of(person, expires_at=moment(session.expires_at))


@router.post("/v1/session/proof", **describe_route(None, 400, 401, 403, 429, status=204, security=OPERATOR))
async def prove_again(request: Request, _who: SignedIn, given: Proof) -> None:
    """Prove once more who you are: with a code where you have a second factor, otherwise with the password. Approvals
    and dangerous changes ask for it when the last time is too long ago."""
    person, session = await require_sign_in(request)
    operator = require_found(await services_of(request).store.tx(access.get_operator, person.id), "operator")
    await prove_by_word(request, operator, session, given.proof)


@router.delete("/v1/session", **describe_route(status=204, security=OPERATOR))
async def delete_session(request: Request, response: Response) -> None:
    """Sign out. Signing out twice, or with a sign-in that has ended, is no mistake."""
    services = services_of(request)
    token = session_token(request)
    if not token or token.startswith("csk_"):
        raise NotSignedIn("You are not signed in.", fix="There is nothing to end; a key is ended by revoking it.")
    if credentials.is_session(token):
        await sign_out(services.store, services.ids, token, services.clock.now())
    delete_session_cookie(request, response)


def takes_passwords(settings: Settings) -> bool:
    """Always where there is no other way in."""
    return settings.password_sign_in or settings.oidc_issuer is None
