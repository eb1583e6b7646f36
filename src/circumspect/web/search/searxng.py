"""searxng: a query -> results from a SearXNG of your own (`GET /search?format=json`), the domain as `site:` in it.

SearXNG's score grows without end: the more engines name a page and the higher, the more. `score / (1 + score)` keeps
that order between 0 and 1: first at one engine is 0.5, first at two 0.8. Signs that SearXNG itself would obey
(`!engine`, `!!bang`, `:language`, `<timeout`) are taken off the words of a query: a bang would send it straight to
another site.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from circumspect.web.search.http_search import SearchServer, make_unreadable_error
from circumspect.web.search.queries import tidy, without_sites
from circumspect.web.search.result_rows import line, number, pick_results, result_of
from circumspect.web.search.results import SearchError, WebResult

_REFUSALS = {
    400: ("it does not accept the query.", "Ask a shorter question."),
    401: ("it asks for a password.", "Let this server in without one, by its network address."),
    403: (
        "it does not answer in JSON, or not to this server.",
        "Add 'json' to search.formats in its settings.yml and restart it.",
    ),
    429: (
        "its limiter turned the search away.",
        "Set server.limiter to false in its settings.yml, or add this server's address to pass_ip in its limiter.toml.",
    ),
}
_ORDERS = "!:<"


class SearXNG:
    """Keeps the promises of `WebSearch`."""

    remote = True

    def __init__(
        self,
        base_url: str,
        *,
        allow: Iterable[str] = (),
        seconds: float = 10.0,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        base_url = base_url.rstrip("/")
        self.name = f"searxng:{base_url}"
        self._server = SearchServer(
            "SearXNG",
            f"{base_url}/search",
            refusals=_REFUSALS,
            allow=allow,
            seconds=seconds,
            sleep=sleep,
            now=now,
        )

    def __repr__(self) -> str:
        return "<search by SearXNG>"

    async def find(self, query: str, *, domain: str | None = None, limit: int = 5) -> Sequence[WebResult]:
        query = _strip_orders(query)
        if domain is not None:
            query = without_sites(query)
        if not query or limit < 1:
            return ()
        sent = tidy(f"site:{domain} {query}" if domain is not None else query)
        answer = await self._server.ask("GET", query={"q": sent, "format": "json"})
        rows = answer.get("results")
        if not isinstance(rows, list):
            raise make_unreadable_error("SearXNG", "it has no list of results")
        if not rows and (silent := _silent(answer)):
            raise SearchError(
                f"SearXNG found nothing, and not all of its engines answered: {silent}.",
                fix="See 'unresponsive engines' in its statistics, and switch on others in its settings.yml.",
            )
        return pick_results((result_of(row, _score(row, place)) for place, row in enumerate(rows, 1)), domain, limit)


def _strip_orders(query: str) -> str:
    return tidy(" ".join(word.lstrip(_ORDERS) for word in query.split()))


def _score(row: object, place: int) -> float:
    said = number(row.get("score")) if isinstance(row, Mapping) else None
    score = max(0.0, 1 / place if said is None else said)
    return score / (1 + score)


def _silent(answer: Mapping[str, Any]) -> str:
    """The engines that did not answer and why: `[["google", "timeout"], …]`."""
    said = answer.get("unresponsive_engines")
    pairs = [one for one in said if isinstance(one, list) and one] if isinstance(said, list) else []
    return ", ".join(f"{line(one[0], 40)} ({line(one[-1], 60)})" for one in pairs[:5])
