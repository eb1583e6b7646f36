"""What a worker process runs in the test of several workers."""

from fastapi import FastAPI

from circumspect import console
from circumspect.server.app import worker_app


def app() -> FastAPI:
    made = worker_app()
    console.install(made)
    return made
