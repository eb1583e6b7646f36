"""HTTP as it comes over the wire: uvicorn's protocol, with an end to the head of a request in bytes and in seconds.

`Config(http=Wire)`. uvicorn waits for a head as long as the client likes and, with httptools, takes as much of it as
comes; a few thousand connections that send a byte a minute would be all it takes. The body has its limits elsewhere
(`limits.BodyLimit`), for as long as somebody reads it; what trickles in after the answer is counted here.
"""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEAD_SECONDS = 10.0
"""From the first byte of a request, or from the connection, to the end of its head."""
HEAD_BYTES = 65_536
HEADERS = 200

_Protocol: Any = AutoHTTPProtocol


class TooMuch(Exception):
    """More head than we take."""


class Wire(_Protocol):  # type: ignore[misc]
    """One connection. `cycle` is the request that came last, and None before the first."""

    _timer: asyncio.TimerHandle | None = None
    _head = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._got_it()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        before = self.cycle
        is_head = before is None or before.response_complete or not before.more_body
        if is_head:
            if self._head > HEAD_BYTES:
                self._refuse(431, "head_too_large", "The headers are too large.", "Send fewer and shorter ones.")
                return
            self._head += len(data)
        super().data_received(data)
        if self.cycle is not before:
            self._got_it()
        elif is_head:  # nearly always it comes whole, and nothing has to be waited for
            self._wait()

    def on_headers_complete(self) -> None:
        # What is raised here reaches uvicorn as a request that cannot be read.
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > HEAD_BYTES or len(self.headers) > HEADERS:
            raise TooMuch
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "bad_request", "This is not HTTP as we take it.", "Send well-formed HTTP/1.1.")

    # --- waiting ----------------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self._too_late)

    def _got_it(self) -> None:
        self._head = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_late(self) -> None:
        self._timer = None
        if self.cycle is not None and not self.cycle.response_complete:
            self._wait()  # the answer to the one before it goes first
        elif self._head and self.cycle is None:
            self._refuse(408, "too_slow", "The headers took too long.", f"Send them within {HEAD_SECONDS:g} seconds.")
        else:
            self.transport.close()

    def _refuse(self, status: int, code: str, problem: str, fix: str) -> None:
        body = orjson.dumps({"code": code, "problem": problem, "fix": fix})
        head = f"HTTP/1.1 {status} \r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(head.encode() + b"connection: close\r\n\r\n" + body)
        self.transport.close()
