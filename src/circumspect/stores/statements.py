"""SQL that both databases understand word for word, handed to the driver inside SQLAlchemy's transaction.

SQLAlchemy connects, pools, begins, commits and migrates; on the path of a turn its own way of running a statement
costs more than the database does, so here the text goes to sqlite3 or psycopg as it is. Values of JSON columns are
given, and asked for, as text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

SqlValue = str | float | bool | None
SqlValues = Mapping[str, SqlValue]


@dataclass(frozen=True, slots=True)
class Sql:
    """A statement with `:named` parameters, as each driver wants it written."""

    sqlite: str
    postgresql: str


def sql(text: str) -> Sql:
    return Sql(text, re.sub(r":(\w+)", r"%(\1)s", text.replace("%", "%%")))


def run(connection: sa.Connection, statement: Sql, values: SqlValues) -> Any:
    """The driver's cursor, which is the same for our purposes: `rowcount`, `fetchone()`, `fetchall()`."""
    driver: Any = connection.connection.driver_connection
    return driver.execute(getattr(statement, connection.dialect.name), values)


_AT_ONCE = 500  # rows; well below the number of parameters that either database takes in a statement


def insert(connection: sa.Connection, table: sa.Table, *rows: SqlValues, common: SqlValues | None = None) -> None:
    """One statement for all rows, which have the same columns in the same order; `common` columns are sent once."""
    shared = common or {}
    for start in range(0, len(rows), _AT_ONCE):
        some = rows[start : start + _AT_ONCE]
        statement, names = _insert(table.name, tuple(shared), tuple(some[0]), len(some))
        values = dict(zip(names, (value for row in some for value in row.values()), strict=True))
        run(connection, statement, {**shared, **values})


@lru_cache(maxsize=256)
def _insert(table: str, shared: Sequence[str], columns: Sequence[str], rows: int) -> tuple[Sql, tuple[str, ...]]:
    names = [[f"{column}_{number}" for column in columns] for number in range(rows)]
    values = ", ".join("(" + ", ".join(f":{name}" for name in (*shared, *row)) + ")" for row in names)
    # Table and column names come from `tables`, never from a caller's data.
    text = f"INSERT INTO {table} ({', '.join((*shared, *columns))}) VALUES {values}"  # noqa: S608
    return sql(text), tuple(name for row in names for name in row)
