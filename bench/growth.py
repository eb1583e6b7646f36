"""`python -m bench.growth`: what turns, forgetting, pages and lists cost with a thousand conversations and many more.

Each database is filled directly, half of it for each of two tenants, then asked through a server and through the store.
Figures are CPU seconds of this process and of PostgreSQL's, the least of a few tries: other work on the machine hardly
moves them. `--databases PostgreSQL` makes a server of its own, gone afterwards.
"""

from __future__ import annotations

import argparse
import contextlib
import secrets
import tempfile
import time
from collections.abc import Iterator

import psutil
from tests.server.console.test_growth import GrownHouse
from tests.stores.postgres_server import Server, running

from bench import growth_doors, growth_store
from bench.growth_store import Clock
from bench.processor_time import family, used_by
from bench.report import Section, Table, duration, facts, show, show_facts, times

AIM = 1.5
"""What a thousand times as much stored may cost."""


def measure(database: str, number: int, clock: Clock) -> dict[str, float]:
    """Seconds by what was done, with so many conversations."""
    began = time.monotonic()
    with GrownHouse(database, number // 2) as house:
        print(f"{number:,} conversations written in {time.monotonic() - began:.0f} s", flush=True)
        found = growth_doors.measure(house, clock)
    return found | growth_store.measure(database, number // 2, clock)


def count_cpu(server: Server | None) -> Clock:
    """This process alone, or with those of the database server, which are kept open between two requests."""
    if server is None:
        return time.process_time
    first = psutil.Process(int((server.folder / "data/postmaster.pid").read_text().split()[0]))
    return lambda: time.process_time() + used_by(family(first))


@contextlib.contextmanager
def open_server(kind: str) -> Iterator[Server | None]:
    with running() if kind == "PostgreSQL" else contextlib.nullcontext() as server:
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
    parser.add_argument("--databases", nargs="+", default=["SQLite", "PostgreSQL"], choices=["SQLite", "PostgreSQL"])
    options = parser.parse_args()
    show_facts(facts())
    for kind in options.databases:
        found: dict[int, dict[str, float]] = {}
        with open_server(kind) as server:
            for size in options.sizes:
                with make_database(server) as database:
                    found[size] = measure(database, size, count_cpu(server))
                show(build_section(kind, found))


if __name__ == "__main__":
    main()
