"""`python -m bench.growth`: what turns, forgetting, pages and lists cost with a thousand conversations and many more.

Each database is filled directly, half of it for each of two tenants, then asked through a server and through the store.
Figures are CPU seconds of this process and of PostgreSQL's, the least of a few tries: other work on the machine hardly
moves them. `--databases PostgreSQL` makes a server of its own, gone afterwards; nothing is done there in the
background, and no statement by several processes, so that every second is seen. Each database has a process of its own;
`--at-once 6` fills and measures so many side by side, where there are cores enough.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import secrets
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import psutil
from tests.server.console.test_growth import GrownHouse
from tests.stores.postgres_server import Server, running

from bench import growth_doors, growth_store
from bench.growth_store import Clock
from bench.processor_time import family, used_by
from bench.report import Section, Table, duration, facts, show, show_facts, times

AIM = 1.5
"""What a thousand times as much stored may cost."""
KINDS = ("SQLite", "PostgreSQL")
ALONE = {"autovacuum": "off", "max_parallel_workers_per_gather": "0"}
"""PostgreSQL's processes come and go; what one used that is gone again would not be counted."""
Found = dict[str, dict[int, dict[str, float]]]
"""Seconds, by kind of database, conversations stored, and what was done."""


def measure(kind: str, number: int) -> dict[str, float]:
    """Seconds by what was done, with so many conversations."""
    began = time.monotonic()
    with open_server(kind) as server, make_database(server) as database:
        clock = count_cpu(server)
        with GrownHouse(database, number // 2) as house:
            _tell(kind, number, f"conversations written in {time.monotonic() - began:.0f} s")
            found = growth_doors.measure(house, clock, lambda name: _tell(kind, number, name))
        stored = growth_store.measure(database, number // 2, clock)
    for name, seconds in stored.items():
        _tell(kind, number, f"{name} {duration(seconds)}")
    _tell(kind, number, f"done in {time.monotonic() - began:.0f} s")
    return found | stored


def _tell(kind: str, number: int, what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {kind} {number:,}: {what}", flush=True)


def count_cpu(server: Server | None) -> Clock:
    """This process alone, or with those of the database server, which are kept open between two requests."""
    if server is None:
        return time.process_time
    first = psutil.Process(int((server.folder / "data/postmaster.pid").read_text().split()[0]))
    return lambda: time.process_time() + used_by(family(first))


@contextlib.contextmanager
def open_server(kind: str) -> Iterator[Server | None]:
    with running() if kind == "PostgreSQL" else contextlib.nullcontext() as server:
        for name, value in ALONE.items() if server else ():
            server.sql(f"ALTER SYSTEM SET {name} = '{value}'")
        if server:
            server.sql("SELECT pg_reload_conf()")
        yield server


@contextlib.contextmanager
def make_database(server: Server | None) -> Iterator[str]:
    """An empty one, in a folder of its own that is the current one as well: servers leave files there."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        if server is None:
            yield f"sqlite:///{folder}/grown.db"
            return
        name = f"grown_{secrets.token_hex(4)}"
        server.sql(f"CREATE DATABASE {name}")
        yield server.url(name)
        server.sql(f"DROP DATABASE {name} WITH (FORCE)")


def build_section(kind: str, found: dict[int, dict[str, float]]) -> Section:
    sizes = sorted(found)
    header = ("", *(f"{size:,}" for size in sizes), *(f"{size:,} to {sizes[0]:,}" for size in sizes[1:]))
    rows, beyond = [], 0
    for name, least in found[sizes[0]].items():
        grown = [found[size][name] for size in sizes]
        rows.append((name, *map(duration, grown), *(times(one / least) for one in grown[1:])))
        beyond += grown[-1] > AIM * least
    about = f"CPU time, least of a few tries. {beyond} of {len(rows)} cost more than {AIM} times the first at the last."
    return Section(
        f"growth-{kind.lower()}", f"Growth on {kind}, by conversations stored", about, (Table(header, tuple(rows)),)
    )


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.growth", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 100_000, 1_000_000])
    parser.add_argument("--databases", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--at-once", type=int, default=1, help="databases side by side, the largest first")
    parser.add_argument("--json", type=Path, help="a file for the seconds, by database, conversations and line")
    options = parser.parse_args()
    show_facts(facts())
    wanted = sorted(((kind, size) for kind in options.databases for size in options.sizes), key=lambda one: -one[1])
    found: Found = {kind: {} for kind in options.databases}
    with ProcessPoolExecutor(options.at_once, get_context("spawn"), max_tasks_per_child=1) as pool:
        doing = {pool.submit(measure, kind, size): (kind, size) for kind, size in wanted}
        for done in as_completed(doing):
            kind, size = doing[done]
            if problem := done.exception():
                _tell(kind, size, f"failed: {problem!r}")
                continue
            found[kind][size] = done.result()
            if options.json:
                options.json.write_text(json.dumps(found))
    for kind, sizes in found.items():
        if sizes:
            show(build_section(kind, sizes))


if __name__ == "__main__":
    main()
