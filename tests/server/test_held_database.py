"""Somebody holds the database's lock: whoever writes is told soon to send it again, and nothing was stored."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.server.house import House, say

from circumspect.stores import bounds


def test_a_message_is_refused_soon_and_can_be_sent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "SECONDS", 0.3)
    with House(f"sqlite:///{tmp_path}/c.db") as house:
        monkeypatch.undo()  # the connection keeps what it was opened with; all else may take its time
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
