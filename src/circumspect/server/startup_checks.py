"""Settings -> nothing, or a `ConfigError` for what could never work: looked at before a server starts, and by `doctor`.

Nothing is asked of a network.
"""

from __future__ import annotations

import os

from circumspect.clock import SystemClock
from circumspect.models import open_model
from circumspect.server.config import Settings
from circumspect.server.log_export import open_receivers


def check_settings(settings: Settings) -> None:
    """All of them, the first that is wrong first."""
    open_model(settings.model)
    check_embeddings(settings)
    check_search(settings)
    check_receivers(settings)


def check_embeddings(settings: Settings) -> None:
    from circumspect.knowledge.semantic import open_embedder

    if settings.embeddings:
        open_embedder(settings.embeddings)


def check_search(settings: Settings) -> None:
    from circumspect.web.search.opening import open_search

    if settings.search not in ("documents", "none"):
        given = settings.search_key
        key = given.get_secret_value() if given else os.environ.get("TAVILY_API_KEY")
        open_search(settings.search, key=key, allow=settings.allow_addresses)


def check_receivers(settings: Settings) -> None:
    open_receivers(settings, SystemClock())
