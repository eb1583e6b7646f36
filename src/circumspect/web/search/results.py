"""The words of web search: what is found, what a search limited to a page's domain found, and the port of a provider.

Everything in a result was written by strangers: it is data, bounded and cleaned, and it gives no orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from circumspect.errors import CircumspectError


class SearchError(CircumspectError):
    """The search could not be made. Never holds the query, a key, or the words of the server that failed."""

    code = "search"


@dataclass(frozen=True, slots=True)
class WebResult:
    """One page. `text` is what the provider took from it, on one line; `score` is between 0 and 1."""

    title: str
    url: str
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Hits:
    """What a scoped search found, the page's own domain first."""

    results: tuple[WebResult, ...]
    domain: str | None
    """The registrable domain it was first limited to; None where there was no such limit."""
    widened: bool
    """Whether the limit was given up because it left too few results."""
    cached: bool
    query: str
    """As it was sent."""


class WebSearch(Protocol):
    """A provider of results. Asked from any event loop, by several turns at once."""

    @property
    def name(self) -> str:
        """Two searches of one name answer alike: results kept for one serve the other."""
        ...

    @property
    def remote(self) -> bool:
        """Whether a query leaves the house. Only then is it limited to a domain, and its results kept."""
        ...

    async def find(self, query: str, *, domain: str | None = None, limit: int = 5) -> Sequence[WebResult]:
        """The best first; none where nothing was found. With a domain, only pages of it. Raises `SearchError`."""
        ...
