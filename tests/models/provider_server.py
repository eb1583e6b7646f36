"""A provider of language models on loopback: real sockets, the wire formats of OpenAI and Anthropic, bad days included.

    async with ProviderServer() as server:
        server.plays(Status(429, headers={"retry-after": "2"}), Answer("hello"))

Each request takes the next act of the script; when that is used up, the model says "ok". Requests are kept in
`server.requests`. Acts that break a connection do so on the socket, not in any library.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import h11
from tests.models.wire_formats import WIRES, Answer, Wire


@dataclass(frozen=True)
class Status:
    """An error the provider reports itself."""

    code: int
    message: str = "no"
    kind: str | None = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """Exactly these bytes as the body."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200


@dataclass(frozen=True)
class Mangled:
    """An answer in which some bytes are replaced by others on their way out."""

    answer: Answer
    old: bytes
    new: bytes


@dataclass(frozen=True)
class Drip:
    """An answer that never pauses for long and never ends: a byte every so many seconds."""

    answer: Answer
    every: float


@dataclass(frozen=True)
class Cut:
    """An answer of which only the first `keep` bytes (streamed: events) come. `politely` ends the body as if whole."""

    answer: Answer
    keep: int
    politely: bool = False


@dataclass(frozen=True)
class Silent:
    """Takes the request and says nothing."""


@dataclass(frozen=True)
class Hangup:
    """Takes the request and closes the connection."""


Act = Answer | Status | Raw | Mangled | Drip | Cut | Silent | Hangup


@dataclass(frozen=True)
class Received:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class ProviderServer:
    def __init__(self, *, key: str | None = None) -> None:
        self._key = key
        self._script: deque[Act] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self.requests: list[Received] = []
        self.connections = 0

    def plays(self, *acts: Act) -> None:
        self._script.extend(acts)

    @property
    def url(self) -> str:
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://{host}:{port}"

    @property
    def last(self) -> dict[str, Any]:
        return self.requests[-1].body

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- connections ------------------------------------------------------------------------------------------------

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            await self._serve(h11.Connection(h11.SERVER), reader, writer)
        except (ConnectionError, h11.RemoteProtocolError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve(self, http: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            received = await _request(http, reader)
            if received is None:
                return
            if not await _Reply(http, writer, received).give(self._act(received)):
                return
            if http.our_state is not h11.DONE or http.their_state is not h11.DONE:
                return
            http.start_next_cycle()

    def _act(self, received: Received) -> Act:
        self.requests.append(received)
        wire = WIRES.get(received.path.partition("?")[0])
        if wire is None:
            return Status(404, "Not found")
        key = wire.key(received.headers)
        if key is None or (self._key is not None and key != self._key):
            return Status(401, f"Incorrect API key provided: {key}.", "invalid_api_key")
        complaint = wire.complaint(received.headers, received.body)
        if complaint is not None:
            return Status(400, complaint)
        return self._script.popleft() if self._script else Answer("ok")


async def _request(http: h11.Connection, reader: asyncio.StreamReader) -> Received | None:
    head: h11.Request | None = None
    body = b""
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            http.receive_data(await reader.read(65536))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            assert head is not None
            headers = {name.decode(): value.decode() for name, value in head.headers}
            return Received(head.target.decode(), headers, json.loads(body or b"{}"))
        else:
            return None


@dataclass
class _Reply:
    """One answer on one connection. `give` says whether the connection can be used again."""

    http: h11.Connection
    writer: asyncio.StreamWriter
    received: Received

    async def give(self, act: Act) -> bool:
        wire = WIRES.get(self.received.path.partition("?")[0])
        match act:
            case Silent():
                await asyncio.Event().wait()
            case Hangup():
                return False
            case Raw():
                await self._whole(act.status, act.body, act.content_type)
            case Status():
                error = (wire or WIRES["/v1/chat/completions"]).error(act.code, act.message, act.kind)
                await self._whole(act.code, json.dumps(error).encode(), headers=act.headers)
            case _ if self.received.body.get("stream") is True:
                assert wire is not None
                return await self._streamed(act, wire)
            case Mangled():
                assert wire is not None
                await self._whole(200, self._body(act.answer, wire).replace(act.old, act.new))
            case Cut() | Drip():
                assert wire is not None
                body = self._body(act.answer, wire)
                await self._head(200, "application/json", [("content-length", str(len(body)))])
                if isinstance(act, Cut):
                    await self._send(h11.Data(data=body[: act.keep]))
                    return False
                for index in range(len(body)):
                    await self._send(h11.Data(data=body[index : index + 1]))
                    await asyncio.sleep(act.every)
                await self._send(h11.EndOfMessage())
            case Answer():
                assert wire is not None
                await self._whole(200, self._body(act, wire))
        return True

    def _body(self, answer: Answer, wire: Wire) -> bytes:
        return json.dumps(wire.body(answer, self.received.body)).encode()

    async def _streamed(self, act: Answer | Mangled | Cut | Drip, wire: Wire) -> bool:
        answer = act if isinstance(act, Answer) else act.answer
        events: Iterator[bytes] = wire.events(answer, self.received.body)
        await self._head(200, "text/event-stream; charset=utf-8", [("transfer-encoding", "chunked")])
        for index, event in enumerate(events):
            match act:
                case Cut() if index >= act.keep:
                    if act.politely:
                        break
                    return False
                case Mangled():
                    event = event.replace(act.old, act.new)
                case Drip():
                    await asyncio.sleep(act.every)
            await self._send(h11.Data(data=event))
        await self._send(h11.EndOfMessage())
        return True

    async def _whole(
        self, status: int, body: bytes, content_type: str = "application/json", headers: dict[str, str] | None = None
    ) -> None:
        await self._head(status, content_type, [("content-length", str(len(body))), *(headers or {}).items()])
        await self._send(h11.Data(data=body))
        await self._send(h11.EndOfMessage())

    async def _head(self, status: int, content_type: str, headers: list[tuple[str, str]]) -> None:
        await self._send(h11.Response(status_code=status, headers=[("content-type", content_type), *headers]))

    async def _send(self, event: h11.Event) -> None:
        data = self.http.send(event)
        if data:
            self.writer.write(data)
            await self.writer.drain()
