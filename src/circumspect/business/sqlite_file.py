"""A SQLite file of ours: made once with its tables, then opened for one transaction at a time.

Waiting writers queue up; a transaction that fails is rolled back, so its failure is a plain refusal.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from circumspect.errors import ConfigError, ToolError
from circumspect.private_files import make_database_file, make_folder

_PATIENCE = 8.0


def prepare(path: Path, schema: str) -> None:
    """Make the file and its tables if they are not there."""
    try:
        make_folder(path.parent)
        make_database_file(path)
        with closing(sqlite3.connect(path, timeout=_PATIENCE)) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript(schema)
    except (OSError, sqlite3.Error) as error:
        problem = f"{path} cannot be used as a database ({type(error).__name__})."
        raise ConfigError(problem, fix="Give a folder that can be written to.") from None


@contextmanager
def open_transaction(path: Path, *, write: bool = False) -> Iterator[sqlite3.Connection]:
    """A connection for one transaction; it is rolled back when anything is raised."""
    database: sqlite3.Connection | None = None
    try:
        database = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
        database.execute("PRAGMA synchronous = FULL")
        database.execute("BEGIN IMMEDIATE" if write else "BEGIN")
        yield database
        database.execute("COMMIT")
    except sqlite3.Error as error:
        raise ToolError(f"{path.name} could not be used ({type(error).__name__}); nothing was changed.") from None
    finally:
        if database is not None:
            database.close()
