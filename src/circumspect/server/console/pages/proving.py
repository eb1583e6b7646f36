"""The second step of signing in, signing in with a passkey, and proving once more who one is."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Form, Query, Request
from starlette.responses import Response

from circumspect.server.access import (
    NotPermitted,
    NotSignedIn,
    address_of,
    from_here,
    require_sign_in,
    services_of,
)
from circumspect.server.console import page_routes
from circumspect.server.console.held_forms import LONGEST_HELD, read_held, render_proof_page
from circumspect.server.console.pages.signing import ours
from circumspect.server.console.rendering import link, page
from circumspect.server.console.visitors import AccountVisitor, words_of
from circumspect.server.passkeys import LONGEST_ANSWER, PasskeyRefused, ask_to_sign, find_party, require_party
from circumspect.server.problems import require_found
from circumspect.server.proving import (
    PROOFS_PER_MINUTE,
    end_second_step,
    find_second_step,
    prove_by_passkey,
    prove_by_word,
    require_code,
    require_passkey,
)
from circumspect.server.routes.session import takes_passwords
from circumspect.server.second_factors import find_second_factors
from circumspect.server.signin import let_browser_in
from circumspect.server.stores import access
from circumspect.server.stores.access import OperatorRow
from circumspect.server.stores.second_factors import ChallengePurpose
from circumspect.server.stores.sessions import SignInMethod

router = page_routes.router()
NextForm = Annotated[str, Form(alias="next", max_length=2000)]
PasskeyForm = Annotated[str, Form(max_length=LONGEST_ANSWER)]
WordForm = Annotated[str, Form(max_length=1000)]


@router.get("/login/second")
async def show_second_step(request: Request, next: Annotated[str, Query(max_length=2000)] = "/") -> Response:  # noqa: A002
    operator = await find_second_step(request)
    if operator is None:
        return page_routes.redirect_to(link("/login", next=ours(next)))
    return await _render_second_step(request, operator, next)


@router.post("/login/second")
async def take_second_step(
    request: Request, next_: NextForm = "/", word: WordForm = "", passkey: PasskeyForm = ""
) -> Response:
    _require_own_page(request)
    operator = await find_second_step(request)
    if operator is None:
        return page_routes.redirect_to(link("/login", next=ours(next_)))
    to, method = page_routes.redirect_to(ours(next_)), _method(passkey)
    try:
        if passkey:
            if (await require_passkey(request, passkey, "prove")).id != operator.id:
                raise NotSignedIn("")
        else:
            await require_code(request, operator, word)
    except (NotSignedIn, PasskeyRefused):
        return await _render_second_step(request, operator, next_, words_of(request).t("proving-refused"))
    if not await end_second_step(request, to):
        return page_routes.redirect_to("/login")
    await let_browser_in(request, to, operator, method)
    return to


@router.post("/login/passkey")
async def sign_in_with_passkey(request: Request, next_: NextForm = "/", passkey: PasskeyForm = "") -> Response:
    _require_own_page(request)
    if not takes_passwords(services_of(request).settings):
        raise NotPermitted("Local accounts are switched off.", fix="Sign in at the provider.")
    to = page_routes.redirect_to(ours(next_))
    operator = await require_passkey(request, passkey, "sign_in")
    await let_browser_in(request, to, operator, "passkey")
    return to


@router.post("/login/passkey/ask")
async def ask_for_passkey(request: Request) -> Response:
    """What a browser is to ask its authenticator: of whoever is halfway in, or of anybody."""
    _require_own_page(request)
    operator = await find_second_step(request) if request.query_params.get("step") else None
    if request.query_params.get("step") and operator is None:
        raise NotSignedIn("")
    return await _ask(request, "prove" if operator else "sign_in", operator.id if operator else None)


@router.post("/prove/ask")
async def ask_for_proof_by_passkey(request: Request, who: AccountVisitor) -> Response:
    return await _ask(request, "prove", who.operator.id)


@router.post("/prove")
async def prove(
    request: Request,
    who: AccountVisitor,
    held: Annotated[str, Form(max_length=LONGEST_HELD)],
    word: WordForm = "",
    passkey: PasskeyForm = "",
) -> Response:
    """Right: the form that waited is sent on by the page that comes back."""
    waiting = read_held(request, who.operator, held)
    if waiting is None:
        return page_routes.redirect_to("/")
    services, (_, session) = services_of(request), await require_sign_in(request)
    operator = require_found(await services.store.tx(access.get_operator, who.operator.id), "operator")
    try:
        if passkey:
            await prove_by_passkey(request, operator, session, passkey)
        elif word:
            await prove_by_word(request, operator, session, word)
        elif services.clock.now().timestamp() - session.authenticated_at > services.settings.prove_again_minutes * 60:
            # Whoever signs in elsewhere has proved it there, in another window, or not yet.
            raise NotSignedIn("")
    except (NotSignedIn, PasskeyRefused):
        return await render_proof_page(request, who.operator, held, who.words.t("proving-refused"))
    return page(request, who, "proving/go_on.html", to=waiting.to, fields=waiting.fields)


@router.get("/prove/done")
async def show_done(request: Request, who: AccountVisitor) -> Response:
    """Where a provider leads back to, in a window of its own."""
    return page(request, who, "proving/done.html")


async def _ask(request: Request, purpose: ChallengePurpose, operator: str | None) -> Response:
    services = services_of(request)
    await services.limiter.check(f"proof:{address_of(request)}", PROOFS_PER_MINUTE)
    party = require_party(request, services.settings.public_url)
    asked = await ask_to_sign(services.store, party, purpose, operator, services.clock.now().timestamp())
    return Response(asked, media_type="application/json")


async def _render_second_step(request: Request, operator: OperatorRow, next_: str, problem: str = "") -> Response:
    services = services_of(request)
    has = await find_second_factors(services.store, operator.id)
    values: dict[str, Any] = {
        "name": operator.name,
        "next": ours(next_),
        "problem": problem,
        "passkeys": bool(has.passkeys) and find_party(request, services.settings.public_url) is not None,
    }
    return page(request, None, "proving/second_step.html", status=401 if problem else 200, **values)


def _method(passkey: str) -> SignInMethod:
    return "passkey" if passkey else "totp"


def _require_own_page(request: Request) -> None:
    if not from_here(request):
        raise NotPermitted("Signing in has to come from a page of this server.", fix="Open its own sign-in page.")
