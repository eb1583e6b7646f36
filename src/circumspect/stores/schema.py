"""Which version of the schema a database has, and how it gets to ours.

A revision is a module of `migrations/versions` whose name begins with its number and whose `upgrade` is given a
connection. An upgrade is one transaction under a lock on both databases: two workers that start at once upgrade once,
and a worker that is killed halfway leaves the old schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import sqlalchemy as sa

import circumspect.stores.day_tables
import circumspect.stores.experiment_tables
import circumspect.stores.knowledge_tables
import circumspect.stores.log_tables
import circumspect.stores.mcp_tables
import circumspect.stores.review_tables
import circumspect.stores.search_tables
import circumspect.stores.second_factor_tables
import circumspect.stores.work_tables  # noqa: F401  puts its tables on the metadata
from circumspect.errors import StoreError
from circumspect.stores.bounds import connect_patiently
from circumspect.stores.engine import Database, explain_error

FIRST, HEAD = "0006", "0006"
"""The revision that makes the whole schema, and the newest. Numbers below `FIRST` were steps towards it."""
_REVISIONS = Path(__file__).parent / "migrations" / "versions"
_LOCK = 0x63697263  # any number, as long as everyone who upgrades uses the same
VERSION = sa.Table("alembic_version", sa.MetaData(), sa.Column("version_num", sa.String(32), primary_key=True))
"""It is called and built as Alembic does, so that whoever runs that beside us finds its own."""


def is_usable(version: str | None) -> bool:
    """Ours, or a newer one that only adds to it: revisions with the same first digit do, so that workers of the version
    before go on while the next ones are started. One that takes away or changes what is there begins a new thousand."""
    return version is not None and version >= HEAD and version[0] == HEAD[0]


def prepare(database: Database, migrate: bool, restored: bool = False) -> None:
    """The database has our schema when this returns, and its files are private. One that lost what was written to it
    last is refused, unless it counts as restored from a backup."""
    if database.files:
        database.files.open(restored)
    if migrate:
        database.close_files_to_others()
    try:
        with connect_patiently(database.engine) as connection:
            _prepare(connection, database.name, migrate)
    except Exception as error:
        if ours := explain_error(error, database.name):
            raise ours from error
        raise


def _prepare(connection: sa.Connection, name: str, migrate: bool) -> None:
    with _begin_reading(connection):
        version = read_version(connection)
    if is_usable(version):
        return
    # Revisions are numbered in order, all with four digits.
    if version is not None and version > HEAD:
        raise StoreError(
            f"The database {name} was made by a newer version of Circumspect (schema {version}).",
            fix="Upgrade Circumspect, or use another database.",
        )
    if version is not None and version < FIRST:
        raise StoreError(
            f"The database {name} was made before the first release (schema {version}).",
            fix="Use another database: nothing upgrades this one.",
        )
    if not migrate:
        raise StoreError(f"The database {name} has an older schema, or none yet.", fix="Run `circumspect db upgrade`.")
    _upgrade(connection)


@contextmanager
def _begin_reading(connection: sa.Connection) -> Iterator[None]:
    """Whoever writes to a file of SQLite, and for how long, does not keep others from reading it."""
    driver: Any = connection.connection.driver_connection
    if connection.dialect.name == "sqlite":
        driver.execute("BEGIN")
    with connection.begin():
        yield


def read_version(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(sa.select(VERSION.c.version_num)).scalar()


def list_revisions() -> tuple[str, ...]:
    """The names of all revisions, oldest first."""
    return tuple(sorted(file.stem for file in _REVISIONS.glob("[0-9][0-9][0-9][0-9]_*.py")))


@contextmanager
def without_foreign_keys(connection: sa.Connection) -> Iterator[None]:
    """SQLite changes a table by copying it and dropping the old one, which foreign keys would take for a deletion.
    The switch does nothing inside a transaction, so it is thrown around it."""
    driver: Any = connection.connection.driver_connection
    sqlite = connection.dialect.name == "sqlite"
    if sqlite:
        driver.execute("PRAGMA foreign_keys = OFF")
    try:
        yield
    finally:
        if sqlite:
            driver.execute("PRAGMA foreign_keys = ON")


def import_revision(name: str) -> Any:
    return import_module(f"circumspect.stores.migrations.versions.{name}")


def lock_history(connection: sa.Connection) -> None:
    """One at a time; SQLite's transaction sees to that by itself."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})


def _upgrade(connection: sa.Connection) -> None:
    with without_foreign_keys(connection), connection.begin():
        lock_history(connection)
        version = read_version(connection)
        # Nothing is left to do when another worker held the lock before us.
        later = [name for name in list_revisions() if version is None or name[:4] > version]
        for name in later:
            import_revision(name).upgrade(connection)
        if later:
            VERSION.create(connection, checkfirst=True)
            connection.execute(sa.delete(VERSION))
            connection.execute(sa.insert(VERSION), {"version_num": later[-1][:4]})
