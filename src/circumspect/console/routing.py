"""Routes of pages: whatever goes wrong is a page too, with what is wrong and what to do.

Who is not signed in is sent to the sign-in page and comes back from there. A request of htmx's gets the message alone,
which the page shows above its content.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from circumspect.console.access import Visitor, words_of
from circumspect.console.rendering import page, wants_fragment
from circumspect.errors import CircumspectError
from circumspect.server.access import NotSignedIn, signed_in
from circumspect.server.problems import status_of

log = logging.getLogger(__name__)


class PageRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                return await handler(request)
            except NotSignedIn:
                return sign_in_first(request)
            except CircumspectError as error:
                return await problem(request, status_of(error), error.problem, error.fix)
            except RequestValidationError:
                words = words_of(request)
                return await problem(request, 422, words.t("error-422"), words.t("error-422-fix"))
            except HTTPException as error:
                return await refused(request, error.status_code)
            except Exception:
                log.exception("page failed")
                return await refused(request, 500)

        return guarded


def router() -> APIRouter:
    """Pages are no part of the API's description."""
    return APIRouter(route_class=PageRoute, include_in_schema=False, default_response_class=Response)


def back(path: str) -> RedirectResponse:
    """After a change: the browser gets the page anew, and going back does not repeat the change."""
    return RedirectResponse(path, 303)


def sign_in_first(request: Request) -> Response:
    to = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    login = "/login" if to == "/" or request.method != "GET" else f"/login?next={quote(to, safe='')}"
    if request.headers.get("hx-request") == "true":
        return Response(status_code=401, headers={"HX-Redirect": "/login"})
    return RedirectResponse(login, 303)


async def refused(request: Request, status: int) -> Response:
    """A status of the framework's, in words."""
    words, known = words_of(request), status if status in (403, 404, 405, 413, 422, 500, 503) else 500
    return await problem(request, status, words.t(f"error-{known}"), words.t(f"error-{known}-fix"))


async def problem(request: Request, status: int, said: str, fix: str) -> Response:
    template = "problem/_fragment.html" if wants_fragment(request) else "problem/page.html"
    return page(request, await _whoever(request), template, status=status, code=status, problem=said, fix=fix)


async def _whoever(request: Request) -> Visitor | None:
    """The visitor, for the menu around the message; nobody when even that cannot be found out."""
    try:
        return Visitor((await signed_in(request))[0], words_of(request))
    except Exception:
        return None
