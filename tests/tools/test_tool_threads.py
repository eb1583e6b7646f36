"""Whose thread a function runs in, and what becomes of one that finds none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest
from tests.patience import PATIENCE, wait_until

from circumspect.errors import ToolError, ToolTimeout
from circumspect.tools import Toolset, tool
from circumspect.tools.tool_threads import DaemonThreads, LoopThreads, use_threads


class Hold:
    """Functions that do not return until they are let go, and how many are in there."""

    def __init__(self) -> None:
        self.gate, self.inside = threading.Event(), 0

    def wait(self) -> str:
        self.inside += 1
        self.gate.wait(PATIENCE)
        return "done"


@pytest.fixture
def hold() -> Iterator[Hold]:
    made = Hold()
    yield made
    made.gate.set()


async def test_a_call_that_finds_no_thread_was_never_made(hold: Hold) -> None:
    called: list[str] = []

    @tool(effect="write", timeout=PATIENCE)
    def hang() -> str:
        return hold.wait()

    @tool(effect="write", timeout=0.1)
    def pay() -> None:
        called.append("pay")

    tools, others = Toolset([hang, pay], DaemonThreads(2)), Toolset([pay])
    hung = [asyncio.create_task(tools.call("hang", {}, f"k{n}")) for n in range(2)]
    await asyncio.to_thread(wait_until, lambda: hold.inside == 2)
    with pytest.raises(ToolError, match="was not called") as refused:
        await tools.call("pay", {}, "k")
    assert not isinstance(refused.value, ToolTimeout)
    hold.gate.set()
    assert await asyncio.gather(*hung) == ["done", "done"]
    assert called == []
    await others.call("pay", {}, "k")
    await tools.call("pay", {}, "k")
    assert called == ["pay", "pay"]


async def test_a_call_that_is_given_up_while_it_waits_is_never_made(hold: Hold) -> None:
    called: list[str] = []

    @tool(timeout=PATIENCE)
    def pay() -> None:
        called.append("pay")

    threads = DaemonThreads(1)
    hung = threads.submit(hold.wait)
    given_up = asyncio.create_task(Toolset([pay], threads).call("pay", {}, "k"))
    await asyncio.sleep(0.01)
    given_up.cancel()
    await asyncio.wait({given_up})
    hold.gate.set()
    await asyncio.wrap_future(hung)
    await asyncio.wrap_future(threads.submit(lambda: None))
    assert called == []


async def test_more_calls_than_threads_take_turns() -> None:
    @tool(timeout=PATIENCE)
    def double(number: int) -> int:
        return 2 * number

    tools = Toolset([double], DaemonThreads(2))
    assert await asyncio.gather(*(tools.call("double", {"number": n}, "k") for n in range(50))) == [
        2 * n for n in range(50)
    ]


async def test_what_a_tool_hands_to_threads_itself_is_taken_from_nobody_else(hold: Hold) -> None:
    @tool(timeout=PATIENCE)
    async def hang() -> str:
        return await asyncio.to_thread(hold.wait)

    asyncio.get_running_loop().set_default_executor(LoopThreads())
    threads = DaemonThreads(2)
    tools = Toolset([hang], threads)
    calls = [asyncio.create_task(tools.call("hang", {}, "k")) for _ in range(100)]
    assert await asyncio.to_thread(wait_until, lambda: hold.inside == 2)
    hold.gate.set()
    assert await asyncio.gather(*calls) == ["done"] * 100


async def test_calls_that_were_taken_back_are_not_kept(hold: Hold) -> None:
    threads = DaemonThreads(1)
    threads.submit(hold.wait)
    for _ in range(100):
        threads.submit(lambda: None).cancel()
    assert len(threads._waiting) == 1


async def test_a_thread_sees_what_its_caller_has_set_and_ends_when_nothing_waits() -> None:
    threads = DaemonThreads()

    @tool
    def name() -> str:
        return threading.current_thread().name

    with use_threads(threads):
        assert await name.call({}, "k") == "circumspect-call"
    await asyncio.to_thread(wait_until, lambda: threads._busy == 0)
