"""The clinic on a port of loopback, in a thread: what a test or a demonstration opens and closes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn
from examples.clinic.app import app
from examples.clinic.state import State


@dataclass(frozen=True)
class Served:
    url: str
    """Without a slash at its end."""
    state: State
    """What the clinic holds, for looking and for changing."""


@contextmanager
def serve(*, port: int = 0, sign_in: bool = False) -> Iterator[Served]:
    """A clinic of its own. Without `sign_in` every page can be opened at once."""
    state = State()
    made = app(state, sign_in=sign_in)
    config = uvicorn.Config(made, host="127.0.0.1", port=port, log_level="critical", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.005)
    if not server.started:
        raise RuntimeError(f"The clinic could not be served on port {port}: choose another with --port.")
    address = server.servers[0].sockets[0].getsockname()
    try:
        yield Served(f"http://127.0.0.1:{address[1]}", state)
    finally:
        server.should_exit = True
        server.force_exit = True
        thread.join(timeout=5)
