"""`python -m bench.servers`: ours beside other agent servers, the same message, the same machine, the same run.

A provider that answers at once stands behind each of them. One worker each. Throughput is per second of the server's
own CPU; waiting times are what the client saw, and on a busy machine they are mostly waiting for a core.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

import httpx

from bench.load import Served, free_port, running, served
from bench.report import Section, Table, duration, facts, show, show_facts
from bench.servers import contestants
from bench.servers.contestants import PEERS, Contestant, Request
from bench.servers.environments import NotInstalled, prepare, version
from bench.servers.provider import BEGINNING, Provider, providing

TURNS = 3
"""Messages in each conversation."""
OURS = Contestant(
    "Circumspect", "SQLite, with the journal", (), lambda *_: [], contestants.ours_turn, contestants.ours_opening
)


@dataclass(frozen=True)
class Figures:
    turns: float
    """For each second of CPU."""
    p95: float
    memory: float
    first: float


class Client:
    def __init__(self, contestant: Contestant, server: Served) -> None:
        self.contestant, self.server = contestant, server
        headers = {"Authorization": f"Bearer {server.key}"}
        limits = httpx.Limits(max_connections=1000)
        base = f"http://127.0.0.1:{server.port}"
        self.http = httpx.AsyncClient(base_url=base, headers=headers, limits=limits, timeout=600, trust_env=False)

    async def open(self, conversation: str) -> None:
        if self.contestant.opening:
            (await self._post(self.contestant.opening(conversation))).raise_for_status()

    async def talk(self, conversation: str, turns: int) -> list[float]:
        """Seconds of each turn."""
        took = []
        for number in range(turns):
            began = time.perf_counter()
            answer = await self._post(self.contestant.turn(conversation, number, False))
            took.append(time.perf_counter() - began)
            answered = answer.status_code == 200 and BEGINNING in answer.text
            assert answered, answer.text[:500]
        return took

    async def first_byte(self, conversation: str) -> float:
        """Until the reply begins to arrive; events before it do not count."""
        path, body = self.contestant.turn(conversation, 0, True)
        accept = {"Accept": "text/event-stream"}
        began, seen, found = time.perf_counter(), "", 0.0
        async with self.http.stream("POST", path, json=body, headers=accept) as answer:
            async for piece in answer.aiter_text():
                seen += piece
                found = found or (time.perf_counter() - began if "We" in seen else 0.0)
        assert found, seen[:500]
        return found

    async def _post(self, request: Request) -> httpx.Response:
        path, body = request
        return await self.http.post(path, json=body)


async def measure(contestant: Contestant, server: Served, provider: Provider, people: int) -> Figures:
    client = Client(contestant, server)

    async def crowd(turns: int) -> list[float]:
        names = [f"c-{secrets.token_hex(4)}" for _ in range(people)]
        await asyncio.gather(*map(client.open, names))
        return [one for took in await asyncio.gather(*(client.talk(name, turns) for name in names)) for one in took]

    async with client.http:
        await crowd(1)  # the first turns load what they need
        cpu = server.cpu()
        took = await crowd(TURNS)
        turns = len(took) / (server.cpu() - cpu)
        name = f"c-{secrets.token_hex(4)}"
        await client.open(name)
        first = median([await client.first_byte(name) for _ in range(15)])
        before, provider.holds = server.memory(), True
        waiting = asyncio.create_task(crowd(1))
        await _until_steady(lambda: len(provider.held))
        reached = len(provider.held)
        memory = max(0, server.memory() - before) / reached
        provider.release()
        await waiting
    print(f"{contestant.name}: {reached} of {people} reached the model at once", flush=True)
    return Figures(turns, quantiles(took, n=20)[-1], memory, first)


async def _until_steady(count: Callable[[], int]) -> None:
    """Not growing for ten seconds."""
    seen, since = 0, time.monotonic()
    while time.monotonic() - since < 10 or not seen:
        await asyncio.sleep(0.1)
        if count() != seen:
            seen, since = count(), time.monotonic()


@contextmanager
def started(contestant: Contestant, provider: Provider, folder: Path) -> Iterator[Served]:
    if contestant is OURS:
        with served(provider.url.removesuffix("/v1"), f"sqlite:///{folder}/ours.db", 1, folder) as server:
            yield server
        return
    programs = prepare(_home(contestant), contestant.packages)
    program, *arguments = contestant.prepare(folder, provider.url)
    port, key = free_port(), f"sk-{secrets.token_hex(16)}"
    command = [str(programs / program), *(str(port) if one == "PORT" else one for one in arguments)]
    env = {
        "MODEL_URL": provider.url, "OPENAI_API_KEY": "none", "LANGSMITH_TRACING": "false", "PYTHONPATH": str(folder),
        "PATH": f"{programs}:/usr/bin:/bin", "LITELLM_MASTER_KEY": key,
    }  # fmt: skip
    with running(command, port, env, folder) as process:
        yield Served(port, key, process)


def _home(contestant: Contestant) -> str:
    return contestant.packages[0].partition("[")[0]


def _row(contestant: Contestant, people: int) -> tuple[str, ...]:
    name = contestant.name
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            providing() as provider,
            started(contestant, provider, Path(folder)) as server,
        ):
            if contestant.packages:
                programs = prepare(_home(contestant), contestant.packages)
                name = f"{name} ({version(programs, contestant.packages[0])})"
            figures = asyncio.run(measure(contestant, server, provider, people))
    except NotInstalled as problem:
        return (name, contestant.keeps, str(problem))
    return (
        name, contestant.keeps, f"{figures.turns:.0f}", duration(figures.p95), f"{figures.memory / 1024:.0f} KiB",
        duration(figures.first),
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.servers", description=__doc__)
    parser.add_argument("--people", type=int, default=200, help="conversations at once")
    parser.add_argument("--only", nargs="+", help="those whose names contain one of these words")
    options = parser.parse_args()
    show_facts(facts())
    chosen = [one for one in (OURS, *PEERS) if not options.only or any(word in one.name for word in options.only)]
    rows = []
    for contestant in chosen:
        rows.append(_row(contestant, options.people))
        print("  ".join(rows[-1]), flush=True)
    header = ("", "conversations are kept by", "turns a CPU second", "p95", "memory a waiting turn", "first byte")
    about = f"{options.people} conversations at once, {TURNS} turns each, one worker; a model that answers at once."
    show(Section("servers", "Servers of agents", about, (Table(header, tuple(rows)),)))


if __name__ == "__main__":
    sys.exit(main())
