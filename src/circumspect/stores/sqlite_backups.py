"""An SQLite database to a copy of one moment while others write, and back into place.

The copy is made by SQLite inside one read transaction, so that writers neither wait nor make it begin again. A restored
file takes its place by one rename or link: whenever the process dies, the database is the old one or the new one.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from circumspect.errors import StoreError
from circumspect.private_files import database_files, make_database_file, make_folder
from circumspect.stores.backup_folders import Progress, compare_rows, sync_folder
from circumspect.stores.engine import explain_error

PAGES = 2_000
PATIENCE_SECONDS = 10.0


def copy_database(source: Path, target: Path, progress: Progress) -> tuple[dict[str, int], str]:
    """How many rows each table has in the copy, as counted in the source, and the schema's revision."""
    if not source.is_file():
        raise StoreError(f"There is no database {source}.", fix="Name it with --database.")
    make_database_file(target)
    try:
        with closing(_open(source, "rw")) as live, closing(sqlite3.connect(target)) as copy:
            live.execute("BEGIN")
            rows, schema = count_rows(live), _version(live)
            live.backup(copy, pages=PAGES, progress=lambda _, left, whole: progress(whole - left, whole))
            live.execute("COMMIT")
            copy.execute("PRAGMA journal_mode = DELETE").fetchall()
    except sqlite3.Error as error:
        raise explain_error(error, str(source)) or error from error
    if schema is None:
        raise StoreError(f"{source} is not a database of Circumspect.", fix="Name another with --database.")
    compare_rows(rows, inspect(target), "The copy")
    return rows, schema


def inspect(path: Path) -> dict[str, int]:
    """How many rows each table has, once SQLite itself has found the file sound."""
    try:
        with closing(_open(path, "ro&immutable=1")) as copy:
            found = [str(row[0]) for row in copy.execute("PRAGMA integrity_check(5)")]
            if found != ["ok"] or copy.execute("PRAGMA foreign_key_check").fetchone():
                raise StoreError(f"{path} is damaged: {found[0]}.", fix="Take another backup.")
            return count_rows(copy)
    except sqlite3.Error as error:
        raise explain_error(error, str(path)) or error from error


def count_rows(connection: sqlite3.Connection) -> dict[str, int]:
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
    return {name: _count(connection, name) for (name,) in names.fetchall() if not name.startswith("sqlite_")}


def _count(connection: sqlite3.Connection, table: str) -> int:
    quoted = table.replace('"', '""')
    return int(connection.execute(f'SELECT count(*) FROM "{quoted}"').fetchone()[0])  # noqa: S608


def _version(connection: sqlite3.Connection) -> str | None:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone():
        return None
    found = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(found[0]) if found else None


def _open(path: Path, mode: str) -> sqlite3.Connection:
    address = f"file:{quote(str(path.absolute()))}?mode={mode}"
    return sqlite3.connect(address, uri=True, timeout=PATIENCE_SECONDS, isolation_level=None)


# --- back into place ------------------------------------------------------------------------------------------------


def require_place(path: Path, replace: bool) -> None:
    if path.exists() and not replace:
        raise StoreError(
            f"{path} is there already.", fix="Restore into a new file with --database, or add --replace: it is kept."
        )
    if not path.exists() and any(one.exists() for one in database_files(path)):
        raise StoreError(
            f"Beside {path} lies a log of changes of another database.", fix=f"Move {path}-wal and {path}-shm away."
        )


@contextmanager
def file_aside(path: Path) -> Iterator[Path]:
    """Where a database is made ready in the folder of its place. What is left of it is removed."""
    make_folder(path.parent)
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.restoring")
    try:
        yield aside
    finally:
        for one in database_files(aside):
            one.unlink(missing_ok=True)


def put_in_place(ready: Path, path: Path, replace: bool) -> Path | None:
    """Where the database that was there is kept now, if there was one."""
    with closing(sqlite3.connect(ready, isolation_level=None)) as whole:
        whole.execute("PRAGMA journal_mode = DELETE").fetchall()  # everything in the one file that takes the place
    with open(ready, "rb") as file:
        os.fsync(file.fileno())
    require_place(path, replace)
    if not path.exists():
        try:
            os.link(ready, path)
        except FileExistsError:
            raise StoreError(f"{path} is there by now.", fix="Somebody else made it: look at it first.") from None
        sync_folder(path.parent)
        return None
    kept = path.with_name(f"{path.name}.before-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(2)}")
    with alone_with(path):
        os.link(path, kept)
        os.replace(ready, path)
        sync_folder(path.parent)
    return kept


@contextmanager
def alone_with(path: Path) -> Iterator[None]:
    """Nobody else has the database open, and its log of changes is in the file. A damaged one is nobody's."""
    with closing(_open(path, "rw")) as held:
        held.execute("PRAGMA busy_timeout = 1000")
        try:
            held.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
            mode = held.execute("PRAGMA journal_mode = DELETE").fetchall()
            held.execute("BEGIN EXCLUSIVE")
            if mode != [("delete",)]:
                raise sqlite3.OperationalError("database is locked")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise explain_error(error, str(path)) or error from error
            raise StoreError(
                f"The database {path} is in use.", fix="Stop every server and command that works on it, and try again."
            ) from None
        except sqlite3.DatabaseError:
            for beside in database_files(path)[1:]:
                if beside.exists():
                    beside.rename(beside.with_name(f"{beside.name}.damaged-{secrets.token_hex(2)}"))
        yield
