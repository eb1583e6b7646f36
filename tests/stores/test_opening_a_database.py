"""Databases that cannot be used: a sentence and a fix, never a traceback, and never the password."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import traceback
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.patience import PATIENCE
from tests.stores.words import CONVERSATION, TENANT, closing, incoming, later, opened, whole_turn

from circumspect.errors import CircumspectError, StoreError
from circumspect.stores import SqlStore
from circumspect.stores.ledger import begin_call, finish_call
from circumspect.stores.statements import is_synced_later, synced_later
from circumspect.stores.turn_closing import close_turn, give_back, renew
from circumspect.stores.turn_opening import open_turn


async def refused(url: str, error: type[CircumspectError] = StoreError) -> CircumspectError:
    with pytest.raises(error) as caught:
        await SqlStore.open(url)
    assert caught.value.problem
    assert caught.value.fix
    return caught.value


async def test_parent_folders_are_made(tmp_path: Path):
    path = tmp_path / "a" / "b" / "store.db"
    store = await SqlStore.open(f"sqlite:///{path}")
    await whole_turn(store)
    await store.close()
    assert path.exists()


@pytest.mark.parametrize("form", ["{path}", "sqlite:///{path}", "sqlite+pysqlite:///{path}"])
async def test_a_file_can_be_named_in_several_ways(tmp_path: Path, monkeypatch, form):
    monkeypatch.chdir(tmp_path)
    for path in (f"{tmp_path}/whole path.db", "relative.db", "folder/relative.db"):
        store = await SqlStore.open(form.format(path=path))
        await store.close()
        assert (tmp_path / path).exists()


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", ":memory:"])
async def test_a_database_in_memory_is_a_whole_store_that_ends_with_it(url):
    store, other = await SqlStore.open(url), await SqlStore.open(url)
    await asyncio.gather(*(whole_turn(store, conversation=f"c{n}") for n in range(20)))
    assert len(await store.conversations(TENANT)) == 20
    assert await other.conversations(TENANT) == []
    await store.close()
    await other.close()


async def test_closing_twice_does_no_harm(store):
    await store.close()
    await store.close()


async def test_a_closed_store_says_so(store):
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await whole_turn(store)


async def test_a_transaction_that_nobody_waits_for_is_carried_through(store):
    """The caller is cancelled while the transaction runs; what it wrote is there all the same."""
    begun, go_on = threading.Event(), threading.Event()

    def slow(connection: sa.Connection) -> None:
        begun.set()
        go_on.wait(PATIENCE)
        connection.exec_driver_sql("INSERT INTO plans (name, mode, multiplier) VALUES ('slow', 'standard', 1)")

    task = asyncio.create_task(store.tx(slow))
    await asyncio.to_thread(begun.wait, PATIENCE)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    assert await _eventually(store, "slow")


async def _eventually(store: SqlStore, plan: str) -> bool:
    for _ in range(500):
        if await store.get_plan(plan):
            return True
        await asyncio.sleep(0.01)
    return False


async def test_sqlite_is_set_up_to_survive_a_power_cut(tmp_path: Path):
    store = await SqlStore.open(str(tmp_path / "store.db"))

    def settings(connection: sa.Connection) -> dict[str, object]:
        names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        return {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names}

    assert await store.tx(settings) == {
        "journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 10000
    }  # fmt: skip
    await store.close()


async def test_a_power_cut_can_only_undo_what_nothing_has_come_of_yet(tmp_path: Path):
    store = await SqlStore.open(str(tmp_path / "store.db"))

    def read_sync(connection: sa.Connection) -> int:
        return int(connection.exec_driver_sql("PRAGMA synchronous").scalar_one())

    @synced_later
    def read_sync_of_a_claim(connection: sa.Connection) -> int:
        return read_sync(connection)

    @synced_later
    def fail(_connection: sa.Connection) -> None:
        raise ZeroDivisionError

    levels = [await store.tx(one) for one in (read_sync_of_a_claim, read_sync, read_sync_of_a_claim)]
    with pytest.raises(ZeroDivisionError):
        await store.tx(fail)
    assert [*levels, await store.tx(read_sync)] == [1, 2, 1, 2]
    assert all(map(is_synced_later, (open_turn, renew, give_back)))
    assert not any(map(is_synced_later, (begin_call, finish_call, close_turn)))
    await store.close()


async def test_a_file_that_is_not_a_database(tmp_path: Path):
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary, this is not a database. " * 200)
    error = await refused(f"sqlite:///{path}")
    assert "not a SQLite database" in str(error)
    assert path.read_text().startswith("Dear diary")


async def test_a_path_that_is_a_folder(tmp_path: Path):
    assert "cannot be opened" in str(await refused(f"sqlite:///{tmp_path}"))


async def test_a_folder_that_cannot_be_made(tmp_path: Path):
    (tmp_path / "file").write_text("")
    assert "folder" in str(await refused(f"sqlite:///{tmp_path}/file/store.db"))


async def test_a_read_only_file(tmp_path: Path):
    path = tmp_path / "store.db"
    await (await SqlStore.open(str(path))).close()
    # By URL, since root may write to any file.
    url = f"sqlite:///file:{path}?mode=ro&uri=true"
    store = await SqlStore.open(url)
    with pytest.raises(StoreError, match="read-only"):
        await whole_turn(store)
    await store.close()
    fresh = f"sqlite:///file:{tmp_path}/fresh.db?mode=ro&uri=true"
    assert "cannot be opened" in str(await refused(fresh))


async def test_a_damaged_file(tmp_path: Path):
    path = tmp_path / "store.db"
    store = await SqlStore.open(str(path))
    for number in range(30):
        await whole_turn(store, "x" * 2000, conversation=f"c{number}")
    await store.close()
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(bytes(data))
    with pytest.raises(StoreError) as caught:
        await whole_turn(await SqlStore.open(str(path)))
    assert "damaged" in str(caught.value) or "refused" in str(caught.value)


async def test_a_full_disk_loses_the_turn_but_nothing_halfway(tmp_path: Path):
    store = await SqlStore.open(str(tmp_path / "store.db"))
    await whole_turn(store)

    def limit(connection: sa.Connection, extra: int) -> None:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + extra}")

    await store.tx(limit, 0)
    turn = incoming("x" * 50_000, at=later(60))
    with pytest.raises(StoreError, match="no room"):
        await opened(store, turn)
    assert len(await store.messages(TENANT, CONVERSATION)) == 2
    await store.tx(limit, 10_000)
    claim = await opened(store, turn)
    await store.close_turn(closing(turn, claim.token))
    assert len(await store.messages(TENANT, CONVERSATION)) == 4
    await store.close()


async def test_a_database_that_another_process_holds(tmp_path: Path):
    path = tmp_path / "store.db"
    store = await SqlStore.open(str(path))
    await store.tx(lambda connection: connection.exec_driver_sql("PRAGMA busy_timeout = 20"))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="held by another process"):
        await whole_turn(store)
    other.execute("ROLLBACK")
    await whole_turn(store)
    other.close()
    await store.close()


# --- URLs -----------------------------------------------------------------------------------------------------------

SECRET = "s3cr3t-p4ss"


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://bob:{SECRET}@localhost:notaport/db",
        f"postgresql://bob:{SECRET}@home@localhost/db",
        f"postgresql://bob:{SECRET}/x@localhost:1/db",
        f"mysql://bob:{SECRET}@localhost/db",
        f"://bob:{SECRET}@localhost",
    ],
)
async def test_a_url_that_cannot_be_used_is_explained_without_being_shown(url):
    error = await refused(url, CircumspectError)
    shown = "".join(traceback.format_exception(error)) + repr(error)
    assert SECRET not in shown


@pytest.mark.postgres
@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg", "postgresql+asyncpg"])
async def test_an_unreachable_server_is_explained_without_the_password(scheme):
    for url in (
        f"{scheme}://bob:{SECRET}@127.0.0.1:1/db?connect_timeout=2",
        f"{scheme}://bob@127.0.0.1:1/db?password={SECRET}",
        f"{scheme}://bob:{SECRET}@host.invalid/db",
    ):
        error = await refused(url)
        assert "cannot be reached" in str(error)
        shown = "".join(traceback.format_exception(error)) + repr(error)
        assert SECRET not in shown


@pytest.mark.postgres
async def test_a_database_that_does_not_exist(postgres):
    assert "createdb" in str(await refused(postgres.url("nowhere")))


@pytest.mark.postgres
async def test_a_user_that_may_not_create_tables(postgres):
    postgres.sql("CREATE ROLE guest LOGIN; GRANT CONNECT ON DATABASE postgres TO guest")
    error = await refused(postgres.url("postgres").replace("postgres@", "guest@"))
    assert "Grant" in error.fix


@pytest.mark.postgres
async def test_a_server_that_goes_away_is_an_error_and_the_next_call_reconnects(postgres):
    store = await SqlStore.open(postgres.url("tests"))
    conversation = "goes-away"
    turn = incoming(conversation=conversation)
    claim = await opened(store, turn)

    # The connection is cut in the middle of a transaction...
    def cut(connection: sa.Connection) -> None:
        connection.exec_driver_sql("INSERT INTO plans (name, mode, multiplier) VALUES ('lost', 'standard', 1)")
        pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
        postgres.sql(f"SELECT pg_terminate_backend({pid}, 5000)")
        connection.exec_driver_sql("SELECT 1")

    with pytest.raises(StoreError, match=r"cannot be reached|shutting down"):
        await store.tx(cut)
    assert await store.get_plan("lost") is None

    # ... and then the whole server is gone for a while.
    postgres.stop()
    for _ in range(2):
        with pytest.raises(StoreError) as gone:
            await store.close_turn(closing(turn, claim.token))
        assert gone.value.fix
    postgres.start()
    await store.close_turn(closing(turn, claim.token))
    assert len(await store.messages(TENANT, conversation)) == 2
    await store.close()
