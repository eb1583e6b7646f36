"""How much of the code one message passes: files and functions of ours, for three messages to the sample shop.

    python -m bench.reach

A newcomer who follows a message with a debugger meets this many. The offline model and the demo shop are left out: they
stand in for somebody else's.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

import circumspect
from circumspect import Agent, samples

OURS = Path(circumspect.__file__).parent
NOT_COUNTED = tuple(str(OURS / name) for name in ("demo", "models/offline", "samples"))
MESSAGES = ("What are your opening hours?", "Please cancel order 12345", "yes")


class Watch:
    """Notes the functions of ours that are entered, in every thread, while it is asked to."""

    def __init__(self) -> None:
        self.met: set[CodeType] = set()
        self.on = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        ours = code.co_filename.startswith(str(OURS)) and not code.co_filename.startswith(NOT_COUNTED)
        if self.on and ours and event == "call" and code.co_name[0] != "<":
            self.met.add(code)


async def main() -> None:
    watch = Watch()
    threading.setprofile(watch)
    sys.setprofile(watch)
    shop = samples.load("shop", directory=None, now=datetime.now(UTC))
    with TemporaryDirectory() as folder:
        database = Path(folder) / "reach.db"
        async with Agent(shop.tenant, tools=shop.tools, policy=shop.policy_path, database=database) as agent:
            await agent.turn("hello", conversation="before")
            print(f"{'message':30} files functions")
            for message in MESSAGES:
                watch.met, watch.on = set(), True
                turn = await agent.turn(message, conversation="one")
                watch.on = False
                files = {code.co_filename for code in watch.met}
                print(f"{message:30} {len(files):5} {len(watch.met):9}   {turn.outcome}")


if __name__ == "__main__":
    asyncio.run(main())
