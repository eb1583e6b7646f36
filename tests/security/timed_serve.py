"""`circumspect serve` with a clock on its event loop: `LOOP_TIMES=file python -m tests.security.timed_serve serve …`.

The loop gives a sign a hundred times a second. How much the process computed between two of them is how long the loop
was kept from everybody, whether by a callback or by a thread that did not let go of Python's lock, and does not depend
on what else the machine does. Each is a line of the file: when, computing time, time on the wall.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from circumspect.cli import main
from circumspect.server import app, loop_watch
from circumspect.server.loop_watch import RequestsUnderWay

SIGN_SECONDS = 0.01
SHORT = 0.02


@asynccontextmanager
async def watch_and_time(under_way: RequestsUnderWay, note_stall: Callable[[str, float], None]) -> AsyncIterator[None]:
    async with loop_watch.watch_loop(under_way, note_stall):
        timing = asyncio.create_task(_time_loop(Path(os.environ["LOOP_TIMES"])))
        try:
            yield
        finally:
            timing.cancel()


async def _time_loop(file: Path) -> None:
    with file.open("a", buffering=1) as lines:
        while True:
            computed, begun = time.process_time(), time.monotonic()
            await asyncio.sleep(SIGN_SECONDS)
            computed = time.process_time() - computed
            if computed > SHORT:
                lines.write(f"{begun} {computed} {time.monotonic() - begun}\n")


if __name__ == "__main__":
    app.watch_loop = watch_and_time  # type: ignore[attr-defined]
    main()
