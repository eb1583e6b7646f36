"""What an overlay names, found: models by name, policies and prompts by version, out of a store.

One for each worker. Models are opened once and shared; closing lets go of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from circumspect.errors import ConfigError
from circumspect.knowledge.search import Library
from circumspect.lab.trials.variants import Understander
from circumspect.models import ProviderSettings, close_model, open_model
from circumspect.policy.load import load
from circumspect.policy.policy_file import Policy
from circumspect.ports import Model
from circumspect.prompts import Prompt
from circumspect.server.stores import policies
from circumspect.stores import SqlStore
from circumspect.stores.prompts import load_version
from circumspect.values import Business, TenantId, ToolSpec


class StoredResources:
    def __init__(
        self, store: SqlStore, library: Library | None = None, *, models: ProviderSettings | None = None
    ) -> None:
        """`models`: how they are opened, where not as by default."""
        self._store, self._library = store, library or Library(store)
        self._opening_settings = models or ProviderSettings()
        self._models: dict[str, Model] = {}
        self._opening = asyncio.Lock()

    async def model(self, name: str) -> Model:
        async with self._opening:
            if name not in self._models:
                self._models[name] = await asyncio.to_thread(open_model, name, settings=self._opening_settings)
            return self._models[name]

    async def policy(self, tenant: TenantId, version: int, specs: Mapping[str, ToolSpec]) -> Policy:
        found = await self._store.tx(policies.version, tenant, version)
        if found is None:
            raise ConfigError(
                f"'{tenant}' has no policy of version {version}.", fix="GET /v1/admin/policies lists the versions."
            )
        return await asyncio.to_thread(load, found.text, specs=specs, name=f"policy {version} of {tenant}")

    async def prompt(self, tenant: TenantId, id_: str) -> Prompt:
        return await self._store.tx(load_version, tenant, id_)

    async def understanding(self, service: bool, business: Business) -> Understander:
        from circumspect.server.tenants.understanding_section import UnderstandingSection
        from circumspect.server.tenants.understanding_settings import configure_understanding

        section = UnderstandingSection(profile="service" if service else "guided")
        made = configure_understanding(section, business, self._library)
        return Understander(made.understanding, made.guardian, made.searches)

    async def close(self) -> None:
        for model in self._models.values():
            await close_model(model)
        self._models.clear()
