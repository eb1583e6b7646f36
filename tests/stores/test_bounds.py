"""A database that is held or overworked answers with an error soon, with nothing written, and serves again after."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from contextlib import suppress

import pytest
import sqlalchemy as sa
from sqlalchemy.pool import NullPool
from tests.patience import PATIENCE
from tests.stores.words import CONVERSATION, TENANT, whole_turn

from circumspect.errors import StoreError
from circumspect.stores import SqlStore, bounds
from circumspect.stores.schema import prepare

SHORT = 0.3
BOUNDS = ("lock_timeout", "statement_timeout")
FOREVER = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    "postgresql": "SELECT pg_sleep(3600)",
}


@pytest.fixture
async def bounded(url, monkeypatch):
    """A store whose database may take a moment and no more."""
    monkeypatch.setattr(bounds, "SECONDS", SHORT)
    opened = await SqlStore.open(url, lock_seconds=SHORT)
    yield opened
    await opened.close()


async def serves_again(store: SqlStore) -> None:
    """A busy machine may need more than a moment for it, and that is no failure."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with suppress(StoreError):
            await whole_turn(store)
            return
    pytest.fail("it did not serve again")


class Holder:
    """Somebody else, who holds the lock of the table that every turn begins with, or of the whole file."""

    def __init__(self, url: str) -> None:
        if url.startswith("sqlite"):
            self._other = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, check_same_thread=False)
            self._other.execute("BEGIN IMMEDIATE")
        else:
            self._other = sa.create_engine(
                url.replace("postgresql:", "postgresql+psycopg:"), poolclass=NullPool
            ).connect()
            self._other.exec_driver_sql("LOCK TABLE conversations IN ACCESS EXCLUSIVE MODE")

    def let_go(self) -> None:
        self._other.rollback()
        self._other.close()


async def test_a_lock_that_somebody_holds_is_an_error_soon(bounded, url):
    holder = Holder(url)
    with pytest.raises(StoreError, match=r"was held by another process|did not answer in time"):
        await asyncio.wait_for(whole_turn(bounded), PATIENCE)
    holder.let_go()
    await serves_again(bounded)
    assert len(await bounded.messages(TENANT, CONVERSATION)) == 2


async def test_how_long_a_lock_is_waited_for_is_set(url):
    """Not how long a statement may take: that stays as it is."""
    store = await SqlStore.open(url, lock_seconds=SHORT)
    try:
        await whole_turn(store)
        holder = Holder(url)
        with pytest.raises(StoreError, match="was held by another process"):
            await asyncio.wait_for(whole_turn(store), PATIENCE)
        holder.let_go()
        await serves_again(store)
    finally:
        await store.close()


async def test_who_waits_longer_for_a_lock_gets_it(url):
    store = await SqlStore.open(url, lock_seconds=PATIENCE)
    try:
        holder = Holder(url)
        threading.Timer(bounds.SECONDS / 10, holder.let_go).start()
        await whole_turn(store)
        assert await store.tx(_read_patience) == PATIENCE
    finally:
        await store.close()


def _read_patience(connection):
    if connection.dialect.name == "sqlite":
        return connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one() / 1000
    shown = {name: connection.exec_driver_sql(f"SHOW {name}").scalar_one() for name in BOUNDS}
    assert len(set(shown.values())) == 1, shown  # a statement may take as long as its lock
    return PATIENCE if shown["lock_timeout"] == f"{PATIENCE / 60:g}min" else shown


async def test_a_statement_that_does_not_end_is_ended(bounded):
    def run(connection):
        return connection.execute(sa.text(FOREVER[connection.dialect.name])).scalar()

    with pytest.raises(StoreError, match="did not answer in time"):
        await asyncio.wait_for(bounded.tx(run), PATIENCE)
    await serves_again(bounded)


async def test_what_waits_too_long_for_its_turn_is_not_begun(bounded):
    written, go = [], threading.Event()
    held = [asyncio.ensure_future(bounded.tx(lambda _: go.wait(PATIENCE))) for _ in bounded._database.threads._threads]
    late = asyncio.ensure_future(bounded.tx(lambda _: written.append("late")))
    await asyncio.sleep(2 * SHORT)
    go.set()
    with pytest.raises(StoreError, match="busy with others"):
        await late
    await asyncio.gather(*held)
    assert written == []
    await serves_again(bounded)


async def test_an_upgrade_waits_for_as_long_as_another_one_takes(tmp_path, monkeypatch):
    """Whoever starts while another worker upgrades waits for it: an upgrade of much data is no outage."""
    monkeypatch.setattr(bounds, "SECONDS", SHORT)
    url = f"sqlite:///{tmp_path}/new.db"
    sqlite3.connect(tmp_path / "new.db").execute("PRAGMA journal_mode = WAL")
    holder = Holder(url)
    let_go = threading.Event()
    threading.Timer(4 * SHORT, lambda: (let_go.set(), holder.let_go())).start()
    opened = await SqlStore.open(url, lock_seconds=SHORT)
    assert let_go.is_set()
    await serves_again(opened)
    await opened.close()


async def test_a_database_that_needs_no_upgrade_is_opened_while_another_writes(bounded, url):
    """Or a server would wait for that one for an hour, and say nothing."""
    holder = Holder(url)
    await asyncio.wait_for(bounded._database.threads.run(lambda: prepare(bounded._database, True)), PATIENCE)
    holder.let_go()
    await serves_again(bounded)
