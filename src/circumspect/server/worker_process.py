"""The process around a worker: once it is asked to stop it ends in time, and it ends with the process that started it.

A tool that hangs in a thread or swallows its cancellation can keep an event loop from closing for ever. So a thread
watches from outside the loop. What is under way when the time is over stays in the ledger as started, and is settled
like a dead worker's.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from multiprocessing import Pipe, parent_process
from multiprocessing.connection import wait
from types import FrameType

from fastapi import FastAPI

log = logging.getLogger(__name__)

CLOSING_SECONDS = 5.0
"""What a worker has beyond the time for its turns: to record those that were broken off, and to close."""


def end_in_time(app: FastAPI, drain_seconds: float) -> None:
    """The process that serves this app ends so many seconds after it was asked to, and a few more for closing."""
    inner: Callable[[FastAPI], AbstractAsyncContextManager[object]] = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        # Only the main thread may handle signals; a server in any other is somebody's own to end.
        here = threading.current_thread() is threading.main_thread()
        watch = _Watch(drain_seconds + CLOSING_SECONDS) if here else None
        async with inner(app):
            yield
            if watch and watch.asked_at:
                app.state.services.turns.note_wait(time.monotonic() - watch.asked_at)

    app.router.lifespan_context = lifespan


class _Watch:
    """Notices when the process is asked to stop, or is left alone, and ends it that many seconds later."""

    def __init__(self, seconds: float) -> None:
        self.asked_at: float | None = None
        self._seconds = seconds
        self._asked, self._ask = Pipe(duplex=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, partial(self._handle, signal.getsignal(number)))
        threading.Thread(target=self._end_in_time, name="circumspect-end", daemon=True).start()

    def _handle(self, servers: object, number: int, frame: FrameType | None) -> None:
        """Before what the server does about it. This may interrupt anything, so it starts no thread."""
        self.asked_at = self.asked_at or time.monotonic()
        self._ask.send_bytes(b"stop")
        if callable(servers):
            servers(number, frame)

    def _end_in_time(self) -> None:
        parent = parent_process()
        if self._asked not in wait([self._asked] if parent is None else [self._asked, parent.sentinel]):
            log.warning("the process that started this one is gone")
            os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(self._seconds)
        log.warning("stopped with work under way")
        os._exit(0)
