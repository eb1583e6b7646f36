"""Sign in, sign out, choose a language. The work is done by the routes of the API."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Form, Query, Request
from starlette.responses import Response

from circumspect.errors import CircumspectError
from circumspect.server.access import NotPermitted, NotSignedIn, from_here, require_sign_in
from circumspect.server.console import page_routes
from circumspect.server.console.i18n import COOKIE, parse_language
from circumspect.server.console.rendering import page
from circumspect.server.console.visitors import Visitor, visitor, words_of
from circumspect.server.problems import status_of
from circumspect.server.routes.session import create_session, delete_session
from circumspect.server.schemas.session import Credentials

router = page_routes.router()
YEAR = 365 * 24 * 3600
Next = Annotated[str, Query(max_length=2000)]


def _ours(path: str) -> str:
    """Only to a page of our own: `//host` and `/\\host` are somebody else's to a browser."""
    plain = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if plain else "/"


@router.get("/login")
async def form(request: Request, next: Next = "/") -> Response:  # noqa: A002
    try:
        await require_sign_in(request)
    except CircumspectError:
        return page(request, None, "signing/page.html", next=_ours(next), name="", problem="")
    return page_routes.redirect_to(_ours(next))


@router.post("/login")
async def sign_in(
    request: Request,
    name: Annotated[str, Form(max_length=200)] = "",
    password: Annotated[str, Form(max_length=1000)] = "",
    next: Annotated[str, Form(max_length=2000)] = "/",  # noqa: A002
) -> Response:
    if not from_here(request):
        raise NotPermitted("Signing in has to come from a page of this server.", fix="Open its own sign-in page.")
    words, to = words_of(request), page_routes.redirect_to(_ours(next))
    try:
        if not name.strip() or not password:
            raise NotSignedIn("")
        await create_session(request, to, Credentials(name=name, password=password, cookie=True))
    except NotSignedIn:
        said = words.t("signing-refused")
        return page(request, None, "signing/page.html", status=401, next=_ours(next), name=name, problem=said)
    except CircumspectError as error:
        status = status_of(error)
        return page(request, None, "signing/page.html", status=status, next=_ours(next), name=name, problem=error.fix)
    return to


@router.post("/logout")
async def sign_out(request: Request, who: Annotated[Visitor, Depends(visitor())]) -> Response:
    to = page_routes.redirect_to("/login")
    await delete_session(request, to)
    return to


@router.post("/language")
async def choose_language(
    request: Request,
    language: Annotated[str, Form(max_length=10)],
    next: Annotated[str, Form(max_length=2000)] = "/",  # noqa: A002
) -> Response:
    """Also before signing in. It changes nothing but the words."""
    to = page_routes.redirect_to(_ours(next))
    if chosen := parse_language(language):
        to.set_cookie(COOKIE, chosen, max_age=YEAR, path="/", httponly=True, samesite="lax")
    return to
