"""`python -m bench.load`: many conversations at once over HTTP, beside a bare FastAPI endpoint in the same run.

A model that takes its time stands in for a provider and speaks OpenAI's protocol over HTTP; `circumspect serve` runs as
it would in production, in processes of its own. Overhead is what a turn took beyond the model's own time. Client, model
and server share the machine's cores, so throughput is also given per second of the server's own CPU time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import psutil

ASSESSED = (
    'We are open from nine to five.\n<assessment>{"confidence": 9, "tool_call": null, "tool_params": {}, '
    '"missing_params": [], "is_destructive": false, "needs_confirmation": false, "needs_more_context": []}</assessment>'
)
TENANT = """
version: 1
id: load
plan: pro
business: {name: Load, hours: 9 to 5}
rate_per_minute: 1000000
model: "openai:slow@URL"
"""


# --- processes --------------------------------------------------------------------------------------------------------


def model_app(seconds: float) -> Any:
    """A provider that takes so long and always says the same."""
    body = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "slow",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": ASSESSED}}],
        "usage": {"prompt_tokens": 300, "completion_tokens": 60, "total_tokens": 360},
    }
    answer = json.dumps(body).encode()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body"):
            pass
        if seconds:
            await asyncio.sleep(seconds)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    return app


def echo_app() -> Any:
    """The least a FastAPI endpoint can do with the same request: read JSON, write JSON."""
    from fastapi import FastAPI

    app = FastAPI()

    @app.post("/v1/conversations/{conversation}/messages")
    async def echo(conversation: str, message: dict[str, str]) -> dict[str, str]:
        return {"reply": message["content"], "conversation": conversation}

    return app


def _serve(kind: str, port: int, seconds: float) -> None:
    import uvicorn

    app = model_app(seconds) if kind == "model" else echo_app()
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", access_log=False, lifespan="off", backlog=4096)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def running(arguments: list[str], port: int, env: dict[str, str], cwd: Path) -> Iterator[psutil.Process]:
    """A process that listens on the port, ended with all of its children."""
    log = (cwd / f"{port}.log").open("w")
    process = subprocess.Popen(arguments, env={**os.environ, **env}, cwd=cwd, stdout=log, stderr=log)
    try:
        until = time.monotonic() + 600
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > until:
                    raise SystemExit(f"did not start: {(cwd / f'{port}.log').read_text()[-2000:]}") from None
                time.sleep(0.1)
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
        log.close()


@contextmanager
def helper(kind: str, seconds: float, cwd: Path) -> Iterator[tuple[str, psutil.Process]]:
    port = free_port()
    root = str(Path(__file__).parent.parent)
    arguments = [sys.executable, "-m", "bench.load", "--internal", kind, str(port), str(seconds)]
    with running(arguments, port, {"PYTHONPATH": root}, cwd) as process:
        yield f"http://127.0.0.1:{port}", process


@dataclass(frozen=True)
class Served:
    port: int
    key: str
    process: psutil.Process

    def cpu(self) -> float:
        """Seconds that the server's processes have used."""
        return sum(sum(one.cpu_times()[:2]) for one in self._all())

    def memory(self) -> int:
        return sum(one.memory_info().rss for one in self._all())

    def _all(self) -> list[psutil.Process]:
        return [self.process, *self.process.children(recursive=True)]


