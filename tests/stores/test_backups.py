"""A backup is whole and of one moment while others write; a restored database is the old one or the new one, never half."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE, wait_until
from tests.stores.words import TENANT, whole_turn

from circumspect.errors import CircumspectError, StoreError
from circumspect.stores import SqlStore, backups, sqlite_backups
from circumspect.stores.backups import check_backup, make_backup, restore_backup
from circumspect.stores.restored import hold_restored_work

NOW = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)
ROOT = Path(__file__).parents[2]


def quiet(done: int, whole: int) -> None:
    pass


async def hold(database: str) -> Any:
    return await hold_restored_work(database, "tests", NOW, "log_1")


async def restore(folder: Path, target: Path, *, replace: bool = False) -> backups.DatabaseRestored:
    return await restore_backup(folder, f"sqlite:///{target}", hold, replace=replace, progress=quiet)


async def conversations(path: Path) -> set[str]:
    store = await SqlStore.open(str(path))
    try:
        return {one.id for one in await store.conversations(TENANT, 1000)}
    finally:
        await store.close()


@pytest.fixture
async def live(tmp_path: Path) -> Path:
    path = tmp_path / "live" / "circumspect.db"
    store = await SqlStore.open(str(path))
    for number in range(5):
        await whole_turn(store, "x" * 2000, conversation=f"c{number}")
    await store.close()
    return path


@pytest.fixture
def saved(live: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "saved"
    make_backup(f"sqlite:///{live}", folder, NOW, quiet)
    return folder


def leftovers(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir() if "partial" in one.name or "restoring" in one.name)


# --- taking one -----------------------------------------------------------------------------------------------------


async def test_a_backup_of_a_database_that_is_written_to_is_of_one_moment(
    live: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every step of the copy is followed by a write; SQLite would begin again for ever without a snapshot."""
    monkeypatch.setattr(sqlite_backups, "PAGES", 5)
    writer = sqlite3.connect(live, isolation_level=None)
    steps = 0

    def write(done: int, whole: int) -> None:
        nonlocal steps
        steps += 1
        assert steps < 500, "it began again"
        writer.execute("INSERT INTO plans (name, mode, multiplier) VALUES (?, 'standard', 1)", [f"plan-{steps}"])

    before = writer.execute("SELECT count(*) FROM plans").fetchone()[0]
    made = make_backup(f"sqlite:///{live}", tmp_path / "saved", NOW, write)
    assert steps > 5
    assert made.rows["plans"] == before
    assert writer.execute("SELECT count(*) FROM plans").fetchone()[0] == before + steps
    writer.close()
    assert check_backup(tmp_path / "saved", quiet) == made
    await restore(tmp_path / "saved", tmp_path / "again.db")
    assert await conversations(tmp_path / "again.db") == {f"c{number}" for number in range(5)}


def test_a_backup_is_its_owners_and_says_what_it_is(saved: Path) -> None:
    assert stat.S_IMODE(saved.stat().st_mode) == 0o700
    assert {stat.S_IMODE(one.stat().st_mode) for one in saved.iterdir()} == {0o600}
    assert {one.name for one in saved.iterdir()} == {"circumspect.db", "manifest.json"}
    said = json.loads((saved / "manifest.json").read_text())
    assert said["rows"]["conversations"] == 5
    assert said["sha256"]
    assert said["schema"]
    assert said["version"]


def test_a_backup_replaces_nothing(live: Path, saved: Path, tmp_path: Path) -> None:
    before = (saved / "manifest.json").read_bytes()
    with pytest.raises(StoreError, match="there already"):
        make_backup(f"sqlite:///{live}", saved, NOW, quiet)
    assert (saved / "manifest.json").read_bytes() == before
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(StoreError, match="there already"):
        make_backup(f"sqlite:///{live}", tmp_path / "link", NOW, quiet)


def test_what_cannot_be_backed_up_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("Dear diary. " * 500)
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE people (name)")
    for database, word in {
        f"sqlite:///{tmp_path}/none.db": "no database",
        f"sqlite:///{tmp_path}/notes.db": "not a SQLite database",
        f"sqlite:///{tmp_path}/other.db": "not a database of Circumspect",
        ":memory:": "no file",
    }.items():
        with pytest.raises(CircumspectError, match=word):
            make_backup(database, tmp_path / "saved", NOW, quiet)
        assert not (tmp_path / "saved").exists()
    assert not leftovers(tmp_path)
    assert not (tmp_path / "none.db").exists()


