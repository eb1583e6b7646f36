"""What each process of `circumspect serve` runs: the API, and the pages on top of it."""

from __future__ import annotations

from fastapi import FastAPI

from circumspect import console
from circumspect.config import load_settings
from circumspect.server.app import create_app
from circumspect.server.requests import configure_logs


def worker_app() -> FastAPI:
    settings = load_settings()
    configure_logs(settings.log_level)
    app = create_app(settings)
    console.install(app)
    return app
