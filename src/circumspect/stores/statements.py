"""SQL that both databases understand word for word, handed to the driver inside the store's transaction.

SQLAlchemy connects, pools and migrates; on the path of a turn its own way of running a statement
costs more than the database does, so here the text goes to sqlite3 or psycopg as it is. Values of JSON columns are
given, and asked for, as text; `Rows` reads them.
"""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import sqlalchemy as sa

from circumspect.stores.codec import loads

SqlValue = str | float | bool | None
SqlValues = Mapping[str, SqlValue]
F = TypeVar("F", bound=Callable[..., object])

_SYNCED_LATER: set[Callable[..., object]] = set()


def synced_later(body: F) -> F:
    """A transaction for which SQLite does not wait for the disk. All others see at once what it wrote, and it outlives
    the process; a power cut may undo it until the next transaction that waits, which brings it along."""
    _SYNCED_LATER.add(body)
    return body


def is_synced_later(body: Callable[..., object]) -> bool:
    return body in _SYNCED_LATER


@dataclass(frozen=True, slots=True)
class Sql:
    """A statement with `:named` parameters, as each driver wants it written."""

    sqlite: str
    postgresql: str


def sql(text: str) -> Sql:
    return Sql(text, re.sub(r":(\w+)", r"%(\1)s", text.replace("%", "%%")))


def run(connection: sa.Connection, statement: Sql, values: SqlValues | Sequence[SqlValue]) -> Any:
    """The driver's cursor, which is the same for our purposes: `rowcount`, `fetchone()`, `fetchall()`."""
    driver: Any = connection.connection.dbapi_connection
    return driver.execute(getattr(statement, connection.dialect.name), values)


def roll_back(connection: sa.Connection) -> None:
    """Of what the transaction wrote nothing is kept, whoever began it."""
    connection.rollback()
    driver: Any = connection.connection.driver_connection
    driver.rollback()


def has_rows(found: sa.Select[Any]) -> sa.ColumnElement[bool]:
    """Is anything found, asked of one row after the other? PostgreSQL takes a plain EXISTS for a join and, where it
    guesses wrong, reads the whole table to make a set of it; one that begins somewhere it asks as it is written."""
    return found.offset(0).exists()


class Rows:
    """Whole rows of a table, each with its columns by name: `rest` is what follows `FROM table`."""

    def __init__(self, table: sa.Table, rest: str) -> None:
        columns = list(table.columns)
        # Table and column names come from `tables`, never from a caller's data.
        asked = ", ".join(f"CAST({one.name} AS TEXT)" if _is_json(one) else one.name for one in columns)
        self._statement = sql(f"SELECT {asked} FROM {table.name} {rest}")  # noqa: S608
        self._row: Any = namedtuple(table.name, [one.name for one in columns])  # type: ignore[misc]
        self._json = [place for place, one in enumerate(columns) if _is_json(one)]
        self._truths = [place for place, one in enumerate(columns) if isinstance(one.type, sa.Boolean)]

    def read(self, connection: sa.Connection, values: SqlValues) -> list[Any]:
        return [self._make(list(row)) for row in run(connection, self._statement, values).fetchall()]

    def find(self, connection: sa.Connection, values: SqlValues) -> Any:
        """The row that there is at most one of."""
        row = run(connection, self._statement, values).fetchone()
        return None if row is None else self._make(list(row))

    def _make(self, row: list[Any]) -> Any:
        for place in self._json:
            if row[place] is not None:
                row[place] = loads(row[place])
        for place in self._truths:
            row[place] = bool(row[place])  # SQLite has only numbers
        return self._row._make(row)


def _is_json(column: sa.Column[Any]) -> bool:
    return isinstance(column.type, sa.JSON)


_AT_ONCE = 500  # rows; well below the number of parameters that either database takes in a statement


def insert(
    connection: sa.Connection,
    table: sa.Table,
    *rows: SqlValues,
    common: SqlValues | None = None,
    otherwise: str = "",
) -> None:
    """One statement for all rows, which have the same columns in the same order; each has the `common` columns as well.
    `otherwise` says what becomes of rows that are there already."""
    shared = common or {}
    for start in range(0, len(rows), _AT_ONCE):
        some = rows[start : start + _AT_ONCE]
        statement = _insert(table.name, (*shared, *some[0]), len(some), otherwise)
        first = tuple(shared.values())
        run(connection, statement, [value for row in some for value in (*first, *row.values())])


@lru_cache(maxsize=256)
def _insert(table: str, columns: Sequence[str], rows: int, otherwise: str) -> Sql:
    """Values by their place: drivers look up each one that has a name."""
    sqlite, postgresql = (", ".join([f"({', '.join([mark] * len(columns))})"] * rows) for mark in ("?", "%s"))
    # Table and column names come from `tables`, never from a caller's data.
    begin = f"INSERT INTO {table} ({', '.join(columns)}) VALUES "  # noqa: S608
    return Sql(f"{begin}{sqlite} {otherwise}", f"{begin}{postgresql} {otherwise.replace('%', '%%')}")
