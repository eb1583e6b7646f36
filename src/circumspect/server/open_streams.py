"""How many streams of events one tenant or operator holds open at a worker.

A stream costs next to nothing to hold and a connection, a task and looks at the database to keep: a few thousand leave
everybody else without. The answers of turns are not counted, since a turn ends by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from circumspect.errors import CircumspectError
from circumspect.server.problems import response_to

MOST_STREAMS = 100


class TooManyStreams(CircumspectError):
    code = "too_many_streams"
    status = 429
    headers: Mapping[str, str] = {"Retry-After": "5"}


class OpenStreams:
    """One for each worker."""

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()

    def take(self, whose: str) -> None:
        if self._held[whose] >= MOST_STREAMS:
            raise TooManyStreams(
                f"{MOST_STREAMS} streams of yours are open already, and that is the limit.",
                fix="Close those that nobody reads, or ask now and then instead.",
            )
        self._held[whose] += 1

    def free(self, whose: str) -> None:
        self._held[whose] -= 1
        if not self._held[whose]:
            del self._held[whose]


class HeldStream(Response):
    """The response in its place, or a refusal. The place is taken when sending begins, and free again when it ends,
    however that comes about."""

    def __init__(self, response: Response, streams: OpenStreams, whose: str) -> None:
        self._response, self._streams, self._whose = response, streams, whose
        super().__init__(status_code=response.status_code)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._streams.take(self._whose)
        except TooManyStreams as error:
            refusal = await response_to(Request(scope, receive), error)
            await refusal(scope, receive, send)
            return
        try:
            await self._response(scope, receive, send)
        finally:
            self._streams.free(self._whose)
