"""mcp_session: one live connection to an MCP server, from the handshake until somebody hangs up.

The SDK wants its client entered and left by the same task, so a task of ours owns it, and calls come from any other. A
caller never waits for a call that it gave up on: what the SDK still has to do about it goes on without it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

import anyio
from mcp import Client
from mcp.client.session import IncomingMessage
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types import Implementation, Tool, ToolListChangedNotification
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

T = TypeVar("T")

MOST_PAGES = 50
_CLOSING = 10.0


def _sdk_says_nothing() -> None:
    """The SDK logs messages whole, and with them arguments, results and what a server echoes of our secrets."""
    for name in ("mcp.client", "mcp.shared"):
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.CRITICAL)
    logging.getLogger("client").addFilter(lambda record: "mcp" not in record.pathname)


_sdk_says_nothing()


class McpSession:
    """`open`, then `wait_for` calls on `client`, then `close`. `alive` until the server or we hang up."""

    def __init__(self, transport: AbstractAsyncContextManager[Any], on_change: Callable[[], None]) -> None:
        self.alive = True
        self.ended = ""
        self._transport = transport
        self._on_change = on_change
        self._over = asyncio.Event()
        self._leaving: set[asyncio.Task[Any]] = set()
        self._owner: asyncio.Task[None] | None = None
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()

    async def open(self, within: float) -> None:
        """Connected, or an exception and nothing left behind."""
        self._owner = asyncio.create_task(self._own())
        try:
            async with asyncio.timeout(within):
                await asyncio.shield(self._client)
        except BaseException:
            self.hang_up("it was not connected")
            self._owner.cancel()
            raise

    @property
    def client(self) -> Client:
        return self._client.result()

    def hang_up(self, why: str = "") -> None:
        """The session takes no more calls. Safe from any callback."""
        self.alive = False
        self.ended = self.ended or why
        self._over.set()

    async def close(self) -> None:
        self.hang_up()
        if self._owner:
            await asyncio.wait({self._owner}, timeout=_CLOSING)
            self._owner.cancel()
            await asyncio.wait({self._owner, *self._leaving}, timeout=1.0)

    async def wait_for(self, work: Awaitable[T], within: float) -> T:
        """The result of a request, or TimeoutError at the very moment; a hanging server cannot stretch it."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task}, timeout=within)
            if not task.done():
                raise TimeoutError
            return task.result()
        finally:
            if not task.done():
                self._leaving.add(task)
                task.add_done_callback(self._discard_task)
                task.cancel()

    def _discard_task(self, task: asyncio.Task[Any]) -> None:
        self._leaving.discard(task)
        if not task.cancelled():
            task.exception()

    async def tools(self) -> list[Tool]:
        """Everything that the server lists."""
        found: list[Tool] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await self.client.list_tools(cursor=cursor, cache_mode="bypass")
            found += page.tools
            cursor = page.next_cursor
            if not cursor:
                break
        return found

    # --- the task that owns the client -------------------------------------------------------------------------------

    async def _own(self) -> None:
        try:
            about = Implementation(name="circumspect", version="1")
            async with Client(
                self._transport, client_info=about, cache=None, message_handler=self._receive_message
            ) as client:
                self._client.set_result(client)
                async with anyio.create_task_group() as tasks:
                    if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
                        tasks.start_soon(self._listen, client)
                    await self._over.wait()
                    tasks.cancel_scope.cancel()
        except Exception as error:
            if not self._client.done():
                self._client.set_exception(_first(error))
                self._client.exception()
            self.hang_up(type(_first(error)).__name__)
        finally:
            self.hang_up()
            self._client.cancel()

    async def _receive_message(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._on_change()

    async def _listen(self, client: Client) -> None:
        """Servers of the newer protocol tell of changes only to who asks. Nothing is replayed: after a gap, look."""
        wait = 1.0
        while True:
            try:
                async with client.listen(tools_list_changed=True) as heard:
                    if not heard.honored.tools_list_changed:
                        return
                    async for _ in heard:
                        wait = 1.0
                        self._on_change()
            except SubscriptionLost:
                pass
            except (MCPError, TimeoutError, ValueError):
                return
            await asyncio.sleep(wait)
            wait = min(wait * 2, 60.0)
            self._on_change()


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
