"""A stream of events on its way out, which holds a place of its tenant's or operator's for as long as it is sent."""

from __future__ import annotations

from time import perf_counter

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from circumspect.server.open_streams import OpenStreams, TooManyStreams
from circumspect.server.problems import response_to
from circumspect.server.request_log import HELD_SINCE


class HeldStream(Response):
    """The response in its place, or a refusal. The place is taken when sending begins, and free again when it ends,
    however that comes about. Its length is how long somebody looks: it is no work, and no request's time."""

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
        scope[HELD_SINCE] = perf_counter()
        try:
            await self._response(scope, receive, send)
        finally:
            self._streams.free(self._whose)
