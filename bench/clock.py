"""Time taken by one awaited piece of work, in wall and CPU seconds, and what many of them amount to.

CPU time counts every thread of the process and hardly moves when the machine is busy with something else; wall time is
what a user waits. Collected garbage stays collected alike for everybody: `settled` empties the collector before each
batch and leaves it running, and `frozen` takes what set-up left behind out of its sight.

Who goes first is drawn by lot in every round. A fixed order, even one that rotates, keeps neighbours together, and on
a busy machine whoever follows a contestant that slept on the disk is favoured by the scheduler: that alone made one
peer's turns four times as fast as the same turns after anybody else.
"""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass
class Series:
    """Measurements of the same thing."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.wall)

    @property
    def best(self) -> float:
        return min(self.wall)

    @property
    def median_cpu(self) -> float:
        return statistics.median(self.cpu)

    def to_json(self) -> dict[str, float | int]:
        """Seconds. All of the measurements would be noise in a file; these four are what the tables show."""
        return {"median": self.median, "best": self.best, "cpu": self.median_cpu, "samples": len(self.wall)}

    async def measure(self, work: Callable[[], Awaitable[T]]) -> T:
        cpu, wall = time.process_time(), time.perf_counter()
        done = await work()
        self.wall.append(time.perf_counter() - wall)
        self.cpu.append(time.process_time() - cpu)
        return done

    def measure_many(self, work: Callable[[], object], times: int) -> None:
        """For work too short to be timed alone: the mean of one uninterrupted run of `times` is one measurement."""
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(times):
            work()
        self.wall.append((time.perf_counter() - wall) / times)
        self.cpu.append((time.process_time() - cpu) / times)


def drawn(contestants: Iterable[T], lots: random.Random) -> list[T]:
    return lots.sample(order := list(contestants), len(order))


def waited(measured: Iterable[Series]) -> str:
    """A warning to print where wall time is mostly waiting. Empty when the figures can be taken as they are."""
    if all(series.median < 1.5 * series.median_cpu for series in measured):
        return ""
    return (
        " WALL TIME IS FAR ABOVE CPU TIME: the machine was busy, or its disk is slow to sync. The medians are mostly "
        "waiting; compare the CPU figures, and run it again on a quiet machine."
    )


def settled() -> None:
    gc.collect()


@contextmanager
def frozen() -> Iterator[None]:
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
