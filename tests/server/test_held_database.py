"""Somebody holds the database's lock: whoever writes is told soon to send it again, and nothing was stored."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.server.house import House, say

from circumspect.errors import StoreError
from circumspect.stores import SqlStore, engine


def test_a_message_is_refused_soon_and_can_be_sent_again(tmp_path: Path) -> None:
    with House(f"sqlite:///{tmp_path}/c.db", lock_seconds=0.3) as house:
        client = house.key()
        talk = house.conversation(client)
        other = sqlite3.connect(tmp_path / "c.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        refused = client.post(f"/v1/conversations/{talk}/messages", json={"content": "hello"})
        other.rollback()
        other.close()
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "2")
        assert say(client, talk, "hello")["outcome"] == "answered"
        stored = client.get(f"/v1/conversations/{talk}/messages").json()
        assert [one["content"] for one in stored["items"] if one["role"] == "user"] == ["hello"]


async def test_who_waited_for_the_lock_in_vain_has_waited_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await SqlStore.open(f"{tmp_path}/c.db", lock_seconds=0.5)

    def read_patience(connection: sa.Connection) -> float:
        return float(connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()) / 1000

    other = sqlite3.connect(tmp_path / "c.db", isolation_level=None)
    try:
        assert await store.tx(read_patience) == 0.5
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(engine, "HELD_SECONDS", 0.01)
        for _ in range(3):
            with pytest.raises(StoreError, match="held by another process"):
                await store.tx(read_patience)
            kept = store._database._kept
            assert kept is not None
            _, driver = kept
            assert driver.execute("PRAGMA busy_timeout").fetchone() == (10,)
        other.rollback()
        assert await store.tx(read_patience) == 0.5
    finally:
        other.close()
        await store.close()
