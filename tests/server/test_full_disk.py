"""A database that can take no more, in the middle of a conversation: a clear answer soon, and nothing is done."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.server.house import House, is_a_problem, say

from circumspect.errors import StoreNotLasting
from circumspect.steps import claim
from circumspect.stores import SqlStore
from circumspect.stores.lasting_files import require_room


def _limit_pages(connection: sa.Connection, more: int) -> None:
    """SQLite itself then says what it says on a full disk, while the disk has room."""
    pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + more}")


def test_a_yes_that_cannot_be_kept_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "LEASE_SECONDS", 600.0)  # whoever waits for a lease to run out does not come back
    with House(f"sqlite:///{tmp_path}/c.db") as house:
        client, store = house.key(), house.app.state.services.store
        talk, other = house.conversation(client), house.conversation(client)
        assert say(client, talk, "cancel order 12345")["outcome"] == "asked"
        asyncio.run(store.tx(_limit_pages, 0))
        for _ in range(100):
            sent = client.post(f"/v1/conversations/{other}/messages", json={"content": "x" * 5_000})
            if sent.status_code != 200:
                break
        is_a_problem(sent, 503)
        assert "Retry-After" in sent.headers
        for _ in range(3):
            yes = client.post(f"/v1/conversations/{talk}/messages", json={"content": "yes"})
            assert is_a_problem(yes, 503)["code"] == "not_stored"
            assert "Retry-After" in yes.headers
        ready = house.client().get("/readyz")
        assert (ready.status_code, ready.json()["status"]) == (503, "not_ready")
        assert "its disk is full" in ready.json()["database"]
        assert house.client().get("/healthz").status_code == 200

        asyncio.run(store.tx(_limit_pages, 10_000))
        assert house.client().get("/readyz").status_code == 200
        assert say(client, talk, "yes")["outcome"] == "acted"  # it was not used up, and it runs once
        assert say(client, talk, "yes")["outcome"] != "acted"
        assert say(client, other, "hello")["outcome"] == "answered"


async def test_room_is_tried_before_anything_begins_and_leaves_no_trace(tmp_path: Path) -> None:
    store = await SqlStore.open(f"{tmp_path}/c.db")
    try:
        await store.tx(_limit_pages, 2)

        def fill(connection: sa.Connection) -> None:
            connection.exec_driver_sql("CREATE TABLE scrap AS SELECT zeroblob(100000) AS x")

        with pytest.raises(StoreNotLasting, match="no room left"):
            await store.tx(fill)
        with pytest.raises(StoreNotLasting, match="no room left"):
            await store.tx(require_room)
        await store.tx(_limit_pages, 1_000)
        await store.tx(require_room)
        tables = await store.tx(lambda connection: sa.inspect(connection).get_table_names())
        assert not {"scrap", "room_tried"} & set(tables)
    finally:
        await store.close()
