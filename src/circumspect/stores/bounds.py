"""How long a database may keep a transaction waiting: for a lock so long as the server's `lock_seconds` say, and for a
statement `SECONDS`, or as long as for a lock where that is more.

Whoever waits is a user in the middle of a conversation, and behind them everybody who needs a connection; an error that
says "send it again" is worth more to them than an answer after minutes. PostgreSQL ends such a wait and such a
statement itself; a database URL that names `lock_timeout` or `statement_timeout` in its `options` has its own way.
SQLite ends its wait for the lock, and asks us now and then whether a statement may go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

SECONDS = 10.0
LOCK_SECONDS = 10.0
PATIENT_SECONDS = 3600.0
_PATIENT = "patient"
_STEPS = 100_000
"""Of SQLite's machine, between two questions whether it may go on: about a millisecond."""


def bound_sqlite(engine: sa.Engine, lock_seconds: float = LOCK_SECONDS) -> Callable[[], None]:
    """What starts the time of a transaction which SQLAlchemy does not begin. Those are never patient."""
    end = float("inf")

    def start(connection: sa.Connection, *_: object) -> None:
        nonlocal end
        end = float("inf") if _is_patient(connection) else time.monotonic() + SECONDS

    def start_ours() -> None:
        nonlocal end
        end = time.monotonic() + SECONDS

    def bound(connection: Any, _record: object) -> None:
        wait_for_lock(connection, lock_seconds)
        connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)

    sa.event.listen(engine, "connect", bound)
    sa.event.listen(engine, "begin", start)
    sa.event.listen(engine, "before_cursor_execute", start)
    return start_ours


def wait_for_lock(connection: Any, seconds: float) -> None:
    """On a connection of SQLite's driver."""
    connection.execute(f"PRAGMA busy_timeout = {seconds * 1000:.0f}").fetchall()


def bound_postgres(engine: sa.Engine, lock_seconds: float) -> None:
    options = str(engine.url.query.get("options", ""))
    # Waiting for a lock is part of a statement's time.
    wanted = {"lock_timeout": lock_seconds, "statement_timeout": max(SECONDS, lock_seconds)}
    ours = {name: seconds for name, seconds in wanted.items() if name not in options}

    def bound(connection: Any, _record: object) -> None:
        for name, seconds in ours.items():
            connection.execute(f"SET {name} = {max(1, round(seconds * 1000))}")  # 0 would be for ever
        if "jit" not in options:
            # Machine code for a statement takes longer than any of ours, which look at few rows of many.
            connection.execute("SET jit = off")
        connection.commit()

    def begin(connection: sa.Connection) -> None:
        if _is_patient(connection):
            for name in wanted:
                connection.exec_driver_sql(f"SET LOCAL {name} = 0")

    sa.event.listen(engine, "connect", bound)
    sa.event.listen(engine, "begin", begin)


@contextmanager
def connect_patiently(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A connection for what takes as long as it takes: an upgrade, or waiting for another process to finish it."""
    with engine.connect() as connection:
        connection.execution_options(**{_PATIENT: True})
        driver: Any = connection.connection.driver_connection
        sqlite = connection.dialect.name == "sqlite"
        if sqlite:
            ((before,),) = driver.execute("PRAGMA busy_timeout").fetchall()
            wait_for_lock(driver, PATIENT_SECONDS)
        try:
            yield connection
        finally:
            if sqlite:  # the same connection goes on to serve
                wait_for_lock(driver, before / 1000)


def _is_patient(connection: sa.Connection) -> bool:
    return bool(connection.get_execution_options().get(_PATIENT))
