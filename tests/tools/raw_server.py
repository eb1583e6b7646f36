"""A server on loopback that answers with exactly the bytes it is told to, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Self

Answer = bytes | Callable[["Asked", asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class Asked:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def answer(status: int = 200, body: Any = None, /, **headers: str) -> bytes:
    """A whole response. A body that is not text is sent as JSON."""
    content = body.encode() if isinstance(body, str) else b"" if body is None else json.dumps(body).encode()
    kind = "text/plain" if isinstance(body, str) else "application/json"
    lines = {"content-type": kind, "content-length": str(len(content)), "connection": "close"}
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return head.encode() + b"\r\n" + content


async def silence(asked: Asked, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def hang_up(asked: Asked, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


class RawServer:
    """Plays its answers in turn; the last one again and again."""

    def __init__(
        self, *answers: Answer, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
    ) -> None:
        self.answers = list(answers) or [answer(200, {"ok": True})]
        self.asked: list[Asked] = []
        self._at = (host, port)
        self._tls = tls
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, *self._at, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http{'s' if self._tls else ''}://{self._at[0]}:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        task = asyncio.current_task()
        assert task
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, target, _ = head[0].split(" ")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            asked = Asked(method, target, headers, body)
            self.asked.append(asked)
            now = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            if isinstance(now, bytes):
                writer.write(now)
                await writer.drain()
            else:
                gone = asyncio.ensure_future(reader.read())
                playing = asyncio.ensure_future(now(asked, writer))
                await asyncio.wait({gone, playing}, return_when=asyncio.FIRST_COMPLETED)
                for one in (gone, playing):
                    one.cancel()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort() if not isinstance(writer.transport, asyncio.Transport) else writer.close()
