"""The simulated loop: time that nobody waits for, processes that die and stand still."""

from __future__ import annotations

import asyncio

import pytest
from tests.simulation.loop import NothingHappens, SimulatedLoop, SimulatedProcess


@pytest.fixture
def loop():
    made = SimulatedLoop()
    yield made
    made.close()


def test_an_hour_passes_at_once(loop):
    async def wait():
        await asyncio.sleep(3600)
        return loop.time()

    assert loop.run_until_complete(wait()) == 3600


def test_what_will_never_come_is_noticed(loop):
    with pytest.raises(NothingHappens):
        loop.run_until_complete(loop.create_future())


def test_nothing_of_a_dead_process_runs_any_more(loop):
    done = []

    async def work():
        try:
            await asyncio.sleep(1)
            done.append("worked")
        finally:
            done.append("tidied up")

    async def live():
        process = SimulatedProcess(loop)
        process.start(work())
        await asyncio.sleep(0.5)
        process.alive = False
        await asyncio.sleep(10)
        return list(done)

    assert loop.run_until_complete(live()) == []


def test_a_process_that_stands_still_goes_on_later_with_all_that_came_due(loop):
    done = []

    async def work(name, seconds):
        await asyncio.sleep(seconds)
        done.append((name, loop.time()))

    async def live():
        process = SimulatedProcess(loop)
        process.start(work("first", 2))
        process.start(work("second", 4))
        loop.create_task(work("somebody else", 3))
        await asyncio.sleep(1)
        process.stand_still(9)
        await asyncio.sleep(20)

    loop.run_until_complete(live())
    assert done == [("somebody else", 3), ("first", 10), ("second", 10)]
