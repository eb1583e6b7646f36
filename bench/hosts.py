"""`python -m bench.hosts`: workers on two hosts behind a proxy, with one PostgreSQL and one Redis.

The hosts are network namespaces of this machine, so they share its cores: what is worth reading is the CPU that a turn
costs the workers and the database.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
from tests.load_balancer import balancing, count_ready
from tests.stores.postgres_server import Server, running

from bench import hosts_network as network
from bench.load import TENANT
from bench.processor_time import family, used_by
from bench.report import Section, Table, duration, facts, show, show_facts
from bench.servers.provider import providing

CLIENTS = 12
PATIENT = 15.0
"""Seconds after which a client sends its message again, under the same key."""
PORT, REDIS_PORT = 8077, 6377
OURS = [sys.executable, "-m", "circumspect"]


@dataclass
class Heard:
    """What the clients saw."""

    turns: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    """Requests that were not answered as they should have been."""


class House:
    """Everything that is there once, and the hosts that come and go."""

    def __init__(self, folder: Path, server: Server, provider: str) -> None:
        self.folder, self.server = folder, server
        self.env = {
            **os.environ,
            "CIRCUMSPECT_DATABASE": f"postgresql://postgres@{network.WIRE}:5432/shop",
            "CIRCUMSPECT_REDIS": f"redis://{network.WIRE}:{REDIS_PORT}/0",
            "CIRCUMSPECT_SECRET_KEY": secrets.token_urlsafe(32),
            "CIRCUMSPECT_RATE_PER_MINUTE": "100000000",
            "CIRCUMSPECT_STOP_DELAY_SECONDS": "8",
            "CIRCUMSPECT_ALLOWED_HOSTS": "*",
            "CIRCUMSPECT_LOG_LEVEL": "error",
        }
        self.hosts: dict[str, subprocess.Popen[bytes]] = {}
        (folder / "tenant.yaml").write_text(TENANT.replace("URL", provider))
        self._run("apply", "tenant.yaml")
        self.key = json.loads(self._run("keys", "create", "--tenant", "load", "--json"))["key"]

    def start(self, name: str, workers: int) -> None:
        command = [*OURS, "serve", "--host", network.HOSTS[name], "--port", str(PORT), "--workers", str(workers)]
        log = (self.folder / f"{name}.log").open("ab")
        self.hosts[name] = subprocess.Popen(
            ["ip", "netns", "exec", name, *command], env=self.env, cwd=self.folder, stdout=log, stderr=log
        )

    def stop(self, name: str) -> None:
        """Politely, as a deployment does."""
        process = self.hosts.pop(name)
        process.terminate()
        process.wait(120)

    def cpu(self) -> tuple[float, float]:
        """Seconds that the workers used, and the database."""
        workers = [one for host in self.hosts.values() for one in family(psutil.Process(host.pid))]
        first = int((self.server.folder / "data/postmaster.pid").read_text().split()[0])
        return used_by(workers), used_by(family(psutil.Process(first)))

    def _run(self, *arguments: str) -> str:
        done = subprocess.run([*OURS, *arguments], env=self.env, cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        return done.stdout


async def talk(url: str, key: str, stop: asyncio.Event, heard: Heard) -> None:
    """One message after the other; one that is not answered is sent again under its key until it is."""
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=PATIENT, trust_env=False) as client:
        name = f"c-{secrets.token_hex(4)}"
        await _send(client, "/v1/conversations", {"id": name}, "", heard)
        while not stop.is_set():
            said, again = {"content": "when are you open?"}, secrets.token_hex(8)
            await _send(client, f"/v1/conversations/{name}/messages", said, again, heard)
            heard.turns += 1


async def _send(client: httpx.AsyncClient, path: str, body: dict[str, str], key: str, heard: Heard) -> None:
    while True:
        try:
            answer = await client.post(path, json=body, headers={"Idempotency-Key": key} if key else {})
            if answer.status_code in (200, 201):
                return
            heard.problems[f"{answer.status_code} {answer.json().get('code', '')}"] += 1
        except (httpx.HTTPError, ValueError) as problem:
            heard.problems[type(problem).__name__] += 1
        await asyncio.sleep(0.5)


@contextmanager
def talking(url: str, key: str) -> Iterator[Heard]:
    """Clients that talk, in a thread of their own, for as long as the block lasts."""
    heard, loop, stop = Heard(), asyncio.new_event_loop(), asyncio.Event()

    async def all_of_them() -> None:
        await asyncio.gather(*(talk(url, key, stop, heard) for _ in range(CLIENTS)))

    thread = threading.Thread(target=loop.run_until_complete, args=(all_of_them(),))
    thread.start()
    try:
        yield heard
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


def _wait(comes: Callable[[], bool], seconds: float = 600) -> None:
    until = time.monotonic() + seconds
    while not comes():
        if time.monotonic() > until:
            raise SystemExit("it did not come about")
        time.sleep(0.05)


def _hear_more(heard: Heard, turns: int) -> None:
    wanted = heard.turns + turns
    _wait(lambda: heard.turns >= wanted)


def _await_hosts(url: str, number: int) -> None:
    _wait(lambda: count_ready(url) == number)


def measure_workers(house: House, url: str, seconds: float) -> list[tuple[str, ...]]:
    rows, (first, second) = [], network.HOSTS
    for workers, spread in ((1, {first: 1}), (2, {first: 1, second: 1}), (4, {first: 2, second: 2})):
        for name, number in spread.items():
            house.start(name, number)
        _await_hosts(url, len(spread))
        with talking(url, house.key) as heard:
            _hear_more(heard, 3 * CLIENTS)  # the first turns of a worker load what they need
            began, turns, before = time.monotonic(), heard.turns, house.cpu()
            time.sleep(seconds)
            took, done, after = time.monotonic() - began, heard.turns - turns, house.cpu()
        ours, theirs = ((new - old) / done for new, old in zip(after, before, strict=True))
        rows.append((str(workers), str(len(spread)), f"{done / took:.1f}", duration(ours), duration(theirs)))
        print("  ".join(rows[-1]), heard.problems or "", flush=True)
        for name in spread:
            house.stop(name)
    return rows


@contextmanager
def redis_server(folder: Path) -> Iterator[None]:
    program = shutil.which("redis-server")
    assert program, "Redis is not installed; run `make services`"
    options = ["--bind", network.WIRE, "--port", str(REDIS_PORT), "--save", "", "--protected-mode", "no"]
    process = subprocess.Popen([program, *options], cwd=folder, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.hosts", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each number of workers is measured")
    options = parser.parse_args()
    show_facts(facts())
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(network.wired())
        stack.enter_context(redis_server(folder))
        server = stack.enter_context(running())
        server.stop("fast")
        server.listen(network.WIRE, network.NETWORK)
        server.start()
        server.sql("CREATE DATABASE shop")
        provider = stack.enter_context(providing(network.WIRE))
        house = House(folder, server, provider.url.removesuffix("/v1"))
        stack.callback(
            lambda: [one.kill() for host in house.hosts.values() for one in family(psutil.Process(host.pid))]
        )
        url = stack.enter_context(balancing(folder, [f"{one}:{PORT}" for one in network.HOSTS.values()]))
        work = measure_workers(house, url, options.seconds)
    header = ("workers", "hosts", "turns/s", "workers' CPU a turn", "database's CPU a turn")
    about = f"{CLIENTS} clients that never rest; all of it on {os.cpu_count()} cores, so turns/s say little."
    show(Section("hosts", "Two hosts", about, (Table(header, tuple(work)),)))


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
