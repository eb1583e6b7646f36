"""An asyncio loop with a time of its own, on which several processes live, stand still and die.

Nobody waits: when nothing is ready, time jumps to the next timer. Every callback belongs to the process in whose
context it was made. Of a process that has died nothing runs any more; what comes due for one that stands still waits
until it goes on, as after SIGSTOP and SIGCONT. Within a process the order is asyncio's own, so that no schedule is one
that could not happen; which process comes first is up to the delays, and these are drawn by whoever uses the loop.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Coroutine
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from typing import Any


class NothingHappens(Exception):
    """Somebody waits for what will never come."""


class SimulatedProcess:
    """What dies as one. Tasks that are started in it, and all that they start, belong to it."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self.loop, self.alive, self.wakes_at = loop, True, 0.0
        self.held: list[asyncio.Handle] = []
        self.context = copy_context()
        self.context.run(_process.set, self)

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        return self.loop.create_task(work, context=self.context)

    def stand_still(self, seconds: float) -> None:
        self.wakes_at = self.loop.time() + seconds
        self.loop.call_at(self.wakes_at, self._go_on, context=OUTSIDE)

    def _go_on(self) -> None:
        self.loop._ready.extend(self.held)
        self.held.clear()


_process: ContextVar[SimulatedProcess | None] = ContextVar("process", default=None)
OUTSIDE = Context()
"""The context of what no process of ours does: other people's servers, the network, the users."""


class SimulatedLoop(asyncio.BaseEventLoop):
    _ready: Any
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._tasks: list[asyncio.Task[Any]] = []
        self.set_task_factory(self._make_task)

    def time(self) -> float:
        return self._now

    def _make_task(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
        """Kept until the end: what a dead process left is not to be tidied up whenever memory is."""
        task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, **options)
        self._tasks.append(task)
        return task

    def _run_once(self) -> None:
        timers, ready = self._scheduled, self._ready
        if not ready:
            while timers and timers[0]._cancelled:  # type: ignore[attr-defined]
                heapq.heappop(timers)._scheduled = False  # type: ignore[attr-defined]
            if not timers:
                raise NothingHappens
            self._now = max(self._now, timers[0].when())
        while timers and timers[0].when() <= self._now:
            timer = heapq.heappop(timers)
            timer._scheduled = False  # type: ignore[attr-defined]
            ready.append(timer)
        for _ in range(len(ready)):
            handle = ready.popleft()
            process = handle._context.get(_process)
            if handle._cancelled or (process is not None and not process.alive):
                continue
            if process is not None and process.wakes_at > self._now:
                process.held.append(handle)
            else:
                handle._run()

    def _write_to_self(self) -> None:
        """There is no selector to wake."""

    def close(self) -> None:
        """Whoever died in the middle of something is forgotten, with nothing of it carried out."""
        self.set_exception_handler(lambda *_: None)
        for task in self._tasks:
            if not task.done():
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                with suppress(RuntimeError):
                    task.get_coro().close()  # type: ignore[union-attr]
            elif not task.cancelled():
                task.exception()
        self._tasks.clear()
        self._ready.clear()
        self._scheduled.clear()
        super().close()
