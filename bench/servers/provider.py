"""A provider in a thread of this process: OpenAI's chat protocol, every answer at once, or all of them held back.

Only as much HTTP as keeps clients happy: it must cost next to nothing itself.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from bench.load import ASSESSED

BEGINNING = "We are open"
"""How every answer begins."""
_HEAD = {"id": "c", "created": 1, "model": "m"}
_USAGE = {"prompt_tokens": 300, "completion_tokens": 60, "total_tokens": 360}


def _whole() -> bytes:
    message = {"role": "assistant", "content": ASSESSED}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    body = json.dumps({**_HEAD, "object": "chat.completion", "choices": [choice], "usage": _USAGE}).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body


def _pieces() -> bytes:
    """The same as server-sent events, a few words in each."""
    deltas = [{"role": "assistant", "content": ""}, *({"content": one} for one in ASSESSED.splitlines(True)), {}]
    events = []
    for delta in deltas:
        choice = {"index": 0, "delta": delta, "finish_reason": None if delta else "stop"}
        events.append({**_HEAD, "object": "chat.completion.chunk", "choices": [choice]})
    events.append({**_HEAD, "object": "chat.completion.chunk", "choices": [], "usage": _USAGE})
    body = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"
    return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(body) + body


class Provider:
    def __init__(self) -> None:
        self.answers = {True: _pieces(), False: _whole()}
        self.holds = False
        self.held: list[tuple[asyncio.Transport, bytes]] = []
        self.loop = asyncio.new_event_loop()
        self.url = ""

    def answer(self, transport: asyncio.Transport, request: bytes) -> None:
        said = self.answers[bool(json.loads(request).get("stream"))]
        if self.holds:
            self.held.append((transport, said))
        else:
            transport.write(said)

    def release(self) -> None:
        """Whatever waits is answered, and what comes is answered at once."""
        self.loop.call_soon_threadsafe(self._release)

    def _release(self) -> None:
        self.holds = False
        for transport, said in self.held:
            transport.write(said)
        self.held.clear()


class _Connection(asyncio.Protocol):
    def __init__(self, provider: Provider) -> None:
        self.provider, self.buffer = provider, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            head, _, rest = self.buffer.partition(b"\r\n\r\n")
            size = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            if len(rest) < size:
                return
            self.buffer = rest[size:]
            self.provider.answer(self.transport, rest[:size])


@contextmanager
def providing(address: str = "127.0.0.1") -> Iterator[Provider]:
    provider = Provider()
    server = provider.loop.run_until_complete(
        provider.loop.create_server(lambda: _Connection(provider), address, 0, backlog=1024)
    )
    provider.url = "http://{}:{}/v1".format(*server.sockets[0].getsockname())
    thread = threading.Thread(target=provider.loop.run_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        provider.loop.call_soon_threadsafe(provider.loop.stop)
        thread.join()
        server.close()
