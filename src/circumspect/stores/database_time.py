"""The time by which leases are set and run out: the database's own, because workers on several machines share nothing
else. A worker whose clock is ahead would take calls from others that are still running.

SQLite has no clock; its processes share a machine, and that has one. What a turn writes down and compares with its own
time (when it was said, until when a question waits) comes from the caller, so that a turn can be repeated.
"""

from __future__ import annotations

import time
from typing import Any

import sqlalchemy as sa


def read(connection: sa.Connection) -> float:
    """Seconds since the epoch."""
    if connection.dialect.name == "sqlite":
        return time.time()
    driver: Any = connection.connection.driver_connection
    found = driver.execute("SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS double precision)").fetchone()
    return float(found[0])
