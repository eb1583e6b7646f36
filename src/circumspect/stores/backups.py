"""A running database to a verified backup, and a backup to a database that is ready to be used."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version as installed_version
from pathlib import Path

from circumspect.errors import ConfigError, StoreError
from circumspect.stores import postgres_backups, sqlite_backups
from circumspect.stores.backup_folders import (
    BackupManifest,
    Progress,
    check_copy,
    compare_rows,
    copy_whole,
    new_folder,
    read_manifest,
    write_manifest,
)
from circumspect.stores.engine import parse_url
from circumspect.stores.restored import HeldAfterRestore

SQLITE_FILE, DUMP_FILE = "circumspect.db", "circumspect.dump"
ROOM = 1.1


@dataclass(frozen=True, slots=True)
class DatabaseRestored:
    manifest: BackupManifest
    held: HeldAfterRestore
    kept: Path | None
    """Where the database that was replaced is kept."""


def make_backup(database: str, target: Path, at: datetime, progress: Progress) -> BackupManifest:
    """Others may use the database all the while; the backup is of the moment at which it began."""
    path = find_sqlite_file(database)
    with new_folder(target) as folder:
        if path is None:
            rows, schema = postgres_backups.dump_database(database, folder / DUMP_FILE)
            return write_manifest(folder, "postgresql", DUMP_FILE, rows, schema, installed_version("circumspect"), at)
        _require_room(folder, path.stat().st_size if path.is_file() else 0)
        rows, schema = sqlite_backups.copy_database(path, folder / SQLITE_FILE, progress)
        return write_manifest(folder, "sqlite", SQLITE_FILE, rows, schema, installed_version("circumspect"), at)


def check_backup(folder: Path, progress: Progress) -> BackupManifest:
    """What is in it, once it is known to be whole."""
    manifest = read_manifest(folder)
    check_copy(folder, manifest, progress)
    if manifest.kind == "sqlite":
        compare_rows(manifest.rows, sqlite_backups.inspect(folder / manifest.file), str(folder))
    return manifest


async def restore_backup(
    folder: Path,
    database: str,
    hold: Callable[[str], Awaitable[HeldAfterRestore]],
    *,
    replace: bool,
    progress: Progress,
) -> DatabaseRestored:
    """`hold` is called with the new database before anybody else can see it (SQLite) or use it: what it left open waits
    for a person."""
    manifest, path = check_backup(folder, lambda *_: None), find_sqlite_file(database)
    if (manifest.kind == "sqlite") is (path is None):
        fix = "Restore an SQLite backup into an SQLite file, and one of PostgreSQL into PostgreSQL."
        raise StoreError(f"{folder} is a backup of {manifest.kind}, and the database is another kind.", fix=fix)
    if path is None:
        if replace:
            raise ConfigError("A PostgreSQL database is not replaced.", fix="Restore into a new one: `createdb NAME`.")
        rows = postgres_backups.load_dump(database, folder / manifest.file)
        compare_rows(manifest.rows, rows, "The restored database")
        return DatabaseRestored(manifest, await hold(database), None)
    sqlite_backups.require_place(path, replace)
    if path.exists():
        # Before the work, so that nobody waits for a refusal; it is asked once more at the end.
        with sqlite_backups.alone_with(path):
            pass
    with sqlite_backups.file_aside(path) as aside:
        _require_room(path.parent, manifest.bytes)
        copy_whole(folder / manifest.file, aside, manifest, progress)
        held = await hold(str(aside))
        kept = sqlite_backups.put_in_place(aside, path, replace)
    return DatabaseRestored(manifest, held, kept)


def find_sqlite_file(database: str) -> Path | None:
    """None for PostgreSQL."""
    url = parse_url(database)
    if url.get_backend_name() != "sqlite":
        return None
    path = url.database or ":memory:"
    if path == ":memory:" or path.startswith("file:"):
        raise ConfigError("This database is no file that can be copied.", fix="Name one as sqlite:///path/to/file.db.")
    return Path(path)


def _require_room(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < size * ROOM:
        raise StoreError(
            f"{folder.parent} has {free // 1_000_000} MB left, and {int(size * ROOM) // 1_000_000} are needed.",
            fix="Free some space, or name another folder.",
        )
