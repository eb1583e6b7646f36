"""Lanes: so much at a time, fair between tenants, and never more than that, whoever gives up waiting."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.patience import PATIENCE

from circumspect.lanes import Lane, LaneFull


class Work:
    """Computations that end when they are told to."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.began: list[str] = []
        self._gates: dict[str, threading.Event] = {}
        self.tasks: dict[str, asyncio.Task[str]] = {}

    def compute(self, name: str) -> str:
        self.began.append(name)
        assert self._gates[name].wait(PATIENCE)
        return name

    async def start(self, tenant: str, *names: str) -> None:
        for name in names:
            self._gates[name] = threading.Event()
            self.tasks[name] = asyncio.create_task(self.lane.compute(tenant, self.compute, name))
            await asyncio.sleep(0)

    def end(self, name: str) -> None:
        self._gates[name].set()

    async def begins(self, *names: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while set(self.began) != set(names):
                await asyncio.sleep(0.01)


@asynccontextmanager
async def working(**bounds: int) -> AsyncIterator[Work]:
    work = Work(Lane("documents", **bounds))
    yield work
    for name in work.tasks:
        work.end(name)
    await asyncio.gather(*work.tasks.values(), return_exceptions=True)


async def test_a_tenant_with_a_long_queue_leaves_a_place_for_another():
    async with working() as work:
        await work.start("loud", "a1", "a2", "a3", "a4")
        await work.start("quiet", "b1")
        await work.begins("a1", "b1")
        work.end("b1")
        assert await work.tasks["b1"] == "b1"
        assert work.began == ["a1", "b1"]


async def test_a_place_that_falls_free_goes_to_the_tenants_in_turn():
    async with working(at_once=1) as work:
        await work.start("loud", "a1", "a2", "a3")
        await work.start("quiet", "b1")
        await work.start("third", "c1")
        for name in ("a1", "a2", "b1", "c1"):
            work.end(name)
        await work.begins("a1", "a2", "b1", "c1", "a3")
        assert work.began.index("b1") <= 2
        assert work.began.index("c1") <= 3
        assert work.began[-1] == "a3"


async def test_beyond_its_queue_a_tenant_is_refused_and_another_is_not():
    async with working(waiting=2) as work:
        await work.start("loud", "a1", "a2", "a3")
        with pytest.raises(LaneFull, match="2 of your requests wait for documents") as refused:
            await work.lane.compute("loud", work.compute, "a4")
        assert refused.value.status == 429
        assert 1 <= int(refused.value.headers["Retry-After"]) <= 60
        assert "lane_waiting" in refused.value.fix
        await work.start("quiet", "b1")
        await work.begins("a1", "b1")


async def test_a_crowd_of_tenants_fills_a_lane_too():
    async with working(waiting=1) as work:
        for number in range(2, 19):
            await work.start(f"tenant {number}", f"a{number}", f"b{number}")
        with pytest.raises(LaneFull, match="all tenants") as refused:
            await work.lane.compute("one more", work.compute, "c")
        assert refused.value.status == 503


async def test_what_nobody_waits_for_in_person_is_never_refused():
    async with working(waiting=0) as work:
        await work.start("shop", "a1")
        later = asyncio.create_task(work.lane.compute_later("shop", lambda: "done"))
        await work.begins("a1")
        work.end("a1")
        assert await later == "done"


async def test_who_hangs_up_keeps_the_place_until_the_computation_has_ended():
    async with working(at_once=1) as work:
        await work.start("loud", "a1", "a2")
        await work.begins("a1")
        work.tasks["a1"].cancel()
        await asyncio.gather(work.tasks["a1"], return_exceptions=True)
        await asyncio.sleep(0.05)
        assert work.began == ["a1"]
        work.end("a1")
        await work.begins("a1", "a2")


async def test_who_gives_up_waiting_leaves_the_queue():
    async with working(waiting=1) as work:
        await work.start("shop", "a1", "a2")
        work.tasks["a2"].cancel()
        await asyncio.gather(work.tasks["a2"], return_exceptions=True)
        await work.start("shop", "a3")
        work.end("a1")
        await work.begins("a1", "a3")


async def test_a_computation_that_fails_frees_its_place():
    lane = Lane("policies", at_once=1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            await lane.compute("shop", lambda: 1 / 0)
    async with lane.hold("shop"), asyncio.timeout(PATIENCE):
        waiting = asyncio.create_task(lane.compute("shop", lambda: "done"))
        await asyncio.sleep(0.05)
        assert not waiting.done()
    assert await waiting == "done"
