"""Backtests at scale: a million recorded turns, on one core, two processes and two Ray nodes, with somebody killed.

Some thousands of distinct conversations with the sample shop are really played through the engine and stored; the rest
are copies of their rows under fresh ids and at other times, made by SQL (`bench/recordings.py`), because playing a
million turns takes hours and reading them back is the same work. What is ruled on is every proposed call of every turn,
under a changed policy.

    python -m bench.batch                            # 100,000 turns with and without somebody killed, then a million
    python -m bench.batch engines                    # the first part only; `large` is the second
    python -m bench.batch --folder /somewhere        # keeps the recordings, or uses those that are there

The digest is over every line of the result, in order, and its summary: it is equal when the results are equal.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import multiprocessing
import os
import resource
import signal
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.ray_nodes import Cluster, cluster
from bench.recordings import play, replicate
from bench.report import Aim, Section, Table, facts, show, show_facts

POLICY = """
version: 1
tools:
  cancel_order:
    effect: destructive
    confidence_cap: 0.6
    deny_unless:
      - if: facts.get_order_status[args.order_id].status == 'processing'
        because: It has left the warehouse.
  refund: {effect: destructive, confidence_cap: 0.5, confirm: always}
  delete_account: {effect: destructive, confidence_cap: 0.4, confirm: always}
  update_address: {effect: write, confidence_cap: 0.6, confirm: when_implied}
  book_appointment: {effect: write, confidence_cap: 0.7, confirm: always}
  get_order_status: {effect: read, confidence_cap: 0.9}
  list_orders: {effect: read, confidence_cap: 0.9}
  check_inventory: {effect: read, confidence_cap: 0.9}
  list_free_slots: {effect: read, confidence_cap: 0.9}
