"""The table as it is printed, and as it stands in docs/compared.md between two marks."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from bench.gates.field import Result
from bench.gates.proposals import House, Kind, Outcome
from bench.report import Table, duration, facts

PAGE = Path(__file__).parents[2] / "docs" / "compared.md"
MARKS = ("<!-- written by python -m bench.gates --write -->", "<!-- end of what was written -->")
KINDS: dict[Kind, tuple[Outcome, Outcome, Outcome]] = {
    "wrong": ("held", "asked", "ran"),
    "yes": ("asked", "ran", "held"),
    "right": ("ran", "asked", "held"),
}
"""What may become of each kind of proposal, the best first."""


def count_row(result: Result, house: House) -> tuple[str, ...]:
    """Everything but the time: the same in every run."""
    counts = {kind: result.count(house.proposals, kind) for kind in KINDS}
    return (result.name, *(str(counts[kind][one]) for kind in KINDS for one in KINDS[kind]), str(result.glue))


def make_table(results: list[Result], house: House) -> Table:
    size = Counter(one.kind for one in house.proposals)
    names: dict[Kind, str] = {"wrong": "wrong", "yes": "needs a yes", "right": "right"}
    header = [
        one if at else f"{names[kind]} ({size[kind]}): {one}"
        for kind, outcomes in KINDS.items()
        for at, one in enumerate(outcomes)
    ]
    rows = tuple((*count_row(one, house), duration(one.median)) for one in results)
    return Table(("", *header, "lines", "to a decision"), rows)


def make_each(results: list[Result], house: House) -> Table:
    rows = [(f"{one.kind}: {one.name}", *(result.became[one.name] for result in results)) for one in house.proposals]
    return Table(("", *(result.name.split(",")[-1].strip() for result in results)), tuple(rows))


def write_page(results: list[Result], tables: list[Table], load: str) -> None:
    versions = {one.package: one.version for one in results}
    found = facts()
    said = ", ".join(f"{name} {version}" for name, version in versions.items())
    about = f"{said}; {found['python']}, {found['machine']}, load {load}."
    parts = [MARKS[0], *("\n".join(to_markdown(one)) for one in tables), f"Measured with {about}", MARKS[1]]
    old = PAGE.read_text()
    between = re.compile(re.escape(MARKS[0]) + ".*" + re.escape(MARKS[1]), re.DOTALL)
    PAGE.write_text(between.sub(lambda _: "\n\n".join(parts), old))


def to_markdown(table: Table) -> list[str]:
    rows = [table.header, ("---",) + ("---:",) * (len(table.header) - 1), *table.rows]
    return [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in rows]
