"""Requests: an id, a line in the log and the last net for each of them.

A request's id comes from `X-Request-Id` where that is harmless text, and goes out in the same header. Every log line
that is written while the request is served carries it, with the tenant once that is known; so does the one line at its
end. Nothing that a person said is in any of them: the path is logged as its template.

Also here: JSON as we take it, and from whom. Nothing is read before it is known who sends it. Two values under one
name, text that is no Unicode and numbers that are none are refused where the standard library would shrug.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from contextvars import ContextVar
from time import perf_counter
from typing import Any

import orjson
from fastapi import Request
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from circumspect.errors import CircumspectError
from circumspect.logs import JsonFormatter
from circumspect.server.access import Door
from circumspect.server.problems import HttpProblem, problem_response
from circumspect.stores.action_log import acting_from

log = logging.getLogger("circumspect.http")

_HARMLESS = re.compile(rb"[A-Za-z0-9._:-]{1,64}")
_context: ContextVar[dict[str, str] | None] = ContextVar("circumspect_request", default=None)
DEEPEST = 100
"""Levels of JSON within JSON. Deeper ones are an attack or an accident."""


def add_log_context(**facts: str) -> None:
    """Something that every further log line of this request should say: `about(tenant="shop")`."""
    context = _context.get()
    if context is not None:
        context.update(facts)


class ServerFormatter(JsonFormatter):
    FIELDS = ("method", "route", "status", "seconds")

    def format(self, record: logging.LogRecord) -> str:
        for name, value in (_context.get() or {}).items():
            if not hasattr(record, name):
                setattr(record, name, value)
        line = orjson.loads(super().format(record))
        line |= {name: getattr(record, name) for name in ("request", *self.FIELDS) if hasattr(record, name)}
        return orjson.dumps(line).decode()


def configure_logs(level: str) -> None:
    """Our lines and uvicorn's, as JSON on standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(ServerFormatter())
    for name, least in (("circumspect", level.upper()), ("uvicorn", "WARNING")):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(least)
        logger.propagate = False


class RequestLog:
    """Pure ASGI: it never holds a stream back."""

    def __init__(
        self,
        app: ASGIApp,
        observe: Callable[[str, str, int, float], None] | None = None,
        is_closing: Callable[[], bool] = lambda: False,
    ) -> None:
        self.app = app
        self.observe = observe
        self.is_closing = is_closing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        request = given if _HARMLESS.fullmatch(given) else secrets.token_hex(8).encode()
        token = _context.set({"request": request.decode()})
        client = scope.get("client")
        origin = acting_from.set(str(client[0]) if client else "")
        status, began = 0, perf_counter()

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message.setdefault("headers", [])
                message["headers"] = [*message["headers"], (b"x-request-id", request)]
                if self.is_closing():
                    # Whoever keeps the connection would send its next request while it is being closed.
                    message["headers"].append((b"connection", b"close"))
            await send(message)

        try:
            await self.app(scope, receive, send_with_id)
        except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            log.exception("request failed")
            if status:
                raise
            fix = "Try again; if it stays, report it with the X-Request-Id of this answer."
            response = problem_response(500, "internal", "Something of ours failed.", fix)
            await response(scope, receive, send_with_id)
        finally:
            self._tell(scope, status, perf_counter() - began)
            _context.reset(token)
            acting_from.reset(origin)

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "") or "unknown"
        method = scope["method"]
        if self.observe:
            self.observe(method, route, status, seconds)
        if log.isEnabledFor(logging.INFO):
            facts = {"method": method, "route": route, "status": status, "seconds": round(seconds, 6)}
            log.info("request", extra=facts)


class HeadAsGet:
    """A HEAD is a GET whose body the server leaves out: what can be read can be asked about."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}  # a copy: by its own, the server knows that no body may follow
        await self.app(scope, receive, send)


# --- JSON as we take it ---------------------------------------------------------------------------------------------


def read_json(body: bytes) -> Any:
    """The value, or an `HttpProblem` that says what is wrong with the body."""
    if not body.strip():
        raise HttpProblem(400, "bad_json", "The body is empty.", fix="Send one JSON object in UTF-8.")
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if "depth" in error.msg:
            raise _too_deep() from None
        raise HttpProblem(
            400,
            "bad_json",
            f"The body is not valid JSON (character {error.pos}).",
            fix="Send one JSON object in UTF-8; text must be Unicode, without lone surrogates.",
        ) from None
    try:
        value = json.loads(body, object_pairs_hook=_once)
    except (RecursionError, ValueError) as error:
        problem = str(error) if isinstance(error, _Twice) else "the body is nested too deeply or holds a huge number"
        raise HttpProblem(
            400, "bad_json", f"The body cannot be read: {problem}.", fix="Send each name once, and plain values."
        ) from None
    if _depth(value) > DEEPEST:
        raise _too_deep()
    return value


def _too_deep() -> HttpProblem:
    return HttpProblem(
        400, "bad_json", f"The body is nested deeper than {DEEPEST} levels.", fix="Send a flatter value."
    )


class _Twice(ValueError):
    pass


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _Twice("a name occurs twice in one object")
    return made


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level and depth <= DEEPEST:
        depth += 1
        below: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                below.extend(item for item in one.values() if isinstance(item, dict | list))
            elif isinstance(one, list):
                below.extend(item for item in one if isinstance(item, dict | list))
        level = below
    return depth


class StrictRequest(Request):
    async def json(self) -> Any:
        return read_json(await self.body())


class StrictRoute(APIRoute):
    """A route whose JSON body is read by `read_json`, and only when every `Door` it depends on has let the caller in.
    `APIRouter(route_class=StrictRoute)`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        doors = [one.call for one in self.dependant.dependencies if isinstance(one.call, Door)]

        async def strict(request: Request) -> Response:
            if "content-length" in request.headers or "transfer-encoding" in request.headers:
                request = StrictRequest(request.scope, request.receive)
                await _let_in(request, doors)
                if self.body_field and not _is_json(request):
                    raise HttpProblem(
                        415,
                        "unsupported_media_type",
                        "The body is not sent as JSON.",
                        fix="Send JSON, with the header `Content-Type: application/json`.",
                    )
            return await handler(request)

        return strict


def _is_json(request: Request) -> bool:
    """Or nothing at all, which is another mistake."""
    kind, _, form = request.headers.get("content-type", "").partition(";")[0].strip().lower().partition("/")
    is_json = kind == "application" and (form == "json" or form.endswith("+json"))
    return is_json or request.headers.get("content-length") == "0"


async def _let_in(request: Request, doors: Sequence[Door[Any]]) -> None:
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
