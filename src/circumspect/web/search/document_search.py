"""documents: a query -> passages of the tenant's own documents, as results. Nothing leaves the house.

The offline default. Documents have no domain, so the limit to one does not apply to them. Their addresses read
`document:guide.md#2`: the document's name and the section.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from urllib.parse import quote

from circumspect.errors import StoreError
from circumspect.web.search.queries import tidy
from circumspect.web.search.result_rows import LONGEST_TEXT, LONGEST_TITLE, fraction, line
from circumspect.web.search.results import SearchError, WebResult


class SearchablePassage(Protocol):
    @property
    def document(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def section(self) -> str: ...
    @property
    def path(self) -> tuple[str, ...]: ...
    @property
    def text(self) -> str: ...
    @property
    def score(self) -> float: ...


class Passages(Protocol):
    """What is asked of an index: `knowledge.search.Library` and `knowledge.business_texts.BusinessTexts` have it."""

    async def search(self, tenant: str, query: str, limit: int = 5) -> Sequence[SearchablePassage]: ...


class Documents:
    """Keeps the promises of `WebSearch`."""

    remote = False

    def __init__(self, library: Passages, tenant: str) -> None:
        self.name = f"documents:{tenant}"
        self._library = library
        self._tenant = tenant

    def __repr__(self) -> str:
        return "<search in documents>"

    async def find(self, query: str, *, domain: str | None = None, limit: int = 5) -> Sequence[WebResult]:
        query = tidy(query)
        if not query or limit < 1:
            return ()
        try:
            found = await self._library.search(self._tenant, query, limit)
        except StoreError as error:
            raise SearchError("The documents could not be searched.", fix=error.fix) from error
        return tuple(_result(one) for one in found)


def _result(passage: SearchablePassage) -> WebResult:
    title = " › ".join(dict.fromkeys((passage.title, *passage.path)))
    address = f"document:{quote(passage.document)}" + (f"#{quote(passage.section)}" if passage.section else "")
    return WebResult(line(title, LONGEST_TITLE), address, line(passage.text, LONGEST_TEXT), fraction(passage.score))


class Nothing:
    """Search is switched off. Finds nothing, asks nobody."""

    name = "none"
    remote = False

    async def find(self, query: str, *, domain: str | None = None, limit: int = 5) -> Sequence[WebResult]:
        return ()
