"""The process around a worker: once it is asked to stop it ends in time, and it ends with the process that started it.

Asked to stop, it first says at `/readyz` that it is not ready and goes on serving for `stop_delay_seconds`, in which a
proxy looks elsewhere; then it takes no more connections, and turns have `drain_seconds` to end.

A tool that hangs in a thread or swallows its cancellation can keep an event loop from closing for ever. So a thread
watches from outside the loop. What is under way when the time is over stays in the ledger as started, and is settled
like a dead worker's.
"""

from __future__ import annotations

import asyncio
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

from circumspect.server.running_turns import Turns

log = logging.getLogger(__name__)

CLOSING_SECONDS = 5.0
"""What a worker has beyond the time for its turns: to record those that were broken off, and to close."""


def end_in_time(app: FastAPI, drain_seconds: float, delay_seconds: float = 0.0) -> None:
    """The process that serves this app ends so many seconds after it was asked to, and a few more for closing."""
    inner: Callable[[FastAPI], AbstractAsyncContextManager[object]] = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with inner(app):
            # Only the main thread may handle signals; a server in any other is somebody's own to end.
            if threading.current_thread() is threading.main_thread():
                _Watch(app.state.services.turns, drain_seconds, delay_seconds)
            yield

    app.router.lifespan_context = lifespan


class _Watch:
    """Notices when the process is asked to stop, or is left alone; lets its turns end, and ends it."""

    def __init__(self, turns: Turns, drain_seconds: float, delay_seconds: float) -> None:
        self._turns, self._drain, self._delay = turns, drain_seconds, delay_seconds
        self._loop = asyncio.get_running_loop()
        self._told = False
        self._asked, self._ask = Pipe(duplex=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, partial(self._handle, signal.getsignal(number)))
        threading.Thread(target=self._end_in_time, name="circumspect-end", daemon=True).start()

    def _handle(self, servers: object, number: int, frame: FrameType | None) -> None:
        """Before what the server does about it. This may interrupt anything, so it starts no thread. Only a first
        SIGTERM waits: whoever presses Ctrl-C, or asks again, is in a hurry."""
        first, self._told = not self._told, True
        delay = self._delay if first and number == signal.SIGTERM else 0.0
        stop = partial(servers, number, frame) if callable(servers) else None
        if first:
            self._ask.send_bytes(f"{delay + self._drain + CLOSING_SECONDS}".encode())
            self._loop.call_soon_threadsafe(self._turns.stop_in, delay + self._drain)
        if delay and stop:
            self._loop.call_soon_threadsafe(self._loop.call_later, delay, stop)
        elif stop:
            stop()

    def _end_in_time(self) -> None:
        parent = parent_process()
        if self._asked not in wait([self._asked] if parent is None else [self._asked, parent.sentinel]):
            log.warning("the process that started this one is gone")
            os.kill(os.getpid(), signal.SIGTERM)
        seconds = float(self._asked.recv_bytes())
        time.sleep(seconds)
        log.warning("stopped with work under way")
        os._exit(0)
