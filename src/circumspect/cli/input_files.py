"""What commands share that read: a database, opened as it is, neither made nor brought up to date; a text file.

Nobody who writes to the database has to wait, however long the reading takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from circumspect.errors import ConfigError

if TYPE_CHECKING:
    import sqlalchemy as sa

T = TypeVar("T")


def read_text(path: Path) -> str:
    """The text of a file, with or without a byte order mark."""
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise ConfigError(
            f"{path} is not UTF-8 text (byte {problem.start}).",
            fix="Save it as UTF-8, or check that it is the right file.",
        ) from None


def require_database(database: str) -> None:
    """Opening an SQLite file that is not there would make it."""
    file = database.removeprefix("sqlite:///")
    if "://" not in file and not Path(file).is_file():
        raise ConfigError(f"There is no database {file}.", fix="Name the one with your conversations with --database.")


def read_from(database: str, body: Callable[[sa.Connection], T]) -> T:
    """Run it in one transaction on the database, an SQLite file or a postgresql:// URL."""
    require_database(database)
    from circumspect.lab.replay.stored_turns import open_for_reading
    from circumspect.stores.engine import explain_error
    from circumspect.stores.schema import prepare

    opened = open_for_reading(database)
    try:
        prepare(opened, migrate=False)
        with opened.engine.connect() as connection, connection.begin():
            return body(connection)
    except Exception as error:
        if ours := explain_error(error, opened.name):
            raise ours from error
        raise
    finally:
        opened.close()
