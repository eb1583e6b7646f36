"""When the head of a request is waited for: from its first byte to its last, and not where it comes whole."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn import Config
from uvicorn.server import ServerState

from circumspect.server.http_protocol import Wire

HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Transport(asyncio.Transport):
    """A socket that takes everything."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def is_closing(self) -> bool:
        return False

    def write(self, data: Any) -> None: ...

    def close(self) -> None: ...


async def answer(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def connect() -> Wire:
    config = Config(answer, http=Wire, lifespan="off", log_config=None)
    config.load()
    wire = Wire(config, ServerState(), {}, asyncio.get_running_loop())
    wire.connection_made(Transport())
    return wire


async def test_a_head_that_comes_whole_is_not_waited_for() -> None:
    wire = await connect()
    assert wire._timer is not None, "whoever connects has to say something"
    for _ in range(2):
        wire.data_received(HEAD)
        assert wire._timer is None
        await asyncio.gather(*wire.tasks)
    wire.connection_lost(None)


async def test_a_head_that_comes_in_pieces_is_waited_for_until_it_is_whole() -> None:
    wire = await connect()
    wire.data_received(HEAD)
    await asyncio.gather(*wire.tasks)
    wire.data_received(HEAD[:10])
    first = wire._timer
    assert first is not None
    wire.data_received(HEAD[10:20])
    assert wire._timer is first, "one byte more is no more time"
    wire.data_received(HEAD[20:])
    assert wire._timer is None
    assert first.cancelled()
    wire.connection_lost(None)
