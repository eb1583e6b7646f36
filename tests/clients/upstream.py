"""A provider of language models on loopback, in a thread of its own: what a server under test asks, as it asks it."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any, Self

from tests.models.provider_server import Act, ProviderServer
from tests.models.wire_formats import Answer, Call
from tests.patience import PATIENCE


class Upstream:
    """`plays` sets what the model says next; `asked` are the bodies of the requests that it got."""

    def __init__(self) -> None:
        self._server = ProviderServer()
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(PATIENCE)
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(PATIENCE)

    async def _serve(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        async with self._server:
            self._started.set()
            await self._ended.wait()

    @property
    def model(self) -> str:
        return f"openai:gpt-test@{self._server.url}/v1"

    def plays(self, *acts: Act) -> None:
        self._server._script.clear()
        self._server.requests.clear()
        self._server.plays(*acts)

    @property
    def asked(self) -> list[dict[str, Any]]:
        return [one.body for one in self._server.requests]


def call(tool: str, id: str = "call_upstream", **arguments: Any) -> Answer:
    return Answer(calls=(Call(tool, json.dumps(arguments), id),))
