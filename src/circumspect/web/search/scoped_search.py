"""Scoped: a query and the page it is about -> Hits, the page's own domain first.

Fewer than three results of the domain widen the search to the whole web, where that is allowed, and it is recorded. On
a page that only this house knows (localhost, a private address, `crm.internal`) the whole web is asked at once, and
neither the filter nor the query names the host: a search provider learns nothing about what is inside. Where widening
is not allowed, such a page has nothing to search.

Results are kept only when `remember` says that they were judged good. The tenant's own documents are neither limited to
a domain nor kept: they have no domain, and asking them costs nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from circumspect.web.search.domains import registrable_domain
from circumspect.web.search.queries import tidy, without_internal
from circumspect.web.search.result_rows import pick_results
from circumspect.web.search.results import Hits, SearchError, WebResult, WebSearch
from circumspect.web.search.search_cache import SearchCache, key_of

log = logging.getLogger(__name__)

ENOUGH = 3


class Scoped:
    def __init__(self, search: WebSearch, cache: SearchCache | None = None, *, limit: int = 5) -> None:
        self._search = search
        self._cache = cache
        self._limit = max(1, limit)

    @property
    def remote(self) -> bool:
        return self._search.remote

    async def find(self, query: str, page_url: str = "", allow_widening: bool = True) -> Hits:
        """Raises `SearchError`, unless there is something to show all the same."""
        if not self._search.remote:
            query = tidy(query)
            return self._hits(query, None, await self._find(query, None))
        domain = registrable_domain(page_url)
        query = without_internal(query, page_url)
        if not query or (domain is None and not allow_widening):
            return self._hits(query, domain, ())
        kept = self._cache.get(key_of(self._search.name, query, domain)) if self._cache is not None else None
        if kept is not None and (allow_widening or not kept.widened):
            return kept
        found = await self._find(query, domain)
        if domain is None or not allow_widening or len(found) >= min(ENOUGH, self._limit):
            return self._hits(query, domain, found)
        return await self._widen(query, domain, found)

    def remember(self, hits: Hits, confidence: float) -> None:
        """How sure the judgement was that these results answer: below .6 they are not kept for the next who asks."""
        if self._cache is not None and self._search.remote:
            self._cache.keep(key_of(self._search.name, hits.query, hits.domain), hits, confidence)

    async def _widen(self, query: str, domain: str, found: tuple[WebResult, ...]) -> Hits:
        try:
            wider = await self._find(query, None)
        except SearchError as error:
            if not found:
                raise
            log.warning("the wider search failed (%s); what the domain has is all", error.code)
            return self._hits(query, domain, found)
        return self._hits(query, domain, pick_results((*found, *wider), None, self._limit), widened=True)

    async def _find(self, query: str, domain: str | None) -> tuple[WebResult, ...]:
        return pick_results(await self._search.find(query, domain=domain, limit=self._limit), domain, self._limit)

    def _hits(self, query: str, domain: str | None, results: Iterable[WebResult], *, widened: bool = False) -> Hits:
        return Hits(tuple(results), domain, widened, False, query)
