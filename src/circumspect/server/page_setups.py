"""Pages: a tenant's id -> its `TurnSetup` for acting on web pages, made from its own and kept as long as that is
current.

The models and the search that a tenant's `browser` section names are opened when the first page comes; without such a
section the tenant's own model thinks and its own documents are searched.
"""

from __future__ import annotations

import asyncio
import os
import weakref
from dataclasses import replace

from circumspect.knowledge.search import Library
from circumspect.ports import Model
from circumspect.server.config import Settings
from circumspect.server.directory import Directory
from circumspect.server.tenants.tenant_file import BrowserSection
from circumspect.setup import TurnSetup
from circumspect.values import TenantId
from circumspect.web.browsing.interaction import setup_for_pages
from circumspect.web.model_pair import ModelPair
from circumspect.web.reasoning.reasoned import Reasoning
from circumspect.web.search.opening import open_search
from circumspect.web.search.scoped_search import Scoped
from circumspect.web.search.search_cache import SearchCache


class Pages:
    def __init__(self, directory: Directory, library: Library, settings: Settings) -> None:
        self._directory, self._library, self._settings = directory, library, settings
        # Of the tenant's own setup only a trace is kept: what belongs to it is closed when nobody holds it any more.
        self._kept: dict[TenantId, tuple[weakref.ref[TurnSetup], TurnSetup]] = {}

    async def setup(self, tenant: TenantId) -> TurnSetup:
        """Raises as `Directory.setup` does, and `ConfigError` for a search or model that cannot be had."""
        base = await self._directory.setup(tenant)
        kept = self._kept.get(tenant)
        if kept is None or kept[0]() is not base:
            section = (await self._directory.settings(tenant)).browser or BrowserSection()
            kept = self._kept[tenant] = (weakref.ref(base), await self._build_setup(base, section))
        return kept[1]

    async def _build_setup(self, base: TurnSetup, section: BrowserSection) -> TurnSetup:
        searching = await asyncio.to_thread(self._search, base.tenant.id, section.search or self._settings.search)
        models = await self._models(base, section)
        reasoning = Reasoning(searches=section.searches, widening=section.widening)
        made = setup_for_pages(base, models=models, search=searching, reasoning=reasoning)
        return made if made.searches else replace(made, searches=(self._library,))

    def _search(self, tenant: TenantId, name: str) -> Scoped | None:
        if name == "none":
            return None
        given = self._settings.search_key
        key = given.get_secret_value() if given else os.environ.get("TAVILY_API_KEY")
        opened = open_search(name, key=key, library=self._library, tenant=tenant, allow=self._settings.allow_addresses)
        # One a tenant: a hit must not tell one tenant what another searched for.
        return Scoped(opened, SearchCache())

    async def _models(self, base: TurnSetup, section: BrowserSection) -> ModelPair:
        settings = self._settings
        smart = await self._open_model(section.smart or settings.smart_model) or base.ports.model
        fallback = await self._open_model(section.smart_fallback or settings.smart_model_fallback)
        return ModelPair(
            smart,
            await self._open_model(section.fast or settings.fast_model) or smart,
            fallback,
            settings.smart_model_temperature if section.smart_temperature is None else section.smart_temperature,
            settings.fast_model_temperature if section.fast_temperature is None else section.fast_temperature,
        )

    async def _open_model(self, name: str | None) -> Model | None:
        return await self._directory.model(name) if name else None
