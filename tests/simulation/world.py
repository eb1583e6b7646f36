"""The world of one schedule: its seed, its faults, its clock, and a log of what happened.

A seed decides everything. It first draws which kinds of faults there are at all, because a schedule with few kinds
reaches places that one with all of them never gets to; then every chance that a fault gets is one more draw. After a
while the faults end, and what is left has to come right by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

from tests.simulation.loop import SimulatedLoop

from circumspect.reasons import ReasonCode

START = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)
CALM_AFTER = 240.0
"""Seconds of the simulated time: when the faults end."""
FURTHEST_JUMP = 300.0
LONGEST_STOP = 150.0

FAULTS: Mapping[str, float] = {
    "worker dies": 0.04,
    "worker stands still": 0.06,
    "clock jumps": 0.03,
    "worker is stopped": 0.02,
    "database refuses": 0.05,
    "database does not answer": 0.05,
    "database is slow": 0.05,
    "tool refuses": 0.2,
    "tool loses its answer": 0.2,
    "tool hangs": 0.15,
    "model fails": 0.15,
    "model is slow": 0.15,
    "model lies": 0.3,
    "message comes twice": 0.3,
    "answer gets lost": 0.2,
    "button is pressed twice": 0.5,
}
"""How likely each is, whenever it could happen."""
SHARE = 0.35
"""How many of them a schedule has."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a tool really did, in the other system."""

    tenant: str
    tool: str
    order: str
    key: str
    at: float


@dataclass(frozen=True, slots=True)
class Told:
    """What a user was told, about which order, in answer to which message."""

    conversation: str
    turn: str
    order: str
    text: str
    reasons: tuple[ReasonCode, ...]
    at: float
    has_other: bool = False
    """They sent something else about the same order that has an answer of its own."""


@dataclass
class World:
    seed: int
    loop: SimulatedLoop
    with_log: bool = False
    faults: Collection[str] | None = None
    """The kinds of faults there are; None leaves them to the seed."""
    rates: Mapping[str, float] = field(init=False)
    draws: Random = field(init=False)
    log: list[str] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    spoken_of: set[tuple[str, str]] = field(default_factory=set)
    """Conversations with the orders that are theirs."""
    begun: dict[str, float] = field(default_factory=dict)
    """When each call was written down, by its key."""
    consents: dict[tuple[str, str], float] = field(default_factory=dict)
    """When somebody first agreed to a call, by tool and order."""
    given_up: list[str] = field(default_factory=list)
    """Messages that were never answered."""
    _ids: int = 0

    def __post_init__(self) -> None:
        self.draws = Random(self.seed)
        drawn = [name for name in FAULTS if self.draws.random() < SHARE]
        self.rates = {name: FAULTS[name] for name in (drawn if self.faults is None else self.faults)}
        self.note("world", f"faults: {', '.join(self.rates) or 'none'}")

    @property
    def now(self) -> float:
        return self.loop.time()

    @property
    def is_calm(self) -> bool:
        return self.loop.time() > CALM_AFTER

    def happens(self, fault: str) -> bool:
        rate = self.rates.get(fault)
        return rate is not None and self.loop.time() <= CALM_AFTER and self.draws.random() < rate

    def note(self, who: str, what: str) -> None:
        if self.with_log:
            self.log.append(f"{self.loop.time():10.3f}  {who:<10}  {what}")

    def draw_delay(self, mean: float) -> float:
        return self.draws.expovariate(1.0 / mean)

    async def wait(self, mean: float) -> None:
        await asyncio.sleep(self.draws.expovariate(1.0 / mean))

    def new(self, prefix: str) -> str:
        """The `Ids` port."""
        self._ids += 1
        return f"{prefix}_{self._ids}"


class SimulatedClock:
    """The clock of one worker: the true time, and what it is off by."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self.loop, self.ahead = loop, 0.0

    def now(self) -> datetime:
        return START + timedelta(seconds=self.loop.time() + self.ahead)
