"""What a worker process runs in the test of several workers."""

from fastapi import FastAPI

from circumspect import console
from circumspect.config import load_settings
from circumspect.server.app import create_app


def app() -> FastAPI:
    made = create_app(load_settings())
    console.install(made)
    return made
