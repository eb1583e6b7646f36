"""How long the event loop was kept from others, in computing time: a busy machine does not change it."""

from __future__ import annotations

import asyncio
import asyncio.events
import gc
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

_SIGN_SECONDS = 0.005


@dataclass
class LoopTime:
    longest: float = 0.0
    """Seconds that one callback computed."""
    held: float = 0.0
    """Seconds that the whole process computed between two signs of the loop. A thread beside it that does not let go of
    Python's lock shows here only."""


def measure_loop(work: Callable[[], Awaitable[object]], monkeypatch: Any) -> LoopTime:
    """Runs `work` in a loop of its own. Python's own loop: what uvloop does between callbacks cannot be seen."""
    found, run, here = LoopTime(), asyncio.events.Handle._run, threading.get_ident()

    def measured(self: asyncio.Handle) -> None:
        begun = time.thread_time()
        run(self)  # type: ignore[arg-type]
        if threading.get_ident() == here:
            found.longest = max(found.longest, time.thread_time() - begun)

    async def give_signs() -> None:
        while True:
            begun = time.process_time()
            await asyncio.sleep(_SIGN_SECONDS)
            found.held = max(found.held, time.process_time() - begun)

    async def main() -> None:
        signs = asyncio.create_task(give_signs())
        await asyncio.sleep(0)
        try:
            await work()
        finally:
            signs.cancel()

    # What the tests before this one left behind would be looked through for garbage on this one's time.
    gc.freeze()
    try:
        with monkeypatch.context() as patch:
            patch.setattr(asyncio.events.Handle, "_run", measured)
            asyncio.run(main())
    finally:
        gc.unfreeze()
    return found
