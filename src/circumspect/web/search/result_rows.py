"""reading: the rows of a provider's answer -> results, or `None` for a row that is no page.

A provider's promises are not relied on: pages of another domain than the one asked for, the same page twice, addresses
that are no web pages and texts without end are left out here, whoever sent them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import urlsplit

from circumspect.knowledge.parsed import clean
from circumspect.web.search.domains import belongs_to, host_of
from circumspect.web.search.results import WebResult

LONGEST_TITLE = 200
LONGEST_TEXT = 2_000
LONGEST_URL = 2_000


def result_of(row: object, score: float) -> WebResult | None:
    """A row with `title`, `url` and `content`, as Tavily and SearXNG both call them."""
    if not isinstance(row, Mapping):
        return None
    url = row.get("url")
    # An address is never shortened: it would lead elsewhere.
    if not isinstance(url, str) or len(url) > LONGEST_URL or clean(url) != url or host_of(url) is None:
        return None
    text = line(row.get("content"), LONGEST_TEXT)
    title = line(row.get("title"), LONGEST_TITLE) or url[:LONGEST_TITLE]
    return WebResult(title, url, text, fraction(score))


def pick_results(found: Iterable[WebResult | None], domain: str | None, limit: int) -> tuple[WebResult, ...]:
    """The first `limit` of those that may be shown, each page once."""
    of_domain = (one for one in found if one and (domain is None or belongs_to(one.url, domain)))
    return tuple(unique(of_domain))[:limit]


def unique(results: Iterable[WebResult]) -> Iterator[WebResult]:
    seen: set[str] = set()
    for one in results:
        if (page := _page(one.url)) not in seen:
            seen.add(page)
            yield one


def line(value: object, most: int) -> str:
    """On one line, so that nothing in it can look like the end of what surrounds it."""
    # Cut before and after: cleaning takes time by length, and joins what was apart.
    text = " ".join(clean(value[: most * 4]).split()) if isinstance(value, str) else ""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def fraction(value: float) -> float:
    return min(1.0, max(0.0, value))


def _page(url: str) -> str:
    """One spelling for the addresses of one page: neither scheme nor fragment nor last slash makes another."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port not in (None, 80, 443) else ""
    query = f"?{parts.query}" if parts.query else ""
    return f"{host_of(url) or parts.netloc}{port}{parts.path.rstrip('/')}{query}" if parts.netloc else url