"""


@dataclass(frozen=True)
class Measured:
    name: str
    calls: int
    flips: int
    seconds: float
    cpu: float | None
    """Of all processes of ours; None where others did the work."""
    digest: str

    @property
    def rate(self) -> float:
        return self.calls / self.seconds


class Killed:
    """Somebody is killed when so many chunks are done."""

    def __init__(self, after: int, who: Callable[[], None]) -> None:
        self.after, self.who, self.done = after, who, False

    def __call__(self, progress: Any) -> None:
        if not self.done and progress.made >= self.after:
            self.done = True
            self.who()


def measured(name: str, database: Path, engine: Any, watch: Any = None, ledger: Path | None = None) -> Measured:
    """One backtest, from listing the conversations to the last line of the result."""
    from circumspect.lab.batch.backtests import add
    from circumspect.lab.batch.job_ledger import DatabaseLedger
    from circumspect.lab.batch.run_job import run
    from circumspect.lab.replay.flips import BacktestSummary
    from circumspect.wording import compact

    summary, result = BacktestSummary(), hashlib.sha256()
    job = _job(database)
    began, cpu = time.perf_counter(), _cpu()
    with DatabaseLedger.open(str(ledger)) if ledger else nullcontext() as kept:
        for row in run(job, engine, kept, watch):
            if not add(row, summary):
                result.update(row + b"\n")
    result.update(compact(summary.to_json()).encode())
    seconds = time.perf_counter() - began
    used = None if name.startswith("two Ray") else _cpu() - cpu
    one = Measured(name, summary.calls, summary.flips, seconds, used, result.hexdigest()[:16])
    print(
        f"  {name}: {one.calls:,} calls in {seconds:,.0f} s, {one.rate:,.0f} a second, digest {one.digest}", flush=True
    )
    return one


def _job(database: Path) -> Any:
    from circumspect.lab.batch.backtests import BacktestOrder, backtest_of
    from circumspect.stores import SqlStore
    from circumspect.values import TenantId

    async def specs() -> Any:
        store = await SqlStore.open(f"sqlite:///{database}")
        try:
            return await store.tool_specs(TenantId("shop"))
        finally:
            await store.close()

    return backtest_of(BacktestOrder(f"sqlite:///{database}", POLICY, {TenantId("shop"): asyncio.run(specs())}))


def _cpu() -> float:
    return sum(
        one.ru_utime + one.ru_stime
        for one in (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def _kill_a_worker() -> None:
    worker = multiprocessing.active_children()[0]
    if worker.pid is not None:
        os.kill(worker.pid, signal.SIGKILL)


@contextmanager
def _nodes() -> Iterator[Cluster]:
    """Two nodes, and this process let in."""
    before = dict(os.environ)
    with cluster(2) as nodes:
        os.environ.update(nodes.environment)
        try:
            yield nodes
        finally:
            os.environ.clear()
            os.environ.update(before)


def side_by_side(database: Path, with_ray: bool) -> Iterator[Measured]:
    from circumspect.lab.batch.engines import processes, serial
    from circumspect.lab.batch.ray_engine import on_ray

    yield measured("one core", database, serial)
    two = partial(processes, count=2)
    yield measured("two processes", database, two)
    yield measured("two processes, a worker killed", database, two, Killed(20, _kill_a_worker))
    if with_ray:
        with _nodes() as nodes:
            ray = partial(on_ray, address=nodes.address)
            yield measured("two Ray nodes", database, ray)
            lost = Killed(20, lambda: nodes.kill(1))
            yield measured("two Ray nodes, one killed", database, ray, lost)


def million(database: Path, kept: Path, with_ray: bool) -> Iterator[Measured]:
    from circumspect.lab.batch.engines import processes, serial
    from circumspect.lab.batch.ray_engine import on_ray

    yield measured("one core", database, serial)
    two = partial(processes, count=2)
    yield measured("two processes, a worker killed, kept in a file", database, two, Killed(100, _kill_a_worker), kept)
    if with_ray:
        with _nodes() as nodes:
            yield measured("two Ray nodes", database, partial(on_ray, address=nodes.address))


def recorded(folder: Path, conversations: int, sizes: tuple[int, ...]) -> Iterator[tuple[str, ...]]:
    """The recordings, made unless they are there. Rows for a table."""
    original = folder / f"played-{conversations}.db"
    if not original.exists():
        began = time.perf_counter()
        turns = asyncio.run(play(original, conversations))
        took = time.perf_counter() - began
        yield (
            "really played",
            f"{conversations:,}",
            f"{turns:,}",
            f"{took:,.0f} s, {turns / took:,.0f} turns a second",
        )
    for size in sizes:
        path = folder / f"turns-{size}.db"
        if path.exists():
            continue
        began = time.perf_counter()
        with closing(sqlite3.connect(original)) as source, closing(sqlite3.connect(path)) as target:
            source.backup(target)
        turns, there = replicate(path, size)
        took = time.perf_counter() - began
        yield ("with copies", f"{there:,}", f"{turns:,}", f"{took:,.0f} s, {path.stat().st_size / 1e9:.1f} GB")


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.batch", description="Measure backtests at scale.")
    parser.add_argument("part", nargs="?", choices=("all", "engines", "large"), default="all")
    parser.add_argument("--turns", type=int, default=1_000_000, help="of the large run")
    parser.add_argument("--side-by-side", type=int, default=100_000, help="turns for which the engines are compared")
    parser.add_argument("--conversations", type=int, default=3_000, help="that are really played")
    parser.add_argument("--folder", type=Path, help="where the recordings are, or shall be kept")
    parser.add_argument("--no-ray", action="store_true")
    options = parser.parse_args()
    show_facts(facts())
    with nullcontext(str(options.folder)) if options.folder else tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small = options.side_by_side if options.part != "large" else 0
        large = options.turns if options.part != "engines" else 0
        show(run(folder, options.conversations, small, large, not options.no_ray))


def run(folder: Path, conversations: int, small: int, large: int, with_ray: bool) -> Section:
    """The engines side by side on `small` turns, then on `large`; 0 leaves one of them out."""
    from circumspect.lab.batch.engines import processes

    load = os.getloadavg()[0]
    made = list(recorded(folder, conversations, tuple(size for size in (small, large) if size)))
    ran = list(side_by_side(folder / f"turns-{small}.db", with_ray)) if small else []
    aims = []
    if ran:
        aims.append(_same("results are identical on every engine, killed or not", ran))
    if large:
        path = folder / f"turns-{large}.db"
        kept = folder / f"large-{os.getpid()}.run"
        at_scale = list(million(path, kept, with_ray))
        aims.append(_same("a million turns: results are identical on every engine", at_scale))
        again = measured("the same from the file", path, partial(processes, count=2), None, kept)
        aims.append(_same("what was kept is what was found", [at_scale[0], again]))
        aims.append(_adds_up(folder / f"played-{conversations}.db", at_scale[0]))
        ran += at_scale
    header = ("who", "calls", "wall", "calls/s", "CPU per call", "flips", "digest")
    return Section(
        "batch",
        "Backtests at scale",
        f"Every proposed call of the recorded turns, ruled on again under a changed policy. {conversations:,} distinct "
        "conversations were played through the engine; the others are copies of their rows under fresh ids and at "
        f"other times. Load of the machine before: {load:.1f}.",
        (
            *((Table(("recordings", "conversations", "turns", "took"), tuple(made)),) if made else ()),
            Table(header, tuple(_row(one) for one in ran)),
        ),
        tuple(aims),
        {one.name: one.__dict__ for one in ran},
    )


def _same(claim: str, ran: list[Measured]) -> Aim:
    digests = {one.digest for one in ran}
    return Aim(claim, ", ".join(sorted(digests)), len(digests) == 1)


def _adds_up(played: Path, large: Measured) -> Aim:
    """Copies flip as what they were copied from does."""
    from circumspect.lab.batch.engines import serial

    once = measured("what was played, on one core", played, serial)
    copies = large.calls / once.calls
    seen = f"{large.flips:,} flips, {once.flips:,} in what was played"
    return Aim(
        f"{copies:,.0f} times as many calls have as many times the flips", seen, once.flips * copies == large.flips
    )


def _row(one: Measured) -> tuple[str, ...]:
    cpu = "" if one.cpu is None else f"{one.cpu / one.calls * 1e6:,.0f} µs"
    return (
        one.name,
        f"{one.calls:,}",
        f"{one.seconds:,.1f} s",
        f"{one.rate:,.0f}",
        cpu,
        f"{one.flips:,}",
        one.digest,
    )


if __name__ == "__main__":
    main()
