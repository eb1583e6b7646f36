"""One schedule: a seed in, what went wrong and what happened out."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Iterator
from dataclasses import dataclass

from tests.simulation.harm import find_harm
from tests.simulation.loop import SimulatedLoop
from tests.simulation.people import User, Wish
from tests.simulation.shop import RECOVERIES, WORDS, Shop
from tests.simulation.workers import TENANTS, Worker, ask_database, empty_database, open_database
from tests.simulation.world import CALM_AFTER, START, World

from circumspect.stores import database_time

RESTART, SWEEP = 6.0, 30.0
"""Simulated seconds, on average, until somebody does it."""
SWEEPS = 60


@dataclass(frozen=True)
class Schedule:
    seed: int
    harms: tuple[str, ...]
    log: tuple[str, ...]
    turns: int
    effects: int
    seconds: float


def play(seed: int, *, with_log: bool = False) -> Schedule:
    """The same seed, the same schedule."""
    open_database()
    empty_database()
    loop = SimulatedLoop()
    world = World(seed, loop, with_log)
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


def play_many(seeds: range) -> Iterator[Schedule]:
    """Schedules leave circles behind; they are collected now and then, and what is there for good is left alone."""
    open_database()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        for number, seed in enumerate(seeds):
            yield play(seed)
            if number % 100 == 99:
                gc.collect()
    finally:
        gc.enable()
        gc.unfreeze()


async def _live(world: World) -> list[str]:
    draws, loop = world.draws, world.loop
    shops = {name: Shop(world, name, draws.choice(RECOVERIES)) for name in TENANTS}
    world.note("world", f"recovery: {', '.join(f'{one.tenant} {one.recovery}' for one in shops.values())}")
    workers = [Worker(loop, world, number, shops) for number in range(draws.randint(1, 3))]
    users = [
        User(world, workers, name, f"talk-{name}-{number}", _draw_wishes(world))
        for number, name in enumerate(draws.choices(list(TENANTS), k=draws.choice((1, 1, 2))))
    ]
    loop.create_task(_restart(world, workers, shops))
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
        Wish(draws.choice(tuple(WORDS)), str(draws.randrange(10_000, 100_000)), draws.choice(("words", "gate")),
             draws.random() < 0.85)
        for _ in range(draws.choice((1, 1, 1, 2)))
    ]  # fmt: skip


async def _restart(world: World, workers: list[Worker], shops: dict[str, Shop]) -> None:
    while True:
        await world.wait(RESTART)
        for place, worker in enumerate(workers):
            if not worker.alive:
                workers[place] = Worker(world.loop, world, worker.number + 10, shops)
                world.note(workers[place].name, "is started")


async def _sweep(world: World, workers: list[Worker]) -> None:
    """As the server does in the background, but only when there is something to be found."""
    while True:
        await world.wait(SWEEP)
        if _is_any_open() and (sweeper := world.draws.choice(workers)).alive:
            sweeper.start(sweeper.sweep())


def _is_any_open() -> bool:
    return bool(ask_database("SELECT 1 FROM tool_executions WHERE state = 'started' LIMIT 1"))
