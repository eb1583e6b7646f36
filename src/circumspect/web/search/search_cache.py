"""SearchCache: results that were judged good, kept for a while, in memory.

What is kept is decided after the results were read: `keep` takes the confidence of that judgement, and below .6 it
forgets instead. One cache for each tenant keeps what one asks from being noticed by another.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

from cachetools import TTLCache

from circumspect.web.search.results import Hits

CONFIDENT = 0.6

SearchCacheKey = tuple[str, str, str]


def key_of(provider: str, query: str, domain: str | None) -> SearchCacheKey:
    """Neither capitals nor blanks make another query."""
    return provider, " ".join(query.casefold().split()), domain or ""


class SearchCache:
    def __init__(self, *, seconds: float = 3_600.0, most: int = 500, now: Callable[[], float] = time.monotonic) -> None:
        self._kept: TTLCache[SearchCacheKey, Hits] = TTLCache(max(1, most), max(0.0, seconds), timer=now)

    def __len__(self) -> int:
        self._kept.expire()
        return len(self._kept)

    def get(self, key: SearchCacheKey) -> Hits | None:
        hits = self._kept.get(key)
        return None if hits is None else replace(hits, cached=True)

    def keep(self, key: SearchCacheKey, hits: Hits, confidence: float) -> None:
        """What was kept before is not kept any longer for being judged again; judged badly, it goes."""
        if math.isnan(confidence) or confidence < CONFIDENT or not hits.results:
            self._kept.pop(key, None)
        elif not hits.cached:
            self._kept[key] = hits
