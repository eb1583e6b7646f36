"""A turn's reply in pieces for a chat client: a `Listener` that writes what it hears in the client's format.

What happens inside a turn is not for a chat client: it gets text as it comes, and calls once they were ruled on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol

from circumspect.errors import CircumspectError
from circumspect.server.problems import body_of
from circumspect.server.running_turns import turn_broken_off
from circumspect.server.streams import describe_lost_turn, drain
from circumspect.values import JournalEntry, TurnResult

log = logging.getLogger(__name__)


class StreamFormat(Protocol):
    """The server-sent events of one vendor, as bytes. Each method is called in this order; `add_text` any number of
    times, then one of the last two."""

    def begin(self) -> Iterable[bytes]: ...

    def add_text(self, piece: str) -> Iterable[bytes]: ...

    def finish(self, result: TurnResult) -> Iterable[bytes]:
        """All text has been added by now; calls and the rest are in the result."""
        ...

    def fail(self, problem: Mapping[str, Any]) -> Iterable[bytes]:
        """`problem` has our `code`, `problem` and `fix`."""
        ...


class ReplyStream:
    """Events wait here until the connection takes them."""

    def __init__(self, written: StreamFormat) -> None:
        self._format = written
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._said = ""
        self._put(written.begin())

    def entry(self, entry: JournalEntry) -> None:
        """What happens inside is not for a chat client."""

    def text(self, piece: str) -> None:
        if piece:
            self._said += piece
            self._put(self._format.add_text(piece))

    def end(self, task: asyncio.Future[TurnResult]) -> None:
        """The turn is over, in whatever way."""
        error = turn_broken_off() if task.cancelled() else task.exception()
        if error is not None:
            if not isinstance(error, CircumspectError):
                log.error("turn failed", exc_info=error)
                error = CircumspectError(
                    "Something of ours failed.", fix="Send it again with the same Idempotency-Key."
                )
            self._put(self._format.fail(body_of(error)))
        elif (result := task.result()).lost:
            self._put(self._format.fail(describe_lost_turn(result)))
        else:
            if result.reply.startswith(self._said):
                self.text(result.reply[len(self._said) :])
            self._put(self._format.finish(result))
        self._queue.put_nowait(None)

    async def events(self, after: Callable[[], Awaitable[None]]) -> AsyncIterator[bytes]:
        """`after` is for when all of it went out."""
        async for piece in drain(self._queue, lambda item: item):
            yield piece
        await after()

    def _put(self, events: Iterable[bytes]) -> None:
        for event in events:
            self._queue.put_nowait(event)
