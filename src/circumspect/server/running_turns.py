"""Turns under way: an `Incoming` in, a task that will have its `TurnResult` out.

A turn belongs to no connection. Whoever asked may go away: it is finished and stored all the same, and the same
`Idempotency-Key` then gets its result. When the server stops, turns in flight are waited for; one that takes too long
is broken off, which the pipeline records, so that its key gets what became of it. Whoever waits is told so while there
is still a connection to tell it by, even where something keeps its turn from ending. The arm of an experiment is drawn
here and nowhere else, before the turn runs, and here a conversation of the playground gets tools that do nothing.

A key that comes again with other words is refused: the answer to the first would be taken for an answer to the second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter

import sqlalchemy as sa

from circumspect.errors import CircumspectError
from circumspect.pipeline import run_turn
from circumspect.ports import Listener
from circumspect.server import telemetry
from circumspect.server.experiment_turns import Experimenting
from circumspect.server.metrics import Metrics
from circumspect.server.rehearsing import rehearse
from circumspect.setup import TurnSetup
from circumspect.stores import SqlStore
from circumspect.stores.codec import clean
from circumspect.stores.rehearsals import is_rehearsal
from circumspect.stores.tables import messages, turns
from circumspect.values import ClientResults, Incoming, OutsideCall, TurnId, TurnResult


class KeyReused(CircumspectError):
    code = "key_reused"
    status = 422


class TurnBrokenOff(CircumspectError):
    code = "interrupted"
    status = 503
    headers: Mapping[str, str] = {"Retry-After": "5"}


def turn_broken_off() -> TurnBrokenOff:
    return TurnBrokenOff(
        "The server was stopped before this was answered.",
        fix="Send it again with the same Idempotency-Key: it is answered then, or told what became of its call.",
    )


RECORD_SECONDS = 2.0
"""So long those who wait are kept waiting for the record of a turn that was broken off."""


class Turns:
    is_stopping = False
    """The server was asked to stop, and new requests are better sent elsewhere."""

    def __init__(self, metrics: Metrics, store: SqlStore, experimenting: Experimenting | None = None) -> None:
        self._metrics, self._store, self._experimenting = metrics, store, experimenting
        self._tasks: dict[asyncio.Task[TurnResult], asyncio.Future[TurnResult]] = {}
        self._latest = 0.0

    def __len__(self) -> int:
        return len(self._tasks)

    def start(
        self,
        incoming: Incoming,
        setup: TurnSetup,
        listener: Listener | None = None,
        after: Callable[[TurnResult], Awaitable[None]] | None = None,
    ) -> asyncio.Future[TurnResult]:
        """What it will come to; cancelled when the turn was broken off. `after` belongs to the turn: it is waited for
        like the rest of it."""
        if self.is_stopping and asyncio.get_running_loop().time() >= self._latest:
            raise turn_broken_off()
        task = asyncio.create_task(self._run(incoming, setup, listener, after), name=incoming.turn)
        # A database that does not answer keeps the task, and must not keep those who wait for it.
        self._tasks[task] = awaited = asyncio.get_running_loop().create_future()
        task.add_done_callback(self._settle)
        return awaited

    async def take(
        self, incoming: Incoming, setup: TurnSetup, after: Callable[[TurnResult], Awaitable[None]] | None = None
    ) -> TurnResult:
        """The result, when somebody waits for it. Being cancelled ends the waiting, not the turn."""
        awaited = self.start(incoming, setup, after=after)
        try:
            return await asyncio.shield(awaited)
        except asyncio.CancelledError:
            if awaited.cancelled():
                raise turn_broken_off() from None
            raise

    def stop_in(self, seconds: float) -> None:
        """The server was asked to stop: turns that have not ended by then are broken off."""
        loop = asyncio.get_running_loop()
        self.is_stopping, self._latest = True, loop.time() + seconds
        loop.call_later(seconds, self._break_off)
        loop.call_later(seconds + RECORD_SECONDS, self._let_go)

    async def drain(self, seconds: float) -> int:
        """Wait for all of them, then break off the rest and wait for their record. How many were broken off."""
        if self.is_stopping:
            seconds = max(0.0, self._latest - asyncio.get_running_loop().time())
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        rest = self._break_off()
        await asyncio.gather(*rest, return_exceptions=True)
        return len(rest)

    def _break_off(self) -> list[asyncio.Task[TurnResult]]:
        rest = list(self._tasks)
        for task in rest:
            task.cancel()
        return rest

    def _let_go(self) -> None:
        for awaited in self._tasks.values():
            awaited.cancel()

    async def _run(
        self,
        incoming: Incoming,
        setup: TurnSetup,
        listener: Listener | None,
        after: Callable[[TurnResult], Awaitable[None]] | None,
    ) -> TurnResult:
        began = perf_counter()
        rehearsed = is_rehearsal(incoming.conversation)
        if rehearsed:
            setup = rehearse(setup, self._store)
        trial = await self._experimenting.begin(incoming, setup) if self._experimenting and not rehearsed else None
        result = await (trial.run(_turn, listener) if trial else _turn(incoming, setup, listener))
        seconds = perf_counter() - began
        if result.late:
            return result
        if result.turn == incoming.turn:
            self._metrics.turn(incoming.tenant, result, seconds)
        else:  # it was answered before, and counted then
            await self._same_words(incoming, result)
        if trial:
            trial.note_result(result, seconds)
        if after:
            await after(result)
        return result

    async def _same_words(self, incoming: Incoming, answered: TurnResult) -> None:
        if isinstance(incoming.errand, ClientResults | OutsideCall):
            return  # named by ids, some of which are ours and new each time
        before = await self._store.tx(_words, answered.turn)
        if before is not None and before != clean(incoming.note):
            raise KeyReused(
                "This Idempotency-Key was sent before, with other words; these were not taken.",
                fix="Use a new Idempotency-Key for another message, and the same only to send the same again.",
            )

    def _settle(self, task: asyncio.Task[TurnResult]) -> None:
        awaited = self._tasks.pop(task)
        if awaited.done():
            task.cancelled() or task.exception()
        elif task.cancelled():
            awaited.cancel()
        elif error := task.exception():
            awaited.set_exception(error)
            awaited.exception()  # nobody may be waiting for it any more
        else:
            awaited.set_result(task.result())


async def _turn(incoming: Incoming, setup: TurnSetup, listener: Listener | None) -> TurnResult:
    if not telemetry.is_on():
        return await run_turn(incoming, setup, listener)
    with telemetry.turn_span(incoming, setup) as span:
        result = await run_turn(incoming, telemetry.trace_setup(setup), listener)
        telemetry.describe(span, result)
        return result


def _words(connection: sa.Connection, turn: TurnId) -> str | None:
    """What the turn began with."""
    first = sa.and_(
        messages.c.tenant == turns.c.tenant,
        messages.c.conversation == turns.c.conversation,
        messages.c.seq == turns.c.first_seq,
    )
    query = sa.select(messages.c.content).join_from(turns, messages, first).where(turns.c.id == turn)
    found: str | None = connection.execute(query).scalar_one_or_none()
    return found
