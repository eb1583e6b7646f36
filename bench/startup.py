"""How long a command takes to say anything: `circumspect --help`, beside an empty Python and what scripts import.

The peers have no such command; what is shown for them is the import a script of theirs starts with.
"""

from __future__ import annotations

import random
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from bench.clock import Series, drawn
from bench.report import Aim, Section, Table, duration, ratio

LIMIT = 0.3
HELP = "circumspect --help"
EMPTY = "python -c pass"
IMPORTS = {
    "import Gate": ("circumspect", "from circumspect import Gate"),
    "import pydantic_ai": ("pydantic_ai", "from pydantic_ai import Agent"),
    "import langchain.agents": ("langchain", "from langchain.agents import create_agent"),
    "import agents": ("agents", "from agents import Agent, Runner"),
}


def commands() -> dict[str, list[str] | None]:
    """What to run by name; None where it is not installed."""
    script = Path(sysconfig.get_path("scripts")) / "circumspect"
    there = script.exists() and find_spec("circumspect.cli") is not None
    found: dict[str, list[str] | None] = {
        EMPTY: [sys.executable, "-c", "pass"],
        HELP: [str(script), "--help"] if there else None,
    }
    for name, (package, line) in IMPORTS.items():
        found[name] = [sys.executable, "-c", line] if find_spec(package) else None
    return found


async def run(rounds: int = 12) -> Section:
    programs = commands()
    measured = {name: Series() for name, command in programs.items() if command}
    lots = random.Random(1)
    for number in range(-1, rounds):
        for name, command in drawn(programs.items(), lots):
            if command:
                series = measured[name] if number >= 0 else Series()
                series.measure_many(lambda: subprocess.run(command, check=True, capture_output=True), 1)  # noqa: B023
    ours = measured[HELP].median if HELP in measured else None
    rows = [
        (name, duration(measured[name].median), duration(measured[name].best), ratio(measured[name].median, ours))
        if name in measured
        else (name, "not installed", "", "")
        for name in programs
    ]
    text = f"{HELP} starts in less than {LIMIT} s"
    return Section(
        "startup",
        "Start-up",
        "Wall time of a fresh process, bytecode already compiled, medians over interleaved rounds.",
        (Table(("command", "median", "best", "to ours"), tuple(rows)),),
        (Aim(text, "not installed", None) if ours is None else Aim(text, duration(ours), ours < LIMIT),),
        {name: {"median": series.median, "best": series.best} for name, series in measured.items()},
    )
