"""What each process of `circumspect serve` runs: the API, and the pages on top of it."""

from __future__ import annotations

import gc

from fastapi import FastAPI

from circumspect.server import console
from circumspect.server.app import create_app
from circumspect.server.config import load_settings
from circumspect.server.request_log import configure_logs
from circumspect.server.warm_up import warm_up
from circumspect.server.worker_process import end_in_time


def worker_app() -> FastAPI:
    settings = load_settings()
    configure_logs(settings.log_level)
    app = create_app(settings)
    console.install(app)
    end_in_time(app, settings.drain_seconds, settings.stop_delay_seconds)
    warm_up(app)
    # What is loaded by now stays for good: the collector need not walk through it again, and turns wait for it less.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    return app
