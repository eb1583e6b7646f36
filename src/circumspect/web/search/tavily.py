"""tavily: a query -> results from Tavily's API (`POST /search`), the domain as `include_domains`.

A basic search, which costs one credit; no answer written by a model and no whole pages are asked for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from circumspect.errors import ConfigError
from circumspect.web.search.http_search import SearchServer, make_unreadable_error
from circumspect.web.search.queries import tidy
from circumspect.web.search.result_rows import number, pick_results, result_of
from circumspect.web.search.results import WebResult

BASE_URL = "https://api.tavily.com"
_MOST = 20
_KEY = "Set TAVILY_API_KEY to a key of app.tavily.com, or use the search 'documents'."
_PLAN = "Raise the limit at app.tavily.com, or use another search provider."

_REFUSALS = {
    400: ("it does not accept the query.", "Ask a shorter question."),
    401: ("the API key is missing or not valid.", _KEY),
    403: ("the API key may not search.", _KEY),
    422: ("it does not accept the query.", "Ask a shorter question."),
    432: ("the plan's or the key's limit is used up.", _PLAN),
    433: ("the pay-as-you-go limit is used up.", _PLAN),
}


class Tavily:
    """Keeps the promises of `WebSearch`."""

    remote = True

    def __init__(
        self,
        key: str,
        *,
        base_url: str = BASE_URL,
        allow: Iterable[str] = (),
        seconds: float = 10.0,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        base_url = base_url.rstrip("/")
        self.name = "tavily" if base_url == BASE_URL else f"tavily:{base_url}"
        self._server = SearchServer(
            "Tavily",
            f"{base_url}/search",
            refusals=_REFUSALS,
            secrets={"authorization": f"Bearer {_usable(key)}"},
            allow=allow,
            seconds=seconds,
            sleep=sleep,
            now=now,
        )
        _check_private(base_url)

    def __repr__(self) -> str:
        return "<search by Tavily>"

    async def find(self, query: str, *, domain: str | None = None, limit: int = 5) -> Sequence[WebResult]:
        query = tidy(query)
        if not query or limit < 1:
            return ()
        body: dict[str, object] = {
            "query": query,
            "topic": "general",
            "search_depth": "basic",
            "max_results": min(limit, _MOST),
            "include_answer": False,
            "include_raw_content": False,
            "include_images": False,
        }
        if domain is not None:
            body["include_domains"] = [domain]
        answer = await self._server.ask("POST", body=body)
        rows = answer.get("results")
        if not isinstance(rows, list):
            raise make_unreadable_error("Tavily", "it has no list of results")
        found = (result_of(row, number(row.get("score")) or 0.0) for row in rows if isinstance(row, dict))
        return pick_results(found, domain, limit)


def _usable(key: str) -> str:
    key = key.strip()
    if not key:
        raise ConfigError("There is no API key for Tavily.", fix=_KEY)
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError("The API key for Tavily has characters that no key has.", fix=_KEY)
    return key


def _check_private(base_url: str) -> None:
    parts = urlsplit(base_url)
    if parts.scheme == "https" or parts.hostname == "localhost":
        return
    try:
        loopback = ip_address(parts.hostname or "").is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise ConfigError("The API key for Tavily would be sent unencrypted.", fix="Give an address with https://.")
