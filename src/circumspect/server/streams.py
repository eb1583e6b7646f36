"""A turn as server-sent events: `started`, `step`, `text`, then `done` or `error`.

`step` says what kind of thing is being looked at and nothing of what was found: the journal is for operators. `text`
pieces joined are the reply that `done` has whole, whether or not the model could stream it. A comment goes out when
nothing else did for a while, so that proxies keep the connection. A client that goes away ends the stream, never the
turn.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TypeVar

from starlette.responses import StreamingResponse

from circumspect.errors import CircumspectError
from circumspect.server.problems import body_of
from circumspect.server.running_turns import Turns, turn_broken_off
from circumspect.setup import TurnSetup
from circumspect.stores.codec import dumps
from circumspect.values import EntryKind, Incoming, JournalEntry, Json, TurnResult

log = logging.getLogger(__name__)

T = TypeVar("T")
HEARTBEAT_SECONDS = 15.0
STILL_HERE = b": still here\n\n"
HEADERS = {"Cache-Control": "no-cache, no-store", "X-Accel-Buffering": "no"}
STEPS: Mapping[EntryKind, str] = {
    "assessment": "thinking",
    "model": "thinking",
    "context": "reading",
    "policy": "checking",
    "critique": "reviewing",
    "tool": "acting",
    "intent": "confirming",
}
"""What a user may know of a step. Kinds that are not here are not told."""


class Stream:
    """A `Listener` whose events wait here until the connection takes them."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[tuple[str, object] | None] = asyncio.Queue()
        self._said = ""

    def entry(self, entry: JournalEntry) -> None:
        step = STEPS.get(entry.kind)
        if step:
            self._queue.put_nowait(("step", {"kind": step}))

    def text(self, piece: str) -> None:
        if piece:
            self._said += piece
            self._queue.put_nowait(("text", {"text": piece}))

    def end(self, task: asyncio.Future[TurnResult]) -> None:
        """The turn is over, in whatever way."""
        if task.cancelled():
            self._queue.put_nowait(("error", body_of(turn_broken_off())))
        elif isinstance(error := task.exception(), CircumspectError):
            self._queue.put_nowait(("error", body_of(error)))
        elif error is not None:
            log.error("turn failed", exc_info=error)
            self._fail("internal", "Something of ours failed.", "Send it again with the same Idempotency-Key.")
        elif task.result().lost:
            self._queue.put_nowait(("error", describe_lost_turn(task.result())))
        else:
            result = task.result()
            if result.reply.startswith(self._said):
                self.text(result.reply[len(self._said) :])
            self._queue.put_nowait(("done", self.describe(result)))
        self._queue.put_nowait(None)

    def describe(self, result: TurnResult) -> Mapping[str, object]:
        """What `done` says of the turn."""
        return result.to_json()

    def _fail(self, code: str, problem: str, fix: str) -> None:
        self._queue.put_nowait(("error", {"code": code, "problem": problem, "fix": fix}))

    def follow(self, turns: Turns, incoming: Incoming, setup: TurnSetup) -> StreamingResponse:
        """Run the turn and answer with its events."""
        turns.start(incoming, setup, self).add_done_callback(self.end)
        started = {"turn_id": incoming.turn, "conversation_id": incoming.conversation}
        return StreamingResponse(self._events(started), media_type="text/event-stream", headers=HEADERS)

    async def _events(self, started: Mapping[str, str]) -> AsyncIterator[bytes]:
        yield format_event("started", started)
        async for piece in drain(self._queue, lambda item: format_event(*item)):
            yield piece


async def drain(queue: asyncio.Queue[T | None], write: Callable[[T], bytes]) -> AsyncIterator[bytes]:
    """Every item as `write` writes it, until one is None; a comment when none came for a while."""
    while True:
        try:
            async with asyncio.timeout(HEARTBEAT_SECONDS):
                item = await queue.get()
        except TimeoutError:
            yield STILL_HERE
            continue
        if item is None:
            return
        yield write(item)


def format_event(name: str, data: object) -> bytes:
    """JSON has no line breaks of its own, so one `data:` line is enough."""
    return f"event: {name}\ndata: {dumps(data).strip()}\n\n".encode()


def describe_lost_turn(result: TurnResult) -> dict[str, Json]:
    """What is said when the database could not be had: the words for the user are there all the same."""
    return {
        "code": "not_stored",
        "problem": "The message could not be stored, or what came of it.",
        "fix": "Send it again in a moment, with the same Idempotency-Key.",
        "reply": result.reply,
    }
