"""Sweeper: calls that were started and never finished -> settled, each with its own tenant's tools.

Tenants are swept side by side: a round begins a sweep for every tenant that has none under way, and waits for none of
them. A tenant whose tools hang keeps its own calls waiting.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Self

from circumspect.errors import CircumspectError
from circumspect.server.services import Services
from circumspect.steps.sweep import sweep
from circumspect.stores import ledger
from circumspect.values import TenantId

log = logging.getLogger(__name__)

TENANTS_AT_ONCE = 32
"""After an outage everybody's calls are due at once."""


class Sweeper:
    """`async with`: what is under way at the end is broken off, and its lease runs out."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._under_way: dict[TenantId, asyncio.Task[int]] = {}
        self._places = asyncio.Semaphore(TENANTS_AT_ONCE)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        rest = list(self._under_way.values())
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    async def start_due(self) -> list[asyncio.Task[int]]:
        """The sweeps that were begun; each ends with the number of calls that it settled."""
        due = await self._services.store.tx(ledger.tenants_with_expired)
        begun = {one: asyncio.create_task(self._sweep_tenant(one)) for one in due if one not in self._under_way}
        self._under_way |= begun
        return list(begun.values())

    async def _sweep_tenant(self, tenant: TenantId) -> int:
        settled = 0
        try:
            setup = await self._services.directory.setup(tenant)
            ports, within = setup.ports, setup.repeat_within
            while True:
                async with self._places:
                    ended = await sweep(tenant, ports.tools, ports.store, ports.clock, ports.ids, repeat_within=within)
                if not ended:
                    break
                settled += len(ended)
        except CircumspectError as problem:
            log.warning("calls cannot be settled", extra={"tenant": tenant, "problem": problem.code})
        except Exception:
            log.exception("calls cannot be settled", extra={"tenant": tenant})
        finally:
            del self._under_way[tenant]
        if settled:
            log.warning("calls of dead workers settled", extra={"tenant": tenant, "problem": str(settled)})
        return settled
