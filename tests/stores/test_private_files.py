"""What we write is for its owner only, whatever the machine's default is; what was open is closed, and said."""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.stores.words import whole_turn

from circumspect.business import sqlite_file
from circumspect.private_files import make_folder
from circumspect.stores import SqlStore

pytestmark = pytest.mark.skipif(os.name != "posix", reason="files have no such modes there")


@pytest.fixture(autouse=True)
def open_by_default() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_a_new_database_is_its_owners_with_everything_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "below" / "store.db"
    store = await SqlStore.open(f"sqlite:///{path}")
    await whole_turn(store)
    try:
        found = {one.name: mode(one) for one in path.parent.iterdir()}
    finally:
        await store.close()
    assert found == {"store.db": 0o600, "store.db-wal": 0o600, "store.db-shm": 0o600}
    assert (mode(path.parent), mode(path.parent.parent)) == (0o700, 0o700)


async def test_an_old_database_that_everybody_could_read_is_closed_and_that_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "store.db"
    await (await SqlStore.open(str(path))).close()
    held = sqlite3.connect(path)
    held.execute("SELECT * FROM tenants")
    for one in tmp_path.iterdir():
        one.chmod(0o644)
    tmp_path.chmod(0o755)
    with caplog.at_level(logging.WARNING, "circumspect"):
        await (await SqlStore.open(str(path))).close()
    assert {mode(one) for one in tmp_path.iterdir()} == {0o600}
    assert str(path) in caplog.text
    assert mode(tmp_path) == 0o755, "a folder that was there is not ours to change"
    held.close()


async def test_a_database_that_was_given_to_a_group_stays_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "store.db"
    await (await SqlStore.open(str(path))).close()
    path.chmod(0o660)
    store = await SqlStore.open(str(path))
    await whole_turn(store)
    assert {mode(one) for one in tmp_path.iterdir()} == {0o660}
    await store.close()
    assert not caplog.records


async def test_looking_changes_no_mode(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await (await SqlStore.open(str(path))).close()
    path.chmod(0o644)
    await (await SqlStore.open(str(path), migrate=False)).close()
    assert mode(path) == 0o644


def test_a_folder_that_is_a_file_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        make_folder(tmp_path / "file")
    with pytest.raises(OSError, match="file"):
        make_folder(tmp_path / "file" / "below")


def test_the_databases_of_tools_are_private_too(tmp_path: Path) -> None:
    path = tmp_path / "crm" / "crm.db"
    sqlite_file.prepare(path, "CREATE TABLE IF NOT EXISTS people (name TEXT)")
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)
