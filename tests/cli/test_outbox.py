"""`circumspect outbox`: what was given up, listed and sent again from the terminal."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.cli.conftest import Run

from circumspect.stores import SqlStore, ledger
from circumspect.stores.tables import outbox
from circumspect.values import ConversationId, TenantId


@pytest.fixture(autouse=True)
def _given_up(folder: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two notifications that nobody received."""
    monkeypatch.setenv("LOGNAME", "dora")

    def body(connection) -> None:
        for number in range(2):
            target = {"target": {"to": ["ops@example.com"]}}
            ledger.notify(connection, f"esc-t1:{number}", "mail", target, TenantId("shop"), ConversationId("c1"))
        connection.execute(outbox.update().values(state="dead", attempts=80))

    async def write() -> None:
        store = await SqlStore.open("sqlite:///.circumspect/circumspect.db")
        await store.tx(body)
        await store.close()

    asyncio.run(write())


def test_they_are_listed_and_sent_again_by_name_or_all_at_once(run: Run) -> None:
    listed = run("outbox", "list")
    assert "esc-t1:0" in listed.out
    assert "ops@example.com" in listed.out
    assert json.loads(run("outbox", "redrive", "esc-t1:0", "--json").out) == {"notifications": 1}
    assert [one["id"] for one in json.loads(run("outbox", "list", "--json").out)] == ["esc-t1:1"]
    run("outbox", "redrive", "esc-t1:0").refused("given up")
    assert "1 to be sent again" in run("outbox", "redrive", "--all").out
    assert run("outbox", "list").out == "None is dead.\n"
    assert "esc-t1:1" in run("outbox", "list", "--state", "pending").out


def test_one_is_named_or_all_are(run: Run) -> None:
    for arguments in ((), ("esc-t1:0", "--all")):
        run("outbox", "redrive", *arguments).refused("Name one notification")
