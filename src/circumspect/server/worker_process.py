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
from multiprocessing import Pipe, parent_process
from multiprocessing.connection import Connection, wait
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
        if threading.current_thread() is threading.main_thread():
            _watch_over(drain_seconds + CLOSING_SECONDS)
        async with inner(app):
            yield

    app.router.lifespan_context = lifespan


def _watch_over(seconds: float) -> None:
    asked, asks = Pipe(duplex=False)
    for number in (signal.SIGINT, signal.SIGTERM):
        _tell_of(number, asks)
    threading.Thread(target=_end_after, args=(asked, seconds), name="circumspect-end", daemon=True).start()


def _tell_of(number: int, asks: Connection) -> None:
    """Besides what the server does about the signal. A handler may interrupt anything, so it starts no thread."""
    served = signal.getsignal(number)

    def handle(number: int, frame: FrameType | None) -> None:
        asks.send_bytes(b"stop")
        if callable(served):
            served(number, frame)

    signal.signal(number, handle)


def _end_after(asked: Connection, seconds: float) -> None:
    parent = parent_process()
    if asked not in wait([asked] if parent is None else [asked, parent.sentinel]):
        log.warning("the process that started this one is gone")
        os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(seconds)
    log.warning("stopped with work under way")
    os._exit(0)
