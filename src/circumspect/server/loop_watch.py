"""The watch over the event loop: a stall in, a log line and a metric that name the route out.

While the loop is held, no tenant of this worker gets an answer, not even on `/healthz`. So a thread asks the loop for a
sign twenty times a second; when none comes for a quarter of a second it writes down which requests are under way and
where in our code the loop is, once for each stall. Routes are templates and places are lines of code: nothing that a
person said is in either. Code that never lets go of Python's lock stops the watch too; such a stall is counted when it
is over, without its place.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

import circumspect

log = logging.getLogger(__name__)

STALL_SECONDS = 0.25
ASK_SECONDS = 0.05
TOLD_AFTER_SECONDS = 5.0
"""A stall is told of when it is over, and one that lasts, after this time."""
FRAMES = 5
NO_ROUTE = "none"
"""Background work, or a machine with too much to do."""
_ENDED = 100
_OURS = str(Path(circumspect.__file__).parent)


class RequestsUnderWay:
    """Which requests are being served, by the task that serves them. Written by the loop, read by the watch."""

    def __init__(self) -> None:
        self._scopes: dict[asyncio.Task[Any] | None, Scope] = {}
        self._ended: deque[tuple[float, str]] = deque(maxlen=_ENDED)

    def begin(self, scope: Scope) -> None:
        self._scopes[asyncio.current_task()] = scope

    def end(self) -> None:
        scope = self._scopes.pop(asyncio.current_task(), None)
        if scope is not None:
            self._ended.append((time.monotonic(), _route_of(scope)))

    def find(self, task: asyncio.Task[Any] | None) -> Scope | None:
        return self._scopes.get(task)

    def list_since(self, moment: float) -> list[str]:
        """Routes of all that were under way at some time since then, the one that began last first."""
        found = [_route_of(scope) for scope in reversed(list(self._scopes.values()))]
        return list(dict.fromkeys(found + [route for at, route in reversed(list(self._ended)) if at >= moment]))


class FollowRequests:
    """Pure ASGI, around the routes themselves: they put their template into this very scope."""

    def __init__(self, app: ASGIApp, under_way: RequestsUnderWay) -> None:
        self.app, self._under_way = app, under_way

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        self._under_way.begin(scope)
        try:
            await self.app(scope, receive, send)
        finally:
            self._under_way.end()


@asynccontextmanager
async def watch_loop(under_way: RequestsUnderWay, note_stall: Callable[[str, float], None]) -> AsyncIterator[None]:
    """Until the block is left. `note_stall` hears of each with its route and its length."""
    watch = _Watch(asyncio.get_running_loop(), threading.get_ident(), under_way, note_stall)
    thread = threading.Thread(target=watch.run, name="circumspect-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        watch.stopped.set()


class _Watch:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        thread: int,
        under_way: RequestsUnderWay,
        note_stall: Callable[[str, float], None],
    ) -> None:
        self._loop, self._thread, self._under_way, self._note_stall = loop, thread, under_way, note_stall
        self.stopped = threading.Event()

    def run(self) -> None:
        while not self.stopped.wait(ASK_SECONDS):
            try:
                self._ask()
            except RuntimeError:  # the loop is closed
                return

    def _ask(self) -> None:
        sign = threading.Event()
        asked, came = time.monotonic(), 0.0

        def give_sign() -> None:
            nonlocal came
            came = time.monotonic()
            sign.set()

        self._loop.call_soon_threadsafe(give_sign)
        in_time = sign.wait(STALL_SECONDS)
        if in_time and came - asked <= STALL_SECONDS:
            return
        # Who runs and where is asked at once: it may be over in a moment.
        held = None if in_time else self._under_way.find(asyncio.current_task(self._loop))
        places = [] if in_time else _find_places(sys._current_frames().get(self._thread))
        sign.wait(TOLD_AFTER_SECONDS)
        routes = self._under_way.list_since(asked)
        # Which route it is may be known only now, when the request has got so far.
        route = _route_of(held) if held else next(iter(routes if places or in_time else ()), NO_ROUTE)
        lasted = (came or time.monotonic()) - asked
        said = f"at {' < '.join(places) or 'no line of ours'}; under way: {', '.join(routes[:FRAMES]) or 'no request'}"
        log.warning(
            "the event loop stalled" if came else "the event loop stalls",
            extra={"route": route, "seconds": round(lasted, 3), "problem": said},
        )
        while not sign.wait(1):
            if self.stopped.is_set():
                return
        self._note_stall(route, came - asked)


def _find_places(frame: FrameType | None) -> list[str]:
    """The innermost lines of our package, the innermost first."""
    places: list[str] = []
    while frame is not None and len(places) < FRAMES:
        code = frame.f_code
        if code.co_filename.startswith(_OURS) and code.co_filename != __file__:
            places.append(f"{code.co_filename[len(_OURS) + 1 :]}:{frame.f_lineno} {code.co_name}")
        frame = frame.f_back
    return places


def _route_of(scope: Scope) -> str:
    return getattr(scope.get("route"), "path", "") or "unknown"