def test_a_key_pressed_in_the_middle_leaves_nothing(live: Path, tmp_path: Path) -> None:
    def interrupt(done: int, whole: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_backup(f"sqlite:///{live}", tmp_path / "saved", NOW, interrupt)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["live"]


# --- seeing that it is whole ----------------------------------------------------------------------------------------


def test_a_backup_that_was_changed_is_found_out(saved: Path) -> None:
    data = bytearray((saved / "circumspect.db").read_bytes())
    data[len(data) // 2] ^= 1
    (saved / "circumspect.db").write_bytes(bytes(data))
    with pytest.raises(StoreError, match="hash differs"):
        check_backup(saved, quiet)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"format": 2}, "newer version"),
        ({"schema": "9000"}, "newer version"),
        ({"rows": {}}, "numbers of rows"),
        ({"file": "../live/circumspect.db"}, "cannot be read"),
        ({"kind": "magnetic tape"}, "cannot be read"),
        ({"surprise": 1}, "cannot be read"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused_in_words(saved: Path, change: dict[str, Any], word: str) -> None:
    path = saved / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(StoreError, match=word) as told:
        check_backup(saved, quiet)
    assert told.value.fix


def test_a_folder_that_is_no_backup_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not a backup"):
        check_backup(tmp_path, quiet)


# --- putting it back ------------------------------------------------------------------------------------------------


async def test_a_database_is_not_replaced_unless_asked_and_then_it_is_kept(live: Path, saved: Path) -> None:
    store = await SqlStore.open(str(live))
    await whole_turn(store, conversation="after")
    await store.close()
    with pytest.raises(StoreError, match="there already"):
        await restore(saved, live)
    assert "after" in await conversations(live)
    made = await restore(saved, live, replace=True)
    assert "after" not in await conversations(live)
    assert made.kept is not None
    assert "after" in await conversations(made.kept)
    assert stat.S_IMODE(live.stat().st_mode) == 0o600
    assert not leftovers(live.parent)


@pytest.mark.parametrize("busy", [False, True])
async def test_nothing_is_replaced_while_somebody_uses_it(live: Path, saved: Path, busy: bool) -> None:
    """Also when a server has nothing to do at the moment."""
    store = await SqlStore.open(str(live))
    await whole_turn(store, conversation="now")
    other = sqlite3.connect(live, isolation_level=None)
    if busy:
        other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="in use"):
        await restore(saved, live, replace=True)
    other.close()
    assert "now" in {one.id for one in await store.conversations(TENANT)}
    await whole_turn(store, conversation="later")
    await store.close()
    assert {"now", "later"} <= await conversations(live)


async def test_a_damaged_database_can_be_replaced(live: Path, saved: Path) -> None:
    live.write_bytes(b"\xff" * 8192)
    made = await restore(saved, live, replace=True)
    assert "c1" in await conversations(live)
    assert made.kept is not None
    assert made.kept.read_bytes() == b"\xff" * 8192


async def test_the_log_of_changes_of_another_database_is_never_taken_for_its_own(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "new.db-wal").write_bytes(b"changes of another database")
    with pytest.raises(StoreError, match="log of changes"):
        await restore(saved, tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


async def test_what_the_backup_left_open_is_held_before_anybody_sees_it(saved: Path, tmp_path: Path) -> None:
    seen = []

    async def look(database: str) -> Any:
        seen.append((tmp_path / "new.db").exists())
        return await hold(database)

    await restore_backup(saved, f"sqlite:///{tmp_path}/new.db", look, replace=False, progress=quiet)
    assert seen == [False]
    with sqlite3.connect(tmp_path / "new.db") as database:
        assert database.execute("SELECT count(*) FROM operator_log WHERE action = 'restored'").fetchone() == (1,)
    database.close()


async def test_two_restores_into_one_place_make_one_database(saved: Path, tmp_path: Path) -> None:
    target = tmp_path / "new.db"
    tried = await asyncio.gather(*(restore(saved, target) for _ in range(3)), return_exceptions=True)
    assert sum(isinstance(one, backups.DatabaseRestored) for one in tried) == 1
    assert {type(one) for one in tried} == {backups.DatabaseRestored, StoreError}
    assert not leftovers(tmp_path)


async def test_a_full_disk_is_said_before_anything_is_written(
    live: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backups, "ROOM", 1e15)
    with pytest.raises(StoreError, match="MB left"):
        make_backup(f"sqlite:///{live}", tmp_path / "saved", NOW, quiet)
    assert not (tmp_path / "saved").exists()


# --- killed in the middle -------------------------------------------------------------------------------------------

CHILD = """
import asyncio, sys, time
from pathlib import Path
from tests.stores.test_backups import NOW, hold
from circumspect.stores import sqlite_backups
from circumspect.stores.backups import make_backup, restore_backup

def stop(*_):
    print("here", flush=True)
    time.sleep(600)

what, live, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
if what == "backup":
    sqlite_backups.PAGES = 5
    make_backup(f"sqlite:///{live}", folder, NOW, stop)
elif what == "copying":
    asyncio.run(restore_backup(folder, f"sqlite:///{live}", hold, replace=True, progress=stop))
else:
    sqlite_backups.os.replace = stop
    asyncio.run(restore_backup(folder, f"sqlite:///{live}", hold, replace=True, progress=lambda *_: None))
"""


def kill_halfway(what: str, live: Path, folder: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, what, str(live), str(folder)], stdout=subprocess.PIPE, cwd=ROOT
    )
    assert child.stdout is not None
    guard = threading.Timer(PATIENCE, child.kill)
    guard.start()
    assert child.stdout.readline() == b"here\n"
    child.send_signal(signal.SIGKILL)
    child.wait(PATIENCE)
    guard.cancel()
    child.stdout.close()
    wait_until(lambda: child.poll() is not None)


