"""Turns under way: an `Incoming` in, a task that will have its `TurnResult` out.

A turn belongs to no connection. Whoever asked may go away: it is finished and stored all the same, and the same
`Idempotency-Key` then gets its result. When the server stops, turns in flight are waited for; one that takes too long
is broken off, which the pipeline records, so that its key may run it again. The arm of an experiment is drawn here and
nowhere else, before the turn runs.

A key that comes again with other words is refused: the answer to the first would be taken for an answer to the second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import perf_counter

import sqlalchemy as sa

from circumspect.errors import CircumspectError
from circumspect.pipeline import run_turn
from circumspect.ports import Listener
from circumspect.server import telemetry
from circumspect.server.experiment_turns import Experimenting
from circumspect.server.metrics import Metrics
from circumspect.setup import TurnSetup
from circumspect.stores import SqlStore
from circumspect.stores.codec import clean
from circumspect.stores.tables import messages, turns
from circumspect.values import ClientResults, Incoming, OutsideCall, TurnId, TurnResult


class KeyReused(CircumspectError):
    code = "key_reused"
    status = 422


class Turns:
    def __init__(self, metrics: Metrics, store: SqlStore, experimenting: Experimenting | None = None) -> None:
        self._metrics, self._store, self._experimenting = metrics, store, experimenting
        self._tasks: set[asyncio.Task[TurnResult]] = set()
        self._waited = 0.0

    def __len__(self) -> int:
        return len(self._tasks)

    def start(
        self,
        incoming: Incoming,
        setup: TurnSetup,
        listener: Listener | None = None,
        after: Callable[[TurnResult], Awaitable[None]] | None = None,
    ) -> asyncio.Task[TurnResult]:
        """`after` belongs to the turn: it is waited for like the rest of it."""
        task = asyncio.create_task(self._run(incoming, setup, listener, after), name=incoming.turn)
        self._tasks.add(task)
        task.add_done_callback(self._forget_task)
        return task

    async def take(
        self, incoming: Incoming, setup: TurnSetup, after: Callable[[TurnResult], Awaitable[None]] | None = None
    ) -> TurnResult:
        """The result, when somebody waits for it. Being cancelled ends the waiting, not the turn."""
        return await asyncio.shield(self.start(incoming, setup, after=after))

    def note_wait(self, seconds: float) -> None:
        """So long the server that stops has waited for its requests, and thereby for their turns."""
        self._waited = seconds

    async def drain(self, seconds: float) -> int:
        """Wait for all of them, then break off the rest and wait for their record. How many were broken off."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=max(0.0, seconds - self._waited))
        rest = list(self._tasks)
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        return len(rest)

    async def _run(
        self,
        incoming: Incoming,
        setup: TurnSetup,
        listener: Listener | None,
        after: Callable[[TurnResult], Awaitable[None]] | None,
    ) -> TurnResult:
        began = perf_counter()
        trial = await self._experimenting.begin(incoming, setup) if self._experimenting else None
        result = await (trial.run(_turn, listener) if trial else _turn(incoming, setup, listener))
        seconds = perf_counter() - began
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

    def _forget_task(self, task: asyncio.Task[TurnResult]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # nobody may be waiting for it any more


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
