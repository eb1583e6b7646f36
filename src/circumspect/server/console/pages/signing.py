"""Sign in, sign out, choose a language. The work is done by the routes of the API."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Form, Query, Request
from starlette.responses import Response

from circumspect.errors import CircumspectError
from circumspect.server.access import NotPermitted, NotSignedIn, from_here, require_sign_in, services_of
from circumspect.server.console import page_routes
from circumspect.server.console.i18n import COOKIE, parse_language
from circumspect.server.console.rendering import link, page
from circumspect.server.console.visitors import LeavingSession, words_of
from circumspect.server.problems import status_of
from circumspect.server.proving import SecondFactorNeeded, begin_second_step
from circumspect.server.routes.session import create_session, delete_session, takes_passwords
from circumspect.server.schemas.session import Credentials

router = page_routes.router()
YEAR = 365 * 24 * 3600
Next = Annotated[str, Query(max_length=2000)]


def ours(path: str) -> str:
    """Only to a page of our own: `//host` and `/\\host` are somebody else's to a browser."""
    plain = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if plain else "/"


@router.get("/login")
async def form(request: Request, next: Next = "/", left: bool = False) -> Response:  # noqa: A002
    try:
        await require_sign_in(request)
    except CircumspectError:
        return sign_in_page(request, next, left=left)
    return page_routes.redirect_to(ours(next))


@router.post("/login")
async def sign_in(
    request: Request,
    name: Annotated[str, Form(max_length=200)] = "",
    password: Annotated[str, Form(max_length=1000)] = "",
    next: Annotated[str, Form(max_length=2000)] = "/",  # noqa: A002
) -> Response:
    if not from_here(request):
        raise NotPermitted("Signing in has to come from a page of this server.", fix="Open its own sign-in page.")
    words, to = words_of(request), page_routes.redirect_to(ours(next))
    try:
        if not name.strip() or not password:
            raise NotSignedIn("")
        await create_session(request, to, Credentials(name=name, password=password, cookie=True))
    except SecondFactorNeeded as needed:
        to = page_routes.redirect_to(link("/login/second", next=ours(next)))
        await begin_second_step(request, to, needed.operator)
    except NotSignedIn:
        return sign_in_page(request, next, name=name, problem=words.t("signing-refused"), status=401)
    except CircumspectError as error:
        return sign_in_page(request, next, name=name, problem=error.fix, status=status_of(error))
    return to


def sign_in_page(
    request: Request, next_: str, *, name: str = "", problem: str = "", left: bool = False, status: int = 200
) -> Response:
    """`left`: they have just signed out, and may still be signed in at the provider."""
    settings = services_of(request).settings
    provider = settings.oidc_label if settings.oidc_issuer else ""
    values: dict[str, Any] = {"name": name, "problem": problem, "provider": provider, "left": left}
    values |= {"next": ours(next_), "passwords": takes_passwords(settings)}
    return page(request, None, "signing/page.html", status=status, **values)


@router.post("/logout")
async def sign_out(request: Request, session: LeavingSession) -> Response:
    to = page_routes.redirect_to("/login?left=true" if session.method == "oidc" else "/login")
    await delete_session(request, to)
    return to


@router.post("/language")
async def choose_language(
    request: Request,
    language: Annotated[str, Form(max_length=10)],
    next: Annotated[str, Form(max_length=2000)] = "/",  # noqa: A002
) -> Response:
    """Also before signing in. It changes nothing but the words."""
    to = page_routes.redirect_to(ours(next))
    if chosen := parse_language(language):
        to.set_cookie(COOKIE, chosen, max_age=YEAR, path="/", httponly=True, samesite="lax")
    return to