async def test_a_backup_that_is_killed_is_none_and_the_next_one_is(live: Path, tmp_path: Path) -> None:
    kill_halfway("backup", live, tmp_path / "saved")
    assert not (tmp_path / "saved").exists()
    assert len(leftovers(tmp_path)) == 1
    make_backup(f"sqlite:///{live}", tmp_path / "saved", NOW, quiet)
    assert check_backup(tmp_path / "saved", quiet).rows["conversations"] == 5
    assert await conversations(live) == {f"c{number}" for number in range(5)}


@pytest.mark.parametrize("moment", ["copying", "placing"])
async def test_a_restore_that_is_killed_leaves_the_old_database_whole(live: Path, saved: Path, moment: str) -> None:
    store = await SqlStore.open(str(live))
    await whole_turn(store, conversation="newest")
    await store.close()
    kill_halfway(moment, live, saved)
    assert "newest" in await conversations(live)
    await restore(saved, live, replace=True)
    assert await conversations(live) == {f"c{number}" for number in range(5)}


# --- PostgreSQL -----------------------------------------------------------------------------------------------------


@pytest.mark.postgres
async def test_a_postgresql_database_goes_into_a_new_one_and_never_over_another(postgres, tmp_path: Path) -> None:
    for name in ("backed_up", "restored_into"):
        postgres.sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        postgres.sql(f"CREATE DATABASE {name}")
    store = await SqlStore.open(postgres.url("backed_up"))
    await whole_turn(store, conversation="kept")
    made = await asyncio.to_thread(make_backup, postgres.url("backed_up"), tmp_path / "saved", NOW, quiet)
    assert made.rows["conversations"] == 1
    await store.close()
    restored = await restore_backup(
        tmp_path / "saved", postgres.url("restored_into"), hold, replace=False, progress=quiet
    )
    assert restored.manifest == made
    store = await SqlStore.open(postgres.url("restored_into"))
    assert {one.id for one in await store.conversations(TENANT)} == {"kept"}
    await store.close()
    with pytest.raises(StoreError, match="not empty"):
        await restore_backup(tmp_path / "saved", postgres.url("restored_into"), hold, replace=False, progress=quiet)
    with pytest.raises(StoreError, match="another kind"):
        await restore(tmp_path / "saved", tmp_path / "new.db")


async def test_a_password_is_on_no_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from circumspect.stores import postgres_backups
    from circumspect.stores.engine import connect

    seen: dict[str, Any] = {}

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        seen.update(command=command, env=options["env"])
        return subprocess.CompletedProcess(command, 1, "", "cannot: no reason")

    monkeypatch.setattr(postgres_backups.subprocess, "run", run)
    monkeypatch.setattr(postgres_backups.shutil, "which", lambda name: f"/bin/{name}")
    database = connect("postgresql://bob:hunter2@host:5433/shop?sslmode=require")
    with pytest.raises(StoreError, match="pg_dump failed") as told:
        postgres_backups._run(database, "pg_dump", "--format=custom")
    database.close()
    assert "hunter2" not in " ".join(seen["command"]) + str(told.value)
    wanted = {"PGPASSWORD": "hunter2", "PGHOST": "host", "PGPORT": "5433", "PGSSLMODE": "require", "PGDATABASE": "shop"}
    assert wanted.items() <= seen["env"].items()
