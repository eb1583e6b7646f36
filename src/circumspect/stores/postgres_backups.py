"""A PostgreSQL database to a file and back, by PostgreSQL's own `pg_dump` and `pg_restore`.

Rows are counted in the very snapshot that is dumped. A password goes by the environment, never by the command line,
which every user of the machine can read.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import sqlalchemy as sa

from circumspect.errors import ConfigError, StoreError
from circumspect.stores.engine import Database, connect, explain_error

_VARIABLES = {
    "host": "PGHOST", "port": "PGPORT", "sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT", "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY", "connect_timeout": "PGCONNECT_TIMEOUT", "passfile": "PGPASSFILE", "password": "PGPASSWORD",
    "user": "PGUSER",
}  # fmt: skip


def dump_database(url: str, target: Path) -> tuple[dict[str, int], str]:
    """How many rows each table has in the dump, and the schema's revision."""
    database = connect(url)
    try:
        with database.engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
            connection.execute(sa.text("SET statement_timeout = 0"))
            snapshot = connection.execute(sa.text("SELECT pg_export_snapshot()")).scalar_one()
            rows = count_rows(connection)
            if "alembic_version" not in rows:
                raise StoreError(f"{database.name} is not a database of Circumspect.", fix="Name another.")
            schema = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar_one()
            _run(database, "pg_dump", "--format=custom", f"--snapshot={snapshot}", f"--file={target}", *_PLAIN)
    except sa.exc.SQLAlchemyError as error:
        raise explain_error(error, database.name) or error from error
    finally:
        database.close()
    target.chmod(0o600)
    return rows, str(schema)


def load_dump(url: str, source: Path) -> dict[str, int]:
    """The database as it was dumped, in one transaction, into one that is empty; how many rows each table has."""
    database = connect(url)
    try:
        with database.engine.connect() as connection:
            if count_rows(connection):
                raise StoreError(
                    f"The database {database.name} is not empty, and a server may be using it.",
                    fix="Restore into a new database: `createdb NAME`.",
                )
        name = f"--dbname={database.engine.url.database or ''}"
        _run(database, "pg_restore", "--single-transaction", "--exit-on-error", name, *_PLAIN, str(source))
        with database.engine.connect() as connection:
            connection.execute(sa.text("SET statement_timeout = 0"))
            return count_rows(connection)
    except sa.exc.SQLAlchemyError as error:
        raise explain_error(error, database.name) or error from error
    finally:
        database.close()


_PLAIN = ("--no-owner", "--no-privileges")


def count_rows(connection: sa.Connection) -> dict[str, int]:
    names = sa.inspect(connection).get_table_names()
    return {
        name: connection.execute(sa.select(sa.func.count()).select_from(sa.table(name))).scalar_one() for name in names
    }


def _run(database: Database, program: str, *options: str) -> None:
    found = shutil.which(program)
    if found is None:
        raise ConfigError(
            f"{program} is not installed here.", fix="Install PostgreSQL's client programs, of the server's version."
        )
    ended = subprocess.run([found, *options], env=_surroundings(database.engine.url), capture_output=True, text=True)  # noqa: S603
    if ended.returncode:
        said = (ended.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise StoreError(f"{program} failed: {said}.", fix="See that its version is the server's, and try again.")


def _surroundings(url: sa.URL) -> dict[str, str]:
    given = {"host": url.host, "port": url.port, "user": url.username, "password": url.password, **url.query}
    known = {_VARIABLES[name]: str(value) for name, value in given.items() if name in _VARIABLES and value is not None}
    return {**os.environ, **known, "PGDATABASE": url.database or ""}
