"""open_search: a name from the configuration -> a search.

`documents` (the tenant's own, nothing leaves the house), `tavily`, `searxng:URL`, or `none`. `tavily:URL` asks a proxy
of yours. The key is Tavily's and goes to nobody else.
"""

from __future__ import annotations

from collections.abc import Iterable

from circumspect.errors import ConfigError
from circumspect.web.search.document_search import Documents, Nothing, Passages
from circumspect.web.search.results import WebSearch

_FORMS = "Use documents, tavily, searxng:URL (such as searxng:http://localhost:8080), or none."


def open_search(
    name: str,
    *,
    key: str | None = None,
    library: Passages | None = None,
    tenant: str = "",
    allow: Iterable[str] = (),
    seconds: float = 10.0,
) -> WebSearch:
    """`allow`: private hosts and networks that may be asked all the same. Raises `ConfigError`."""
    kind, _, url = name.strip().partition(":")
    match kind, url:
        case "none", "":
            return Nothing()
        case "documents", "":
            if library is None:
                raise ConfigError("There is no index of documents to search.", fix="Use the search 'none'.")
            return Documents(library, tenant)
        case "tavily", _:
            return _tavily(key, url, allow, seconds)
        case "searxng", "":
            raise ConfigError("The address of SearXNG is missing.", fix=_FORMS)
        case "searxng", _:
            return _searxng(url, allow, seconds)
        case _:
            # Not quoted: a key that was put into the wrong setting ends up here.
            raise ConfigError("There is no search of that name.", fix=_FORMS)


def _tavily(key: str | None, url: str, allow: Iterable[str], seconds: float) -> WebSearch:
    if not key or not key.strip():
        raise ConfigError(
            "There is no API key for Tavily.",
            fix="Set TAVILY_API_KEY (or CIRCUMSPECT_SEARCH_KEY), or use the search 'documents'.",
        )
    _prepare()
    from circumspect.web.search.tavily import BASE_URL, Tavily

    return Tavily(key, base_url=url or BASE_URL, allow=allow, seconds=seconds)


def _searxng(url: str, allow: Iterable[str], seconds: float) -> WebSearch:
    _prepare()
    from circumspect.web.search.searxng import SearXNG

    return SearXNG(url, allow=allow, seconds=seconds)


def _prepare() -> None:
    try:
        import httpx2  # noqa: F401

        from circumspect.web.search import domains

        domains.load()
    except ImportError as error:
        raise ConfigError(
            f"Web search needs the package {error.name}.",
            fix="pip install 'circumspect[server]', or search 'documents'.",
        ) from error
