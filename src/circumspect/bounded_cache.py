"""What was made for somebody's input, remembered for a while: so many values, of so much weight together.

For everything whose key a stranger decides. `functools.lru_cache` counts entries only, and one entry can be as large as
a request. The least recently used goes first; safe to use from several threads.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

V = TypeVar("V")


class BoundedCache(Generic[V]):
    def __init__(self, most: int, heaviest: int) -> None:
        self.most, self.heaviest = most, heaviest
        self.weight = 0
        self._kept: OrderedDict[Hashable, tuple[V, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> V | None:
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def put(self, key: Hashable, value: V, weight: int) -> None:
        """What alone weighs more than all may together is not kept."""
        with self._lock:
            self._drop(key)
            if weight > self.heaviest:
                return
            self._kept[key] = value, weight
            self.weight += weight
            while len(self._kept) > self.most or self.weight > self.heaviest:
                self._drop(next(iter(self._kept)))

    def __len__(self) -> int:
        return len(self._kept)

    def _drop(self, key: Hashable) -> None:
        if key in self._kept:
            self.weight -= self._kept.pop(key)[1]
