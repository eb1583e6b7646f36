"""Services: what a worker has open while it serves. Routes read it from `request.app.state.services`.

Opened before the first request and closed after the last turn; nothing in it is a global.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from circumspect.clock import RandomIds, SystemClock
from circumspect.knowledge.search import Library
from circumspect.knowledge.semantic import open_embedder
from circumspect.ports import Clock, Ids, Model
from circumspect.review.service import EvaluationRunner
from circumspect.server.config import Settings
from circumspect.server.directory import Directory
from circumspect.server.experiment_resources import StoredResources
from circumspect.server.experiment_turns import Experimenting
from circumspect.server.metrics import Metrics
from circumspect.server.open_streams import OpenStreams
from circumspect.server.page_setups import Pages
from circumspect.server.request_limits import Limiter, open_limiter
from circumspect.server.reviewing_model import pick_reviewing_model
from circumspect.server.running_turns import Turns
from circumspect.server.seen_tools import SeenTools
from circumspect.server.shadow_turns import Shadowing
from circumspect.server.vault import Vault, open_vault
from circumspect.server.worker_lanes import Lanes, open_lanes
from circumspect.stores import SqlStore
from circumspect.tools.tool_threads import LoopThreads
from circumspect.values import TenantId


@dataclass(frozen=True)
class Services:
    settings: Settings
    store: SqlStore
    library: Library
    directory: Directory
    pages: Pages
    vault: Vault
    limiter: Limiter
    clock: Clock
    ids: Ids
    metrics: Metrics
    turns: Turns
    evaluations: EvaluationRunner
    """Reviews of cases that this worker has under way."""
    lanes: Lanes
    """Where long computations wait for their turn: conversations go on meanwhile."""
    experimenting: Experimenting
    shadowing: Shadowing
    seen_tools: SeenTools
    streams: OpenStreams


@asynccontextmanager
async def open_services(
    settings: Settings, *, clock: Clock | None = None, ids: Ids | None = None, metrics: Metrics | None = None
) -> AsyncIterator[Services]:
    """On the way out turns in flight have `drain_seconds` to end; then everything is closed, the store last."""
    asyncio.get_running_loop().set_default_executor(LoopThreads())
    clock, ids, metrics = clock or SystemClock(), ids or RandomIds(), metrics or Metrics()
    async with AsyncExitStack() as opened:
        vault = open_vault(settings)
        store = await SqlStore.open(
            settings.database, min_free_bytes=settings.min_free_bytes, lock_seconds=settings.lock_seconds
        )
        opened.push_async_callback(store.close)
        limiter = open_limiter(settings)
        opened.push_async_callback(limiter.close)
        library = Library(store, embedder=open_embedder(settings.embeddings) if settings.embeddings else None)
        directory = Directory(store, settings, vault, clock, ids, library=library)
        opened.push_async_callback(directory.close)
        resources = StoredResources(store, library, models=directory.model_settings)
        opened.push_async_callback(resources.close)
        experimenting = Experimenting(store, resources, clock, embedder=library.embedder)
        opened.push_async_callback(experimenting.close)
        shadowing = Shadowing(store, experimenting, clock, ids)
        opened.push_async_callback(shadowing.close)
        turns = Turns(metrics, store, experimenting)
        opened.push_async_callback(turns.drain, settings.drain_seconds)
        pages = Pages(directory, library, settings)
        lanes = open_lanes(settings, metrics)
        evaluations = EvaluationRunner(
            store, clock, ids, reading=lanes.documents, computing=lanes.reports, limits=lanes.limits, watch=metrics
        )
        opened.push_async_callback(evaluations.close)
        yield Services(
            settings, store, library, directory, pages, vault, limiter, clock, ids, metrics, turns, evaluations,
            lanes, experimenting, shadowing, SeenTools(store, clock), OpenStreams(),
        )  # fmt: skip


async def reviewing_model(services: Services, tenant: TenantId) -> Model | None:
    return pick_reviewing_model(await services.directory.setup(tenant))
