"""`python -m bench.faults`: workers killed at every point of a destructive turn and at random, and the harm counted.

Real `circumspect serve` processes over HTTP, SQLite and PostgreSQL, with tools of each recovery class that call a back
end in each of the usual ways. Harm is whatever anybody was told that is not so, held against that end's own book; what
happened twice or without a yes; and who got no answer. The asserted version is tests/faults.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import subprocess
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

from tests.faults import neighbours
from tests.faults.back_end import BackEnd
from tests.faults.checker import KINDS, Report
from tests.faults.killing import Kills, killed_everywhere
from tests.faults.neighbours import hold_one_tenant
from tests.faults.nursery import ROOT, Nursery
from tests.faults.shops import RECOVERIES
from tests.faults.site import Site
from tests.faults.torture import Torture, make_options, torture
from tests.stores import postgres_server

from bench.report import Aim, Section, Table, facts, show, show_facts

HEADER = ("", "kills", "stopped", "database", "messages", "effects", "sentences", *KINDS)
OUTAGES = {
    "postgresql": "PostgreSQL restarted or gone mid-turn",
    "test_a_result": "disk full when a result is written",
    "test_a_message": "disk full when a message comes",
    "redis": "Redis killed mid-turn",
    "model": "model hangs, lies, storms of 429 and 500",
    "clock": "clock jumps an hour, forwards and back",
    "frozen": "worker frozen over its leases",
}
Row = tuple[str, ...]


@contextmanager
def databases() -> Iterator[dict[str, postgres_server.Server | None]]:
    """SQLite, and PostgreSQL where it can be had."""
    with ExitStack() as stack:
        found: dict[str, postgres_server.Server | None] = {"SQLite": None}
        try:
            found["PostgreSQL"] = stack.enter_context(postgres_server.running())
        except postgres_server.NoPostgres as reason:
            print(f"NOT MEASURED ON POSTGRESQL: {reason}")
        yield found


@contextmanager
def opened(nursery: Nursery, server: postgres_server.Server | None, **settings: object) -> Iterator[Site]:
    with tempfile.TemporaryDirectory(prefix="circumspect-faults-") as folder:
        url = f"sqlite:///{folder}/store.db"
        if server is not None:
            name = f"faults_{uuid.uuid4().hex[:12]}"
            server.sql(f"CREATE DATABASE {name}")
            url = server.url(name)
        site = Site(nursery, Path(folder), url, **settings)  # type: ignore[arg-type]
        try:
            yield site
        finally:
            site.close()


def make_row(name: str, faults: Counter[str], messages: int, effects: int, report: Report) -> Row:
    database = sum(count for fault, count in faults.items() if fault.startswith("database"))
    figures = (faults["killed"], faults["stopped beyond a lease"], database, messages, effects)
    return (name, *(f"{one:,}" for one in (*figures, report.claims.total(), *map(report.count, KINDS))))


def kill_at_every_point(nursery: Nursery, server: postgres_server.Server | None) -> Iterator[tuple[str, Kills]]:
    for recovery in RECOVERIES:
        with opened(nursery, server) as site:
            yield f"at every point of the yes, {recovery}", killed_everywhere(site, recovery, message=1)
    with opened(nursery, server) as site:
        yield "at every point of the question", killed_everywhere(site, "blind", message=0)


def break_at_random(
    nursery: Nursery, server: postgres_server.Server | None, conversations: int, seconds: float, seed: int
) -> Torture:
    restart = (lambda: _restart(server)) if server else None
    with closing(BackEnd()) as back_end, opened(nursery, server, **make_options(back_end)) as site:
        return torture(site, back_end, conversations, seconds, seed, restart)


def measure(conversations: int, seconds: float, points: bool, outages: bool, seed: int) -> Section:
    rows: list[Row] = []
    reports: list[Report] = []
    crowds: dict[str, Torture] = {}
    nursery = Nursery()

    def add(row: Row, report: Report) -> None:
        rows.append(row)
        reports.append(report)
        print(" | ".join(row), *(f"\n    {one.kind}: {one.what}" for one in report.harms), flush=True)

    try:
        with databases() as found:
            for database, server in found.items():
                for name, kills in kill_at_every_point(nursery, server) if points else ():
                    faults, made = Counter({"killed": len(kills.points)}), kills.findings
                    add(make_row(f"{database}, {name}", faults, 2 * made.talks, made.effects, made.report), made.report)
                told = break_at_random(nursery, server, conversations, seconds, seed)
                name = f"{database}, at random, {conversations} at once"
                crowds[name] = told
                add(make_row(name, told.faults, told.messages, told.effects, told.report), told.report)
                with closing(BackEnd()) as back_end:
                    with opened(nursery, server, **neighbours.make_options(back_end)) as site:
                        near = hold_one_tenant(site, back_end)
                    name = f"{database}, {neighbours.CALLS} calls of another tenant hang"
                    add(make_row(name, Counter(), near.messages, len(back_end.effects), near.report), near.report)
    finally:
        nursery.close()
    tables = [Table(HEADER, tuple(rows))]
    if outages:
        tables.append(Table(("outage", "held", "failed", "not run"), tuple(_outages())))
    harm = {kind: sum(report.count(kind) for report in reports) for kind in KINDS}
    return Section(
        "faults",
        "Faults",
        f"Seed {seed}. Workers are killed with SIGKILL, or stopped beyond their leases and continued; the database is "
        "locked or restarted; the back end does the work and then resets, truncates, answers too late or denies it. A "
        "message is sent with its Idempotency-Key until somebody answers it. 'Sentences' were held against what "
        "happened; the columns after that are harm.",
        tuple(tables),
        tuple(Aim(kind, str(count), count == 0) for kind, count in harm.items()),
        {
            "harm": [asdict(one) for report in reports for one in report.harms],
            "crowds": {name: asdict(told) for name, told in crowds.items()},
        },
    )


def _restart(server: postgres_server.Server) -> None:
    server.stop("immediate")
    server.start()


def _outages() -> Iterator[tuple[str, ...]]:
    """The asserted outages, by running their tests."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        subprocess.run(
            [sys.executable, "-m", "pytest", "tests/faults/test_outages.py", "-q", "-n", "0", "-p", "no:cacheprovider",
             f"--junitxml={report}"],
            cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        held, failed, skipped = Counter[str](), Counter[str](), Counter[str]()
        for case in ElementTree.parse(report).iter("testcase"):
            name = next((text for sign, text in OUTAGES.items() if sign in case.get("name", "")), "other")
            kinds = {child.tag for child in case}
            counted = failed if kinds & {"failure", "error"} else skipped if "skipped" in kinds else held
            counted[name] += 1
    for name in {*held, *failed, *skipped}:
        yield name, str(held[name]), str(failed[name]), str(skipped[name])


async def run(
    rounds: int = 1, conversations: int = 84, seconds: float = 60, points: bool = True, outages: bool = True,
    seed: int | None = None,
) -> Section:  # fmt: skip
    seed = random.randrange(10**6) if seed is None else seed
    return await asyncio.to_thread(measure, conversations, seconds, points, outages, seed)


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.faults", description="Break things, and count the harm.")
    parser.add_argument("--conversations", type=int, default=84, help="at once, in the crowd")
    parser.add_argument("--seconds", type=float, default=60, help="how long things are broken at random")
    parser.add_argument("--no-points", action="store_true", help="leave out the kills at every point of a turn")
    parser.add_argument("--no-outages", action="store_true", help="leave out what else can go wrong")
    parser.add_argument(
        "--seed", type=int, help="of the crowd's lots; what the machine does in between is its own affair"
    )
    given = parser.parse_args()
    show_facts(facts())
    section = asyncio.run(
        run(1, given.conversations, given.seconds, not given.no_points, not given.no_outages, given.seed)
    )
    show(section)
    if any(aim.met is False for aim in section.aims):
        sys.exit(1)


if __name__ == "__main__":
    main()
