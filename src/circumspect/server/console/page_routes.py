"""Routes of pages: whatever goes wrong is a page too, with what is wrong and what to do.

Who is not signed in is sent to the sign-in page and comes back from there. What somebody had written when their session
ended is given back to them, to be sent again. A request of htmx's gets the message alone, which the page shows above
its content.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.datastructures import FormData, Headers
from starlette.exceptions import HTTPException
from starlette.formparsers import FormParser
from starlette.requests import ClientDisconnect
from starlette.responses import RedirectResponse, Response

from circumspect.errors import CircumspectError
from circumspect.server.access import NoRole, NotFresh, NotSignedIn, SecondFactorRequired, from_here, require_sign_in
from circumspect.server.console.held_forms import ask_for_proof
from circumspect.server.console.rendering import page, wants_fragment
from circumspect.server.console.visitors import Visitor, words_of
from circumspect.server.path_prefix import without_prefix
from circumspect.server.problems import status_of
from circumspect.server.refusals import note_refusal

log = logging.getLogger(__name__)

_READ_AT_ONCE = 50_000
"""Bytes of a form that take some milliseconds at most."""


class PageRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def call_handler(request: Request) -> Response:
            try:
                await _require_readable_form(request)
                return await handler(request)
            except NotSignedIn:
                return await sign_in_first(request)
            except SecondFactorRequired as error:
                return await set_up_first(request, error)
            except NotFresh:
                return await ask_for_proof(request)
            except CircumspectError as error:
                return await render_error(request, error)
            except RequestValidationError:
                words = words_of(request)
                return await render_problem(request, 422, words.t("error-422"), words.t("error-422-fix"))
            except HTTPException as error:
                return await render_status(request, error.status_code)
            except Exception:
                log.exception("page failed")
                return await render_status(request, 500)

        return call_handler


async def _require_readable_form(request: Request) -> None:
    """The framework reads a form before it asks who sends it, and looks at every separator on its own: a megabyte of
    them costs half a second, whoever sends it. So they are counted first. It looks at every escaped byte as well;
    a long form may well have many, and is read beside the loop, which goes on meanwhile."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        return
    try:
        body = await request.body()
    except ClientDisconnect:
        raise HTTPException(400) from None
    if body.count(b"&") > MOST_FIELDS:
        raise HTTPException(413)
    if len(body) > _READ_AT_ONCE:
        request._form = await asyncio.to_thread(_parse_form, request.headers, body)


def _parse_form(headers: Headers, body: bytes) -> FormData:
    """As the framework would. What it found is where it looks first."""

    async def pieces() -> AsyncGenerator[bytes, None]:
        yield body
        yield b""  # the end

    return asyncio.run(FormParser(headers, pieces()).parse())


def router() -> APIRouter:
    """Pages are no part of the API's description."""
    return APIRouter(route_class=PageRoute, include_in_schema=False, default_response_class=Response)


def redirect_to(path: str) -> RedirectResponse:
    """After a change: the browser gets the page anew, and going back does not repeat the change."""
    return RedirectResponse(path, 303)


async def sign_in_first(request: Request) -> Response:
    """To the sign-in page and back. A change that comes too late is not done, and nothing of it is lost: its form is
    shown once more. Only where the form was ours: nobody else gets words of theirs onto a page of ours."""
    changes = request.method not in ("GET", "HEAD")
    if request.headers.get("hx-request") == "true":
        if changes:
            return page(request, None, "problem/_signed_out.html", status=401, login="/login")
        shown = urlsplit(request.headers.get("hx-current-url", ""))
        return Response(
            status_code=401, headers={"HX-Redirect": _login(without_prefix(request, shown.path), shown.query)}
        )
    if not changes:
        return RedirectResponse(_login(request.url.path, request.url.query), 303)
    written = await _read_form(request) if from_here(request) else []
    if not any(name in WRITTEN for name, _ in written):
        return RedirectResponse("/login", 303)
    values: dict[str, Any] = {"login": "/login", "written": written, "shown": WRITTEN, "to": _here(request)}
    return page(request, None, "problem/signed_out.html", status=401, **values)


async def set_up_first(request: Request, error: SecondFactorRequired) -> Response:
    """To where the second factor is set up that the role needs. What a page fetches beside itself stays away."""
    if request.headers.get("hx-request") == "true":
        return Response(status_code=204)
    return redirect_to("/account/second-factor") if request.method == "GET" else await render_error(request, error)


def _login(path: str, query: str = "") -> str:
    to = path + (f"?{query}" if query else "")
    return f"/login?next={quote(to, safe='')}" if to.startswith("/") and to != "/" else "/login"


def _here(request: Request) -> str:
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


async def _read_form(request: Request) -> list[tuple[str, str]]:
    """What a form of ours carried."""
    try:
        form = await request.form()
    except HTTPException:
        return []
    return [(name, value) for name, value in form.multi_items() if isinstance(value, str) and value]


MOST_FIELDS = 1_000
"""In one form. The largest of ours has some dozens."""
WRITTEN = ("content", "arguments", "text", "note", "correction", "comment", "why")
"""Fields that people write in; the others of a form are choices and marks of ours."""
KNOWN = (403, 404, 405, 409, 413, 422, 429, 500, 503)
_ALIKE = {400: 422, 502: 503, 504: 503}
"""Statuses that mean the same to a person."""


async def render_status(request: Request, status: int) -> Response:
    """A status of the framework's, in words."""
    words, known = words_of(request), _pick_known_status(status)
    return await render_problem(request, status, words.t(f"error-{known}"), words.t(f"error-{known}-fix"))


def _pick_known_status(status: int) -> int:
    alike = _ALIKE.get(status, status)
    return alike if alike in KNOWN else 500


async def render_error(request: Request, error: CircumspectError) -> Response:
    """One of our errors. They are worded in English, for programs too: what is not there is said in words of the
    console, and on pages in another language the status comes first and the error below it."""
    words, status = words_of(request), status_of(error)
    if status == 403:
        await note_refusal(request, error)
    if status == 404:
        return await render_status(request, status)
    may_leave = isinstance(error, NoRole)  # there is no menu to leave by
    if words.language == "en":
        return await render_problem(request, status, error.problem, error.fix, may_leave=may_leave)
    known = _pick_known_status(status)
    headline, fix = words.t(f"error-{known}"), words.t(f"error-{known}-fix")
    return await render_problem(request, status, headline, fix, str(error), may_leave=may_leave)


async def render_problem(
    request: Request, status: int, said: str, fix: str, english: str = "", *, may_leave: bool = False
) -> Response:
    template = "problem/_fragment.html" if wants_fragment(request) else "problem/page.html"
    values: dict[str, Any] = {"code": status, "problem": said, "fix": fix, "english": english, "may_leave": may_leave}
    return page(request, await _whoever(request), template, status=status, **values)


async def _whoever(request: Request) -> Visitor | None:
    """The visitor, for the menu around the message; nobody when even that cannot be found out."""
    try:
        return Visitor((await require_sign_in(request))[0], words_of(request))
    except Exception:
        return None