@contextmanager
def served(
    model_url: str,
    database: str,
    workers: int,
    cwd: Path,
    *,
    cores: str = "",
    warm: bool = True,
    tenant: str = TENANT,
) -> Iterator[Served]:
    """`cores`, such as "0,1", are all that the server may use."""
    env = {
        "CIRCUMSPECT_DATABASE": database,
        "CIRCUMSPECT_SECRET_KEY": secrets.token_urlsafe(32),
        "CIRCUMSPECT_RATE_PER_MINUTE": "100000000",
    }
    (cwd / "tenant.yaml").write_text(tenant.replace("URL", f"{model_url}/v1"))
    ours = [sys.executable, "-m", "circumspect"]
    subprocess.run([*ours, "apply", "tenant.yaml"], env={**os.environ, **env}, cwd=cwd, check=True, capture_output=True)
    made = subprocess.run(
        [*ours, "keys", "create", "--tenant", "load", "--json"],
        env={**os.environ, **env},
        cwd=cwd,
        check=True,
        capture_output=True,
    )
    port = free_port()
    pinned = ["taskset", "-c", cores] if cores else []
    arguments = [*pinned, *ours, "serve", "--port", str(port), "--workers", str(workers)]
    with running(arguments, port, env, cwd) as process:
        server = Served(port, json.loads(made.stdout)["key"], process)
        if warm:
            asyncio.run(_warm_up(server, workers))
        yield server


# --- the client -------------------------------------------------------------------------------------------------------


class Connection:
    """HTTP/1.1 by hand over one socket: the client should cost as little as it can."""

    def __init__(self, port: int, key: str) -> None:
        self.port, self.key = port, key

    async def __aenter__(self) -> Connection:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()

    async def post(self, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\nauthorization: Bearer {self.key}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
        )
        self.writer.write(head.encode() + data)
        status = int((await self.reader.readline()).split()[1])
        length = 0
        while (line := await self.reader.readline()) != b"\r\n":
            name, _, value = line.decode("latin-1").partition(":")
            length = int(value) if name.lower() == "content-length" else length
        return status, await self.reader.readexactly(length)


async def _warm_up(server: Served, workers: int) -> None:
    """The first turn of a worker loads what it needs; that is not what is measured."""
    for _ in range(2):
        names = [f"warm-{secrets.token_hex(4)}" for _ in range(8 * workers)]
        await asyncio.gather(*(_talk(server, name, 1, 0, 0, []) for name in names))


async def _talk(server: Served, name: str, turns: int, wait: float, think: float, took: list[float]) -> int:
    """One conversation; how many of its turns were answered. A new connection each time: between turns people think
    longer than a server keeps one open."""
    answered = 0
    async with Connection(server.port, server.key) as connection:
        await connection.post("/v1/conversations", {"id": name})
    await asyncio.sleep(wait)
    for _ in range(turns):
        began = time.perf_counter()
        async with Connection(server.port, server.key) as connection:
            said = {"content": "when are you open?"}
            status, body = await connection.post(f"/v1/conversations/{name}/messages", said)
        took.append(time.perf_counter() - began)
        answered += status == 200 and b'"answered"' in body
        await asyncio.sleep(think)
    return answered


@dataclass(frozen=True)
class Crowd:
    what: str
    turns: int
    answered: int
    overhead: tuple[float, float, float]
    """Median, 95th and 99th percentile, in seconds."""
    seconds: float
    cpu: float
    memory: int
    """What each waiting turn added to the server, in bytes; 0 where it was not looked at."""


async def crowd(server: Served, what: str, people: int, turns: int, spread: float, model_seconds: float) -> Crowd:
    """`people` conversations at once, each beginning within `spread` seconds and thinking as long between its turns."""
    took: list[float] = []
    before, cpu, began = server.memory(), server.cpu(), time.perf_counter()
    tag = secrets.token_hex(3)
    # All conversations exist before the first message: their making is not what is measured.
    pause = max(2.0, people / 100)
    tasks = [
        asyncio.create_task(_talk(server, f"{tag}-{n}", turns, pause + spread * n / people, spread, took))
        for n in range(people)
    ]
    grown = 0
    if not spread:
        await asyncio.sleep(pause + model_seconds * 0.9)
        grown = max(0, server.memory() - before) // people
    answered = sum(await asyncio.gather(*tasks))
    over = sorted(one - model_seconds for one in took)
    cuts = quantiles(over, n=100)
    return Crowd(
        what, people * turns, answered, (median(over), cuts[94], cuts[98]),
        time.perf_counter() - began, server.cpu() - cpu, grown,
    )  # fmt: skip


