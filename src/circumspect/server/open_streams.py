"""How many streams of events one tenant or operator holds open at a worker.

A stream costs next to nothing to hold and a connection, a task and looks at the database to keep: a few thousand leave
everybody else without. The answers of turns are not counted, since a turn ends by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from circumspect.errors import CircumspectError

MOST_STREAMS = 100


class TooManyStreams(CircumspectError):
    code = "too_many_streams"
    status = 429
    headers: Mapping[str, str] = {"Retry-After": "5"}


class OpenStreams:
    """One for each worker."""

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()

    def take(self, whose: str) -> None:
        if self._held[whose] >= MOST_STREAMS:
            raise TooManyStreams(
                f"{MOST_STREAMS} streams of yours are open already, and that is the limit.",
                fix="Close those that nobody reads, or ask now and then instead.",
            )
        self._held[whose] += 1

    def free(self, whose: str) -> None:
        self._held[whose] -= 1
        if not self._held[whose]:
            del self._held[whose]
