"""SeenTools: what a client's request declares -> a list for somebody to review, written down when there is news.

A request that brings the same tools as the one before costs a look into this worker's memory. A store that is down
loses the note and nothing else.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime, timedelta

from circumspect.errors import StoreError
from circumspect.ports import Clock
from circumspect.server.stores.seen_tools import MOST, put_seen_tools
from circumspect.stores import SqlStore
from circumspect.values import TenantId, ToolSpec

logger = logging.getLogger("circumspect.server")

REFRESH = timedelta(hours=1)
_REMEMBERED = 10_000


class SeenTools:
    def __init__(self, store: SqlStore, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._noted: OrderedDict[tuple[TenantId, str], tuple[str, datetime]] = OrderedDict()

    async def note(self, tenant: TenantId, specs: Mapping[str, ToolSpec]) -> None:
        """Keep those that are new, that changed, or that were last written down a while ago."""
        now = self._clock.now()
        news = {name: spec for name, spec in list(specs.items())[:MOST] if self._is_news(tenant, spec, now)}
        if not news:
            return
        try:
            await self._store.tx(put_seen_tools, tenant, news, now)
        except StoreError as problem:
            logger.warning("the tools of a client were not noted: %s", problem)
            return
        for name, spec in news.items():
            self._noted[tenant, name] = (spec.version, now)
            self._noted.move_to_end((tenant, name))
        while len(self._noted) > _REMEMBERED:
            self._noted.popitem(last=False)

    def _is_news(self, tenant: TenantId, spec: ToolSpec, now: datetime) -> bool:
        version, at = self._noted.get((tenant, spec.name), ("", now))
        return version != spec.version or now - at >= REFRESH
