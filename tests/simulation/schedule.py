"""One schedule: a seed in, what went wrong and what happened out."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from tests.simulation.harm import find_harm
from tests.simulation.loop import SimulatedLoop
from tests.simulation.people import User, Wish
from tests.simulation.shop import RECOVERIES, WORDS, Shop
from tests.simulation.workers import TENANTS, Worker, ask_database, empty_database, open_database
from tests.simulation.world import CALM_AFTER, START, World

from circumspect.stores import database_time

SWEEP, SWEEPS = 30.0, 60
"""Simulated seconds between two, on average; and after how many of them nothing may be left."""


@dataclass(frozen=True)
class Schedule:
    seed: int
    harms: tuple[str, ...]
    log: tuple[str, ...]
    turns: int
    effects: int
    seconds: float


def play(seed: int, *, with_log: bool = False, faults: Collection[str] | None = None) -> Schedule:
    """The same seed, the same schedule."""
    open_database()
    empty_database()
    loop = SimulatedLoop()
    world = World(seed, loop, with_log, faults)
    quiet, read = logging.root.manager.disable, database_time.read
    logging.disable()
    database_time.read = lambda _: START.timestamp() + loop.time()
    try:
        harms = loop.run_until_complete(_live(world))
    finally:
        database_time.read = read
        logging.disable(quiet)
        loop.close()
    return Schedule(seed, tuple(harms), tuple(world.log), len(world.told), len(world.effects), loop.time())


def play_many(seeds: range, faults: Collection[str] | None = None) -> Iterator[Schedule]:
    """Schedules leave circles behind; they are collected now and then, and what is there for good is left alone."""
    open_database()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        for number, seed in enumerate(seeds):
            yield play(seed, faults=faults)
            if number % 100 == 99:
                gc.collect()
    finally:
        gc.enable()
        gc.unfreeze()


async def _live(world: World) -> list[str]:
    draws, loop = world.draws, world.loop
    shops = {name: Shop(world, name, draws.choice(RECOVERIES)) for name in TENANTS}
    world.note("world", f"recovery: {', '.join(f'{one.tenant} {one.recovery}' for one in shops.values())}")
    workers: list[Worker] = []
    workers += [Worker(world, number, shops, workers) for number in range(draws.randint(1, 3))]
    users = [
        User(world, workers, name, f"talk-{name}-{number}", _draw_wishes(world))
        for number, name in enumerate(draws.choices(list(TENANTS), k=draws.choice((1, 1, 1, 2))))
    ]
    loop.create_task(_sweep(world, workers))
    await asyncio.gather(*(user.talk() for user in users))
    await asyncio.sleep(max(0.0, CALM_AFTER - world.now))
    for _ in range(SWEEPS):
        if not _is_any_open():
            break
        await asyncio.sleep(SWEEP)
    return find_harm(world)


def _draw_wishes(world: World) -> list[Wish]:
    draws = world.draws
    return [
        Wish(draws.choice(tuple(WORDS)), str(draws.randrange(10_000, 100_000)), draws.choice(("words", "gate", "gate")),
             draws.random() < 0.85)
        for _ in range(draws.choice((1, 1, 1, 1, 2)))
    ]  # fmt: skip


async def _sweep(world: World, workers: list[Worker]) -> None:
    """As the server does in the background, but only when there is something to be found."""
    while True:
        await world.wait(SWEEP)
        if _is_any_open() and (one := world.draws.choice(workers)).alive:
            one.start(one.look_after())


_OPEN = """
    SELECT 1 FROM tool_executions WHERE state = 'started' UNION ALL
    SELECT 1 FROM turns WHERE status <> 'done' LIMIT 1
"""


def _is_any_open() -> bool:
    return bool(ask_database(_OPEN))
