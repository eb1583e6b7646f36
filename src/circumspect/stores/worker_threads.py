"""A few threads that take work from one queue, so that the event loop never waits for a disk.

The standard library's pool does the same with a future and two locks more on either side; beside transactions as short
as ours that is a tenth of their time (docs/decisions/0003-storage.md).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from circumspect.errors import StoreError
from circumspect.stores import bounds

T = TypeVar("T")
QueuedWork = tuple[asyncio.AbstractEventLoop, "asyncio.Future[Any]", Callable[[], Any], float]


class Threads:
    def __init__(self, count: int) -> None:
        self._queue: SimpleQueue[QueuedWork | None] = SimpleQueue()
        self._closed = False
        # As daemons, for a program may end without closing its store; every transaction is whole or not at all.
        self._threads = [Thread(target=self._work, name=f"circumspect-store-{n}", daemon=True) for n in range(count)]
        for thread in self._threads:
            thread.start()

    def run(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Work that was begun is carried through, even if nobody waits for it any more; work that would have to wait
        too long to be begun is not."""
        if self._closed:
            raise StoreError("The store was closed.", fix="Open it again, or close it later.")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._queue.put((loop, future, work, time.monotonic() + bounds.SECONDS))
        return future

    def close(self) -> None:
        """Waits for all that was asked for."""
        self._closed = True
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            loop, future, work, latest = job
            if future.cancelled():
                continue
            result, error = None, None
            try:
                if time.monotonic() > latest:
                    raise _too_late()
                result = work()
            except BaseException as raised:
                error = raised
            # A loop that is closed has nobody left who waits.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_settle, future, result, error)
            del job, loop, future, work, result, error


def _too_late() -> StoreError:
    return StoreError(
        f"The database was busy with others for {bounds.SECONDS:g} seconds.",
        fix="Nothing was written: try again in a moment.",
    )


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
