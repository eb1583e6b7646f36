"""A route that holds the event loop is named, in the log and in a metric, and nothing that was sent is."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import Request
from tests.patience import PATIENCE, wait_until
from tests.server.house import METRICS, House

from circumspect.confined import processes
from circumspect.server import loop_watch

SECRET = "what-somebody-said"
STALL = 0.7


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder: Path = tmp_path_factory.mktemp("stalls")
    with House(f"sqlite:///{folder}/house.db") as opened:

        async def block(word: str) -> str:
            time.sleep(STALL)
            return "done"

        async def block_elsewhere(word: str) -> str:
            async def hold() -> str:
                time.sleep(STALL)
                return "done"

            return await asyncio.create_task(hold())

        async def keep_the_lock(word: str) -> str:
            began, signs = time.monotonic(), 18
            while time.monotonic() - began < STALL:
                began, signs = time.monotonic(), signs + 1
                re.match(r"(a+)+$", "a" * signs + "b")
            return "done"

        async def wait(word: str) -> str:
            await asyncio.sleep(STALL)
            return "done"

        async def compute_in_code_of_ours(request: Request, word: str) -> str:
            processes.run_confined("tests.confined.bad_readers:sleep", b"", {"seconds": STALL}, what="x")
            return "done"

        for route in (block, block_elsewhere, keep_the_lock, wait, compute_in_code_of_ours):
            opened.app.add_api_route(f"/try/{route.__name__}/{{word}}", route)
        yield opened


def count(house: House, route: str) -> float:
    text = house.client(METRICS).get("/metrics").text
    found = re.search(rf'^circumspect_loop_stalls_total{{route="{re.escape(route)}"}} (\S+)$', text, re.MULTILINE)
    return float(found[1]) if found else 0.0


@pytest.mark.parametrize("name", ["block", "keep_the_lock", "compute_in_code_of_ours"])
def test_a_route_that_holds_the_loop_is_named_and_counted(house, name, caplog):
    template = f"/try/{name}/{{word}}"
    with caplog.at_level(logging.WARNING, loop_watch.__name__):
        assert house.client().get(f"/try/{name}/{SECRET}").status_code == 200
        wait_until(lambda: count(house, template))
    lines = [one for one in caplog.records if one.name == loop_watch.__name__ and one.route == template]
    assert lines
    assert all(one.seconds >= loop_watch.STALL_SECONDS for one in lines)
    assert SECRET not in str([one.__dict__ for one in lines])
    if name == "compute_in_code_of_ours":
        assert re.match(r"at confined/processes\.py:\d+ _read < ", lines[0].problem)
    text = house.client(METRICS).get("/metrics").text
    longest = re.search(r"^circumspect_loop_stall_max_seconds (\S+)$", text, re.MULTILINE)
    assert longest
    assert PATIENCE > float(longest[1]) >= loop_watch.STALL_SECONDS


def test_a_task_of_a_request_is_named_by_the_requests_under_way(house, caplog):
    with caplog.at_level(logging.WARNING, loop_watch.__name__):
        assert house.client().get(f"/try/block_elsewhere/{SECRET}").status_code == 200
        wait_until(lambda: [one for one in caplog.records if "block_elsewhere" in getattr(one, "problem", "")])


def test_a_route_that_waits_is_not_blamed(house):
    assert house.client().get(f"/try/wait/{SECRET}").status_code == 200
    assert count(house, "/try/wait/{word}") == 0


def test_the_watch_ends_with_the_server(tmp_path):
    import threading

    def watching() -> int:
        return sum(one.name == "circumspect-watch" for one in threading.enumerate())

    before = watching()
    with House(f"sqlite:///{tmp_path}/house.db"):
        wait_until(lambda: watching() == before + 1)
    wait_until(lambda: watching() == before)
