"""What each process of `circumspect serve` runs: the API, and the pages on top of it."""

from __future__ import annotations

import gc
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from fastapi import FastAPI

from circumspect.errors import CircumspectError
from circumspect.server import console
from circumspect.server.app import create_app
from circumspect.server.config import load_settings
from circumspect.server.request_log import configure_logs
from circumspect.server.warm_up import warm_up
from circumspect.server.worker_process import end_in_time

log = logging.getLogger(__name__)


def worker_app() -> FastAPI:
    settings = load_settings()
    configure_logs(settings.log_level)
    app = create_app(settings)
    console.install(app)
    end_in_time(app, settings.drain_seconds, settings.stop_delay_seconds)
    tell_problems(app)
    warm_up(app, settings.model)
    # What is loaded by now stays for good: the collector need not walk through it again, and turns wait for it less.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    return app


def tell_problems(app: FastAPI) -> None:
    """A server that cannot start says why in one line, with what to do, in place of a traceback."""
    inner: Callable[[FastAPI], AbstractAsyncContextManager[object]] = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(inner(app))
            except CircumspectError as problem:
                log.error("the server could not start", extra={"problem": problem.problem, "fix": problem.fix})
                logging.getLogger("uvicorn.error").addFilter(_is_no_traceback)
                raise
            yield

    app.router.lifespan_context = lifespan


def _is_no_traceback(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith("Traceback")
