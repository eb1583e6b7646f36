"""`python -m bench.faults`: workers killed at every point of a destructive turn and at random, counted.

Real `circumspect serve` processes over HTTP, SQLite and PostgreSQL, a tool of each recovery class. What must never be
(an effect twice, a destructive call without a stored yes, a message that is lost or stored twice) is counted by holding
the database against the marks that the tool leaves outside it. The asserted version is tests/faults.
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
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

from tests.faults.killing import Kills, killed_everywhere
from tests.faults.nursery import ROOT, Nursery
from tests.faults.site import RECOVERIES, Findings, Site
from tests.faults.torture import Torture, options, tortured
from tests.stores import postgres_server

from bench.report import Aim, Section, Table, facts, show, show_facts

HEADER = ("", "kills", "turns sent", "lost", "calls", "effects", "twice", "unconfirmed", "in doubt", "untold")
OUTAGES = {
    "postgresql": "PostgreSQL restarted or gone mid-turn",
    "test_a_result": "disk full when a result is written",
    "test_a_message": "disk full when a message comes",
    "redis": "Redis killed mid-turn",
    "model": "model hangs, lies, storms of 429 and 500",
    "clock": "clock jumps an hour, forwards and back",
    "frozen": "worker frozen over its leases",
}


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


def row(name: str, kills: int, sent: int, lost: int, found: Findings) -> tuple[str, ...]:
    figures = (
        kills,
        sent,
        lost + len(found.unsaid) + len(found.said_twice),
        found.calls,
        found.effects,
        len(found.twice),
        len(found.unconfirmed),
        found.states["indeterminate"],
        len(found.untold) + len(found.half_done) + len(found.untrue),
    )
    return (name, *map(str, figures))


def killed(name: str, kills: Kills) -> tuple[str, ...]:
    return row(name, len(kills.points), 2 * kills.findings.talks, 0, kills.findings)


def crowded(name: str, told: Torture) -> tuple[str, ...]:
    return row(name, told.kills, told.sent, told.lost, told.findings)


def measure(conversations: int, seconds: float, outages: bool) -> Section:
    points: list[tuple[str, ...]] = []
    crowds: list[tuple[str, ...]] = []
    all_kills: list[Kills] = []
    all_crowds: dict[str, Torture] = {}
    nursery = Nursery()
    try:
        with databases() as found:
            for database, server in found.items():
                for recovery in RECOVERIES:
                    with opened(nursery, server) as site:
                        all_kills.append(killed_everywhere(site, recovery, message=1))
                    points.append(killed(f"{database}, {recovery}: at every point of the yes", all_kills[-1]))
                with opened(nursery, server) as site:
                    all_kills.append(killed_everywhere(site, "blind", message=0))
                points.append(killed(f"{database}: at every point of the question", all_kills[-1]))
                for restarts in (False, True) if server else (False,):
                    with opened(nursery, server, **options()) as site:
                        restart = (lambda one=server: _restarted(one)) if restarts else None
                        told = tortured(site, conversations, seconds, random.randrange(10**6), restart)
                    name = f"{database}: at random, {conversations} conversations, 2 workers"
                    name += f", restarted {told.restarts}×" if restarts else ""
                    all_crowds[name] = told
                    crowds.append(crowded(name, told))
    finally:
        nursery.close()
    tables = [Table(HEADER, tuple(points)), Table(HEADER, tuple(crowds))]
    if outages:
        tables.append(Table(("outage", "held", "failed", "not run"), tuple(_outages())))
    everything = [kills.findings for kills in all_kills] + [told.findings for told in all_crowds.values()]
    total = sum(len(kills.points) for kills in all_kills) + sum(told.kills for told in all_crowds.values())
    lost = sum(told.lost for told in all_crowds.values()) + sum(len(one.unsaid) for one in everything)
    twice = sum(len(one.twice) + len(one.said_twice) for one in everything)
    unconfirmed = sum(len(one.unconfirmed) for one in everything)
    return Section(
        "faults",
        "Faults",
        f"{total} workers killed with SIGKILL. A turn is sent with its Idempotency-Key until somebody answers it. 'In "
        "doubt' is a call whose outcome nobody can know (blind tools, and lookup tools that find nothing): it is not "
        "repeated and a person is told; 'untold' counts those of whom nobody was told, or whose record is not true.",
        tuple(tables),
        (
            Aim("lost turns", str(lost), lost == 0),
            Aim("effects twice", str(twice), twice == 0),
            Aim("unconfirmed destructive runs", str(unconfirmed), unconfirmed == 0),
        ),
        {
            "kills": total,
            "points": [kills.points for kills in all_kills],
            "crowds": {name: asdict(told) for name, told in all_crowds.items()},
        },
    )


def _restarted(server: postgres_server.Server | None) -> None:
    assert server is not None
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


async def run(rounds: int = 1, conversations: int = 200, seconds: float = 20, outages: bool = True) -> Section:
    return await asyncio.to_thread(measure, conversations, seconds, outages)


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.faults", description="Kill workers, and count what came of it.")
    parser.add_argument("--conversations", type=int, default=200, help="at once, in the crowd")
    parser.add_argument("--seconds", type=float, default=20, help="how long workers are killed at random")
    parser.add_argument("--no-outages", action="store_true", help="leave out what else can go wrong")
    given = parser.parse_args()
    show_facts(facts())
    section = asyncio.run(run(conversations=given.conversations, seconds=given.seconds, outages=not given.no_outages))
    show(section)
    if any(aim.met is False for aim in section.aims):
        sys.exit(1)


if __name__ == "__main__":
    main()
