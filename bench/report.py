"""Sections in, plain tables out. Every table says what was measured, every aim whether it was met; nothing is asserted.

A contestant that is not installed keeps its line, so that nobody takes a missing figure for a missing peer.
"""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version

WIDTH = 118
DISTRIBUTIONS = (
    "circumspect",
    "pydantic-ai-slim",
    "langchain",
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "openai-agents",
    "mistral-common",
)


@dataclass(frozen=True)
class Aim:
    text: str
    seen: str
    met: bool | None
    """None when it could not be measured."""

    def __str__(self) -> str:
        word = {True: "met", False: "NOT MET", None: "not measured"}[self.met]
        return f"{word:>12}  {self.text}: {self.seen}"


@dataclass(frozen=True)
class Table:
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    name: str
    title: str
    about: str
    tables: tuple[Table, ...]
    aims: tuple[Aim, ...] = ()
    data: Mapping[str, object] = field(default_factory=dict)
    """The figures behind the tables, unrounded, in seconds, tokens and dollars."""

    def to_json(self) -> dict[str, object]:
        return {"title": self.title, "data": self.data, "aims": [asdict(aim) for aim in self.aims]}


def duration(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} µs" if seconds < 1e-4 else f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.2f} ms" if seconds < 0.1 else f"{seconds * 1e3:.0f} ms"


def times(ratio: float) -> str:
    return f"{ratio:.2f}×" if ratio < 10 else f"{ratio:.0f}×"


def ratio(value: float, to: float | None) -> str:
    return "-" if not to else times(value / to)


def facts() -> dict[str, str]:
    """What the figures depend on, and nothing that names the machine."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found = {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "machine": f"{platform.system()} {platform.machine()}, {cores} cores",
        "sqlite": sqlite3.sqlite_version,
    }
    if hasattr(os, "getloadavg"):
        found["load at start"] = f"{os.getloadavg()[0]:.1f}"
    for name in DISTRIBUTIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def show_facts(found: Mapping[str, str]) -> None:
    line = " · ".join(f"{name} {value}" for name, value in found.items())
    print("\n".join(textwrap.wrap(line, WIDTH)))


def show(section: Section) -> None:
    print(f"\n{section.title}\n{'=' * len(section.title)}")
    print("\n".join(textwrap.wrap(section.about, WIDTH)))
    for table in section.tables:
        print()
        print("\n".join(lines(table)))
    if section.aims:
        print()
    for aim in section.aims:
        print(aim)
    sys.stdout.flush()


def lines(table: Table) -> list[str]:
    """Names to the left, figures to the right."""
    everything: Sequence[tuple[str, ...]] = (table.header, *table.rows)
    widths = [max(len(row[column]) for row in everything if column < len(row)) for column in range(len(table.header))]
    written = ["  ".join(_cell(cell, widths[at], at) for at, cell in enumerate(row)).rstrip() for row in everything]
    return [written[0], "-" * (sum(widths) + 2 * (len(widths) - 1)), *written[1:]]


def _cell(text: str, width: int, column: int) -> str:
    return text.ljust(width) if column == 0 else text.rjust(width)
