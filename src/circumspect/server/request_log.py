"""Requests: an id, a line in the log and the last net for each of them.

A request's id comes from `X-Request-Id` where that is harmless text, and goes out in the same header. Every log line
that is written while the request is served carries it, with the tenant once that is known; so does the one line at its
end. Nothing that a person said is in any of them: the path is logged as its template.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import Callable
from contextvars import ContextVar
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from circumspect.logs import JsonFormatter
from circumspect.server.problems import problem_response
from circumspect.stores.action_log import acting_from

log = logging.getLogger("circumspect.http")

HELD_SINCE = "circumspect.held_since"
"""In the scope of a request whose answer is a stream that goes on until the client has enough."""
_HARMLESS = re.compile(rb"[A-Za-z0-9._:-]{1,64}")
_context: ContextVar[dict[str, str] | None] = ContextVar("circumspect_request", default=None)


def add_log_context(**facts: str) -> None:
    """Something that every further log line of this request should say: `about(tenant="shop")`."""
    context = _context.get()
    if context is not None:
        context.update(facts)


class ServerFormatter(JsonFormatter):
    FIELDS = ("request", "method", "route", "status", "seconds")

    def describe(self, record: logging.LogRecord) -> dict[str, object]:
        attached = record.__dict__
        for name, value in (_context.get() or {}).items():
            attached.setdefault(name, value)
        line = super().describe(record)
        return line | {name: attached[name] for name in self.FIELDS if name in attached}


def configure_logs(level: str) -> None:
    """Our lines and uvicorn's, as JSON on standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(ServerFormatter())
    # None of it is in our lines, and finding it out is half of what a line costs.
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
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
            self._tell(scope, status, perf_counter() - began, scope.get(HELD_SINCE, perf_counter()) - began)
            _context.reset(token)
            acting_from.reset(origin)

    def _tell(self, scope: Scope, status: int, seconds: float, worked: float) -> None:
        route = getattr(scope.get("route"), "path", "") or "unknown"
        method = scope["method"]
        if self.observe:
            self.observe(method, route, status, worked)
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
