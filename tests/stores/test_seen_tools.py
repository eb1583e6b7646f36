"""Tools that clients bring along are kept for review, and no client can fill the store with them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.stores.words import NOON

from circumspect.clock import FixedClock
from circumspect.errors import StoreError
from circumspect.server import seen_tools as remembering
from circumspect.server.seen_tools import REFRESH, SeenTools
from circumspect.server.stores.seen_tools import LARGEST, MOST, find_seen_tool, list_seen_tools, put_seen_tools
from circumspect.stores import SqlStore
from circumspect.values import TenantId, ToolSpec

SHOP, OTHER = TenantId("shop"), TenantId("other")


def tool(name: str, *parameters: str, description: str = "") -> ToolSpec:
    schema = {"type": "object", "properties": {one: {"type": "string"} for one in parameters}}
    return ToolSpec(name, description, schema, client=True)


async def seen(store: SqlStore, tenant: TenantId = SHOP) -> list[str]:
    return [one.spec.name for one in await store.tx(list_seen_tools, tenant)]


async def test_a_tool_is_kept_as_it_came_last_for_its_tenant_alone(store):
    await store.tx(put_seen_tools, SHOP, {"book": tool("book", "day")}, NOON)
    await store.tx(put_seen_tools, SHOP, {"book": tool("book", "day", "hour")}, NOON + timedelta(hours=1))
    (one,) = await store.tx(list_seen_tools, SHOP)
    assert (list(one.spec.properties), one.spec.client) == (["day", "hour"], True)
    assert one.seen_at == NOON + timedelta(hours=1)
    assert await seen(store, OTHER) == []
    assert await store.tx(find_seen_tool, OTHER, "book") is None
    assert (await store.tx(find_seen_tool, SHOP, "book")).required == frozenset()


async def test_the_tools_seen_longest_ago_make_room(store):
    for hour in range(3):
        many = {f"t{hour}-{number}": tool(f"t{hour}-{number}") for number in range(MOST // 2)}
        await store.tx(put_seen_tools, SHOP, many, NOON + timedelta(hours=hour))
    kept = await seen(store)
    assert len(kept) == MOST
    assert not any(name.startswith("t0-") for name in kept)


async def test_a_definition_that_is_too_large_is_not_kept(store):
    await store.tx(put_seen_tools, SHOP, {"big": tool("big", description="x" * LARGEST), "small": tool("small")}, NOON)
    assert await seen(store) == ["small"]


async def test_the_same_tools_are_written_down_once_an_hour_and_changed_ones_at_once(store, monkeypatch):
    clock, written = FixedClock(NOON), []
    tx = store.tx

    async def counted(body, *args):
        written.append(sorted(args[1]))
        return await tx(body, *args)

    monkeypatch.setattr(store, "tx", counted)
    notes = SeenTools(store, clock)
    for _ in range(3):
        await notes.note(SHOP, {"book": tool("book", "day"), "read": tool("read")})
    await notes.note(SHOP, {"book": tool("book", "day", "hour"), "read": tool("read")})
    clock.advance(seconds=REFRESH.total_seconds())
    await notes.note(SHOP, {"read": tool("read")})
    assert written == [["book", "read"], ["book"], ["read"]]


async def test_a_store_that_is_down_loses_the_note_and_nothing_else(monkeypatch):
    class Down:
        async def tx(self, *_: object) -> None:
            raise StoreError("The database is gone.", fix="Start it.")

    await SeenTools(Down(), FixedClock(NOON)).note(SHOP, {"book": tool("book")})


@pytest.mark.parametrize("names", [["a" * 1000], ["weird\0name"]])
async def test_names_that_a_client_makes_up_do_no_harm(store, names):
    await SeenTools(store, FixedClock(NOON)).note(SHOP, {name: tool(name) for name in names})
    assert all(len(name) < 200 for name in await seen(store))


async def test_a_worker_remembers_so_many_tools_and_no_more(store, monkeypatch):
    monkeypatch.setattr(remembering, "_REMEMBERED", 50)
    seen_tools = SeenTools(store, FixedClock(NOON))
    for request in range(10):
        await seen_tools.note(SHOP, {name: tool(name) for name in (f"r{request}-{number}" for number in range(20))})
    assert len(seen_tools._noted) == 50
    assert (SHOP, "r9-19") in seen_tools._noted
    assert (SHOP, "r0-0") not in seen_tools._noted
