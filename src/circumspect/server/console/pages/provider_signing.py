"""To the provider where operators sign in, and back. What goes wrong is said on the sign-in page, where the other ways
in are."""

from __future__ import annotations

import logging
from typing import Annotated

from fastapi import Form, Query, Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from circumspect.errors import CircumspectError
from circumspect.server.access import NotPermitted, address_of, require_sign_in, services_of
from circumspect.server.console import page_routes
from circumspect.server.console.pages.signing import Next, ours, sign_in_page
from circumspect.server.console.visitors import words_of
from circumspect.server.oidc import (
    AWAY_SECONDS,
    CALLBACK,
    Provider,
    ProviderDown,
    SignInRefused,
    new_departure,
    read_departure,
)
from circumspect.server.problems import not_found, status_of
from circumspect.server.provider_accounts import admit_person, sign_out_person
from circumspect.server.session_cookies import delete_own_cookie, read_own_cookie, set_own_cookie
from circumspect.server.signin import let_browser_in

COOKIE = "circumspect_departure"
RETURNS_PER_MINUTE = 60
"""From one address."""

log = logging.getLogger(__name__)
router = page_routes.router()
Returned = Annotated[str | None, Query(max_length=4000)]


@router.get("/login/oidc")
async def leave(request: Request, next: Next = "/", again: bool = False) -> Response:  # noqa: A002
    """`again`: the provider has to ask, also whoever it knows."""
    services, provider = services_of(request), provider_of(request)
    departure = new_departure(services.clock.now(), ours(next), fresh=again)
    try:
        await services.limiter.check(f"provider:{address_of(request)}", RETURNS_PER_MINUTE)
        to = RedirectResponse(await provider.find_way_there(departure, _callback(request)), 303)
    except CircumspectError as error:
        return _refuse(request, error, ours(next))
    set_own_cookie(request, to, COOKIE, departure.seal(services.vault), AWAY_SECONDS)
    return to


@router.get(CALLBACK)
async def come_back(
    request: Request, code: Returned = None, state: Returned = None, error: Returned = None, iss: Returned = None
) -> Response:
    services, provider, now = services_of(request), provider_of(request), services_of(request).clock.now()
    departure = read_departure(services.vault, read_own_cookie(request, COOKIE) or "", now)
    given = {"code": code, "state": state, "error": error, "iss": iss}
    returned = {name: value for name, value in given.items() if value is not None}
    try:
        await services.limiter.check(f"provider:{address_of(request)}", RETURNS_PER_MINUTE)
        if departure is None:
            raise SignInRefused("This browser has begun no sign-in.", fix="Begin again.")
        claims = await provider.redeem(departure, returned, _callback(request))
        operator = await services.store.tx(admit_person, services.ids, services.settings, claims, now)
        to: Response = page_routes.redirect_to(departure.next)
        await let_browser_in(request, to, operator, "oidc")
    except CircumspectError as problem:
        to = _refuse(request, problem, departure.next if departure else "/")
    # What it took along is good for one return, whatever came of it.
    delete_own_cookie(request, to, COOKIE)
    return to


@router.get("/login/oidc/out")
async def leave_for_good(request: Request) -> Response:
    """End what the browser has at the provider; here it has signed out already."""
    try:
        await require_sign_in(request)
    except CircumspectError:
        pass
    else:
        return page_routes.redirect_to("/")
    try:
        way = await provider_of(request).find_way_out(f"{_site(request)}/login")
    except ProviderDown as error:
        return _refuse(request, error, "/")
    return RedirectResponse(way, 303) if way else page_routes.redirect_to("/login")


@router.post("/login/oidc/backchannel")
async def hear_of_logout(request: Request, logout_token: Annotated[str, Form(max_length=20_000)]) -> Response:
    """The provider itself says who has left (OpenID Connect Back-Channel Logout). Its signature is all that counts."""
    services, provider = services_of(request), provider_of(request)
    headers = {"Cache-Control": "no-store"}
    try:
        await services.limiter.check(f"provider:{address_of(request)}", RETURNS_PER_MINUTE)
        sub = await provider.verify_logout(logout_token)
    except SignInRefused as error:
        log.warning("logout of the provider: %s", error.problem)
        return JSONResponse({"error": "invalid_request", "error_description": error.problem}, 400, headers)
    now = services.clock.now()
    await services.store.tx(sign_out_person, services.ids, provider.issuer, sub, now)
    return Response(status_code=200, headers=headers)


def provider_of(request: Request) -> Provider:
    state, services = request.app.state, services_of(request)
    if services.settings.oidc_issuer is None:
        raise not_found("provider")
    if not hasattr(state, "provider"):
        state.provider = Provider(services.settings, services.clock)
    provider: Provider = state.provider
    return provider


def _refuse(request: Request, error: CircumspectError, next_: str) -> Response:
    """In words of the console; what exactly was wrong is for whoever reads the log."""
    log.warning("sign-in at the provider: %s", error.problem)
    words = words_of(request)
    match error:
        case ProviderDown():
            said = words.t("signing-provider-down")
        case NotPermitted():
            said = words.t("signing-provider-not-allowed")
        case SignInRefused():
            said = words.t("signing-provider-refused")
        case _:
            said = error.fix
    return sign_in_page(request, next_, problem=said, status=status_of(error))


def _callback(request: Request) -> str:
    return f"{_site(request)}{CALLBACK}"


def _site(request: Request) -> str:
    """Where people reach us: what the provider was told, not what a request claims, wherever we know it."""
    public = services_of(request).settings.public_url
    return (public or str(request.base_url)).rstrip("/")