async def rate(port: int, key: str, connections: int, seconds: float, conversation: str) -> int:
    """How many requests are answered, with so many connections that never rest."""
    count, until = 0, time.perf_counter() + seconds

    async def one(number: int) -> None:
        nonlocal count
        async with Connection(port, key) as connection:
            name = f"{conversation}-{number}"
            await connection.post("/v1/conversations", {"id": name})
            while time.perf_counter() < until:
                status, _ = await connection.post(f"/v1/conversations/{name}/messages", {"content": "open when?"})
                assert status == 200, status
                count += 1

    await asyncio.gather(*(one(number) for number in range(connections)))
    return count


# --- what is measured -------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.load", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--people", type=int, default=1000)
    parser.add_argument("--model-seconds", type=float, default=2.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=8.0, help="how long throughput is measured")
    parser.add_argument("--database", help="postgresql:// URL instead of an SQLite file")
    parser.add_argument("--server-cores", default="", help='all that the server may use, such as "0,1"')
    parser.add_argument("--internal", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.internal:
        kind, port, seconds = options.internal
        _serve(kind, int(port), float(seconds))
        return
    with tempfile.TemporaryDirectory() as folder:
        _measure(options, Path(folder))


def _measure(options: argparse.Namespace, folder: Path) -> None:
    database = options.database or f"sqlite:///{folder}/load.db"
    where = "PostgreSQL" if options.database else "SQLite"
    print(f"{os.cpu_count()} cores · {where} · {options.workers} workers · load {os.getloadavg()[0]:.1f}")
    with (
        helper("model", options.model_seconds, folder) as (url, _),
        served(url, database, options.workers, folder, cores=options.server_cores) as server,
    ):
        people, wait = options.people, options.model_seconds
        runs = [
            asyncio.run(crowd(server, "all speak at the same moment", people, 1, 0.0, wait)),
            asyncio.run(crowd(server, "three turns each, thinking 20 s between", people, 3, 20.0, wait)),
        ]
    print(f"\n{options.people} conversations at once, a model that takes {options.model_seconds:g} s")
    print(f"{'':42} {'turns':>6} {'answered':>9} {'p50':>8} {'p95':>8} {'p99':>8} {'CPU/turn':>9} {'memory/turn':>12}")
    for run in runs:
        p50, p95, p99 = (f"{1000 * one:.0f} ms" for one in run.overhead)
        memory = f"{run.memory / 1024:.0f} KiB" if run.memory else "–"
        cpu = f"{1000 * run.cpu / run.turns:.1f} ms"
        print(f"{run.what:42} {run.turns:6} {run.answered:9} {p50:>8} {p95:>8} {p99:>8} {cpu:>9} {memory:>12}")
    print("p50, p95, p99: our own overhead, beyond the model's time")
    lines = []
    with helper("model", 0.0, folder) as (url, _), served(url, database, 1, folder) as server:
        before, began = server.cpu(), time.perf_counter()
        turns = asyncio.run(rate(server.port, server.key, 16, options.seconds, f"r{secrets.token_hex(3)}"))
        lines.append(
            ("circumspect, one turn (model at once)", turns, time.perf_counter() - began, server.cpu() - before)
        )
    with helper("echo", 0.0, folder) as (url, process):
        port = int(url.rsplit(":", 1)[1])
        asyncio.run(rate(port, "", 16, 1, "w"))
        cpu, began = sum(process.cpu_times()[:2]), time.perf_counter()
        turns = asyncio.run(rate(port, "", 16, options.seconds, "e"))
        used = sum(process.cpu_times()[:2]) - cpu
        lines.append(("bare FastAPI endpoint, echo", turns, time.perf_counter() - began, used))
    print(f"\n{'throughput, one worker, 16 connections':42} {'requests/s':>11} {'per CPU second':>15} {'CPU each':>10}")
    for what, count, seconds, cpu in lines:
        print(f"{what:42} {count / seconds:11.0f} {count / cpu:15.0f} {1000 * cpu / count:7.2f} ms")


if __name__ == "__main__":
    main()
