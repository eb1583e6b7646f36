"""Workers in milliseconds: a process that has imported everything forks them on demand.

`python -m tests.faults.nursery` reads commands from its input, one JSON object a line, and answers each with a line.
Each worker is a process of its own that runs `circumspect …` from its beginning; when the input ends, all are killed.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

from tests.patience import PATIENCE, wait_until

ROOT = Path(__file__).parents[2]


class Nursery:
    """The parent's end."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.nursery"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip

    def start(self, *arguments: str, log: Path, **environment: str) -> int:
        return int(self._asked(start=arguments, log=str(log), environment=environment))

    def ended(self, pid: int, seconds: float) -> int | None:
        """How it ended: its exit code, or minus the signal's number; None while it lives."""
        found = self._asked(ended=pid, seconds=seconds)
        return None if found is None else int(found)

    def run(self, *arguments: str, log: Path, **environment: str) -> str:
        pid = self.start(*arguments, log=log, **environment)
        code = self.ended(pid, PATIENCE)
        text = log.read_text("utf-8")
        assert code == 0, f"circumspect {' '.join(arguments)}: {code}\n{text}"
        return text

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(PATIENCE)
        self._process.stdout.close()

    def _asked(self, **command: Any) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps(command), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())


async def _warm_up(folder: Path) -> None:
    """Serve and talk once, so that everything which is made on first use is there when workers are forked."""
    import httpx
    import uvicorn

    from circumspect import Agent, tool
    from circumspect.server.app import create_app
    from circumspect.server.config import Settings

    @tool(effect="destructive")
    def cancel_order(order_id: str) -> str:
        """Cancel an order."""
        return "cancelled"

    agent = Agent("warm", tools=[cancel_order], model="offline", database=":memory:")
    for words in ("cancel order 12345", "yes"):
        await agent.turn(words, conversation="warm")
    await agent.close()
    app = create_app(Settings(database=f"sqlite:///{folder}/warm.db"))
    app.openapi()
    uvicorn.Config(app, log_config=None, ws="none", lifespan="on").load()
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://warm") as client:
            for path in ("/healthz", "/v1/conversations"):
                await client.get(path)


def _serve() -> None:
    import psycopg  # noqa: F401
    import pydantic_ai.models.openai  # noqa: F401
    import redis.asyncio  # noqa: F401

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_warm_up(Path(folder)))
    wait_until(lambda: threading.active_count() == 1, problem=lambda: "what forks has one thread")
    gc.collect()
    gc.freeze()  # the children share these pages for as long as nobody looks at them
    children: dict[int, int | None] = {}
    for line in sys.stdin:
        command = json.loads(line)
        if "start" in command:
            pid = os.fork()
            if not pid:
                _become(command)
            children[pid] = None
            answer: int | None = pid
        else:
            answer = _wait(command["ended"], command["seconds"], children)
        print(json.dumps(answer), flush=True)
    for pid in children:
        if _wait(pid, 0, children) is None:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _wait(pid: int, seconds: float, children: dict[int, int | None]) -> int | None:
    until = time.monotonic() + seconds
    while children[pid] is None:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            children[pid] = os.waitstatus_to_exitcode(status)
        elif time.monotonic() > until:
            return None
        else:
            time.sleep(0.005)
    return children[pid]


def _become(command: dict[str, Any]) -> NoReturn:
    code = 70
    try:
        log = os.open(command["log"], os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ.update(command["environment"])
        os.chdir(Path(command["log"]).parent)
        from tests.faults.worker import main

        main(command["start"])
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _serve()
