"""Routes that read nothing before it is known who sends it, and that take JSON as `json_bodies` has it.

`APIRouter(route_class=StrictRoute)`. `QuickRoutes` serves them without the framework's own way of reading a request.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from circumspect.errors import CircumspectError
from circumspect.server.access import Door
from circumspect.server.json_bodies import read_json
from circumspect.server.problems import HttpProblem, response_to


class StrictRequest(Request):
    async def json(self) -> Any:
        return read_json(await self.body())


class StrictRoute(APIRoute):
    """Its JSON body is read by `read_json`, and only when every `Door` it depends on has let the caller in."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        doors = [one.call for one in self.dependant.dependencies if isinstance(one.call, Door)]

        async def strict(request: Request) -> Response:
            if brings_body(request):
                request = StrictRequest(request.scope, request.receive)
                await let_in(request, doors)
                if self.body_field:
                    require_json(request)
            return await handler(request)

        return strict

    async def answer_error(self, request: Request, error: Exception) -> Response:
        """What goes out for what the endpoint raised. What nobody foresaw is raised again."""
        return await response_to(request, error)


def brings_body(request: Request) -> bool:
    return "content-length" in request.headers or "transfer-encoding" in request.headers


async def let_in(request: Request, doors: Sequence[Door[Any]]) -> None:
    try:
        for door in doors:
            await door(request)
    except CircumspectError:
        # A client that is still sending would lose the answer, so what it sends is taken, within the limits for every
        # body, and thrown away piece by piece.
        with suppress(ClientDisconnect):
            async for _ in request.stream():
                pass
        raise


def require_json(request: Request) -> None:
    """Or nothing at all, which is another mistake."""
    kind, _, form = request.headers.get("content-type", "").partition(";")[0].strip().lower().partition("/")
    is_json = kind == "application" and (form == "json" or form.endswith("+json"))
    if not is_json and request.headers.get("content-length") != "0":
        raise HttpProblem(
            415,
            "unsupported_media_type",
            "The body is not sent as JSON.",
            fix="Send JSON, with the header `Content-Type: application/json`.",
        )
