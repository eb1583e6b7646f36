"""What cannot last is not written: a database file that is gone or another, a disk without room, a log that was deleted."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.server.house import House, is_a_problem, say

from circumspect.stores import SqlStore, lasting_files
from circumspect.values import ConversationId, TenantId


def delete(file: Path) -> None:
    file.unlink()


def replace(file: Path) -> None:
    shutil.copy(file, file.with_suffix(".copy"))
    file.with_suffix(".copy").replace(file)


def delete_log(file: Path) -> None:
    Path(f"{file}-wal").unlink()


def fill_disk(file: Path) -> None:
    """The reserve is larger than any disk."""


DEEDS = [delete, replace, delete_log, fill_disk]


@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.__name__)
def test_nothing_is_confirmed_or_done_when_it_could_not_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deed: Callable[[Path], None]
) -> None:
    file = tmp_path / "c.db"
    with House(f"sqlite:///{file}") as house:
        client = house.key()
        talk = house.conversation(client)
        assert say(client, talk, "cancel order 12345")["outcome"] == "asked"
        assert house.client().get("/readyz").status_code == 200
        deed(file)
        if deed is fill_disk:
            files = house.app.state.services.store._database.files
            monkeypatch.setattr(files, "_least", 2**62)
        yes = client.post(f"/v1/conversations/{talk}/messages", json={"content": "yes"})
        is_a_problem(yes, 503)
        assert "Retry-After" in yes.headers
        ready = house.client().get("/readyz")
        assert (ready.status_code, ready.json()["status"]) == (503, "not_ready")
        assert "lost" in ready.json()["database"]
        assert str(tmp_path) not in ready.text
        assert house.client().get("/healthz").status_code == 200
        if deed is fill_disk:  # there is room again
            monkeypatch.undo()
            assert say(client, talk, "yes")["outcome"] == "acted"


def test_a_file_that_is_put_back_is_used_again(tmp_path: Path) -> None:
    file, away = tmp_path / "c.db", tmp_path / "away.db"
    with House(f"sqlite:///{file}") as house:
        client = house.key()
        talk = house.conversation(client)
        file.rename(away)
        is_a_problem(client.post(f"/v1/conversations/{talk}/messages", json={"content": "hello"}), 503)
        away.rename(file)
        assert say(client, talk, "hello")["outcome"] == "answered"


async def test_what_was_begun_may_end_on_the_last_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await SqlStore.open(f"{tmp_path}/c.db", min_free_bytes=2**62)
    try:
        await store.tx(lambda connection: None)
        await store.executions(TenantId("shop"), ConversationId("c1"))
        with pytest.raises(lasting_files.StoreNotLasting, match="MB left"):
            await store.tx(lasting_files.require_room)
    finally:
        await store.close()


DIE_WRITING = """
import asyncio, os, sqlalchemy as sa
from circumspect.stores import SqlStore

async def run():
    store = await SqlStore.open({file!r})
    await store.tx(lambda connection: connection.execute(sa.text("CREATE TABLE scrap (x)")))
    os._exit(0)

asyncio.run(run())
"""


def die_writing(file: Path) -> None:
    subprocess.run([sys.executable, "-c", DIE_WRITING.format(file=str(file))], check=True, timeout=PATIENCE)


async def test_a_log_that_was_deleted_after_a_crash_is_missed_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / "c.db"
    die_writing(file)
    Path(f"{file}-wal").unlink()
    with pytest.raises(lasting_files.StoreError, match="lacks what was written to it last"):
        await SqlStore.open(str(file))
    command = [sys.executable, "-m", "circumspect", "db", "restored", "--yes", "--database", str(file)]
    subprocess.run(command, check=True, timeout=PATIENCE)
    await (await SqlStore.open(str(file))).close()


@pytest.mark.parametrize("between", ["nothing", "another program", "somebody else's store"])
async def test_a_log_that_is_there_or_was_put_into_the_file_is_not_missed(tmp_path: Path, between: str) -> None:
    file = tmp_path / "c.db"
    die_writing(file)
    if between == "another program":
        other = sqlite3.connect(file)
        assert other.execute("SELECT count(*) FROM scrap").fetchone() == (0,)
        other.close()
    first = await SqlStore.open(str(file)) if between == "somebody else's store" else None
    store = await SqlStore.open(str(file))
    await store.close()
    if first:
        await first.close()


TAKE_FOR_NOBODYS = """
import fcntl, sys
# The lock that says: somebody has this database open. Who gets it alone cuts off the index.
with open(sys.argv[1] + "-shm", "r+b") as index:
    try:
        fcntl.lockf(index, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 128)
    except OSError:
        sys.exit(7)
"""


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX alone are given up like this")
async def test_another_process_never_takes_a_database_that_is_open_for_nobodys(tmp_path: Path) -> None:
    """However often this one opens and closes it meanwhile."""

    def take_for_nobodys() -> int:
        return subprocess.run([sys.executable, "-c", TAKE_FOR_NOBODYS, file], timeout=PATIENCE).returncode

    file = str(tmp_path / "c.db")
    first = await SqlStore.open(file)
    assert take_for_nobodys() == 7
    second = await SqlStore.open(file)
    assert take_for_nobodys() == 7
    await second.close()
    assert take_for_nobodys() == 7
    await first.close()


async def test_stores_that_come_and_go_never_miss_a_log(tmp_path: Path) -> None:
    """The check reads while others write, empty the log and close."""
    import asyncio

    import sqlalchemy as sa

    file = str(tmp_path / "c.db")
    await (await SqlStore.open(file)).close()

    async def come_and_go(number: int) -> None:
        for turn in range(5):
            store = await SqlStore.open(file)
            await store.tx(lambda connection: connection.execute(sa.text(f"CREATE TABLE t{number}_{turn} (x)")))  # noqa: B023
            await store.scrub()
            await store.close()

    await asyncio.gather(*(come_and_go(number) for number in range(4)))
    assert threading.active_count() < 50
    assert os.path.exists(file)
