"""Who takes part, and proof that each really does the work before anybody's time is taken.

A contestant whose package is missing is reported as such. One that is there and fails is an error: a benchmark that
quietly leaves out the peer that broke would flatter us.
"""

from __future__ import annotations

import importlib
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

from bench.work import ANSWERED, ANSWERS, DONE, ORDER, Contestant

OURS = "circumspect"


@dataclass(frozen=True)
class Entrant:
    name: str
    module: str
    peer: bool = False
    window: int | None = None
    """So many earlier messages, where the framework can be told; None leaves its default."""


BARE = Entrant("bare sqlite3", "bench.bare")
US = Entrant(OURS, "bench.ours")
PEERS = (
    Entrant("pydantic-ai", "bench.peers.pydantic_ai", peer=True),
    Entrant("LangGraph", "bench.peers.langgraph", peer=True),
    Entrant("OpenAI Agents", "bench.peers.openai_agents", peer=True),
)
WINDOWED = (
    Entrant("pydantic-ai, last 5 runs", "bench.peers.pydantic_ai", peer=True, window=5),
    Entrant("OpenAI Agents, limit=5", "bench.peers.openai_agents", peer=True, window=5),
)


@dataclass(frozen=True)
class Field:
    """The contestants that are here, and why the others are not."""

    ready: dict[Entrant, Contestant]
    missing: dict[Entrant, str]

    @property
    def peers(self) -> list[Entrant]:
        return [entrant for entrant in self.ready if entrant.peer]


@asynccontextmanager
async def gathered(entrants: tuple[Entrant, ...], folder: Path) -> AsyncIterator[Field]:
    os.environ["LANGSMITH_TRACING"] = "false"
    ready: dict[Entrant, Contestant] = {}
    missing: dict[Entrant, str] = {}
    try:
        for number, entrant in enumerate(entrants):
            place = folder / str(number)
            place.mkdir()
            try:
                ready[entrant] = await _set_up(entrant, place)
            except ModuleNotFoundError as error:
                missing[entrant] = f"not installed: no module {error.name}"
                continue
            await prove(ready[entrant], place)
        yield Field(ready, missing)
    finally:
        for contestant in ready.values():
            await contestant.close()


async def _set_up(entrant: Entrant, folder: Path) -> Contestant:
    module = importlib.import_module(entrant.module)
    made: Contestant = await (
        module.contestant(folder) if entrant.window is None else module.contestant(folder, window=entrant.window)
    )
    return made


async def prove(contestant: Contestant, folder: Path) -> None:
    """Answers, holds the call until it is approved, runs it once, says so, and leaves rows of it all in a file. Also
    the first warm-up."""
    for conversation in ("proof-1", "proof-2"):
        before = _rows(folder)
        await plain(contestant, conversation)
        answered = _rows(folder)
        await action(contestant, conversation)
        acted = _rows(folder)
        if not before < answered < acted:
            raise RuntimeError(f"The contestant stores nothing: {before}, {answered}, {acted} rows.")


async def plain(contestant: Contestant, conversation: str) -> None:
    """One plain turn, checked: a contestant that has begun to fail must not be timed as a quick one."""
    seen = await contestant.plain(conversation)
    _expect(seen, seen if seen in ANSWERS else ANSWERED)


async def action(contestant: Contestant, conversation: str) -> None:
    """One guarded action, checked: nothing ran before the approval, and exactly one call after it."""
    before = len(contestant.orders.cancelled)
    await contestant.propose(conversation)
    _expect(contestant.orders.cancelled[before:], [])
    _expect(await contestant.approve(conversation), DONE)
    _expect(contestant.orders.cancelled[before:], [ORDER])


def _rows(folder: Path) -> int:
    """Of all tables of all databases, as another connection sees them."""
    found = 0
    for file in folder.glob("*.db"):
        with closing(sqlite3.connect(file)) as db:
            names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            found += sum(db.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names)
    return found


def _expect(seen: object, wanted: object) -> None:
    if seen != wanted:
        raise RuntimeError(f"The contestant does not do the work: wanted {wanted!r}, got {seen!r}.")
