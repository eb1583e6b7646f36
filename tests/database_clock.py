"""The database's clock in a test's hands. Leases go by it alone, on both databases."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

from circumspect.ports import Clock
from circumspect.stores import database_time


def database_follows(clock: Clock) -> AbstractContextManager[Any]:
    """The database shows the same time as this clock: one machine, and the clock is its own."""

    def read(_connection: object) -> float:
        return clock.now().timestamp()

    return mock.patch.object(database_time, "read", read)
