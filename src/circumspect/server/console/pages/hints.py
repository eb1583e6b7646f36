"""What a page hears while it is open: hints on topics, and how much waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from typing import Annotated

import sqlalchemy as sa
from fastapi import Query, Request
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import Response

from circumspect.server.access import services_of
from circumspect.server.console import page_routes
from circumspect.server.console.live_updates import HintStates, HintTopic, Hub, read_hint_states
from circumspect.server.console.read_pool import read
from circumspect.server.console.rendering import page
from circumspect.server.console.visitors import AnyVisitor
from circumspect.server.held_stream import HeldStream
from circumspect.server.responses import find_visible_tenants
from circumspect.server.routes.work import find_kinds
from circumspect.server.stores.work_queue import WorkFilter, count_work

router = page_routes.router()
PING_SECONDS = 15


@router.get("/live")
async def live(request: Request, who: AnyVisitor, topics: Annotated[str, Query(max_length=1000)]) -> Response:
    """Server-sent events, each with the name of a topic. Nothing else travels here."""
    hub: Hub = request.app.state.live
    services, wanted = services_of(request), topics.split()

    async def read_states(topics: Collection[HintTopic]) -> HintStates:
        return await read(services, read_hint_states, topics)

    async def events() -> AsyncIterator[ServerSentEvent]:
        async with hub.watching(read_states, wanted, who.operator.tenants) as queue:
            yield ServerSentEvent(comment="watching", retry=1000)
            while True:
                heard = {await queue.get()}
                await asyncio.sleep(0.05)
                while not queue.empty():
                    heard.add(queue.get_nowait())
                for topic in sorted(heard):
                    yield ServerSentEvent(topic)

    stream = EventSourceResponse(events(), ping=PING_SECONDS, headers={"X-Accel-Buffering": "no"})
    return HeldStream(stream, services.streams, f"operator:{who.operator.id}")


@router.get("/counts")
async def counts(request: Request, who: AnyVisitor) -> Response:
    """How much waits, for the menu: the queue as it opens, and what is put off as well behind the lists of a kind."""
    services, principal = services_of(request), who.principal
    seen, now, kinds = find_visible_tenants(principal, None), services.clock.now(), find_kinds(principal)

    def count(connection: sa.Connection) -> dict[str, int]:
        shown = count_work(connection, seen, kinds, WorkFilter(), now)
        every = count_work(connection, seen, kinds, WorkFilter(snoozed=None), now)
        return {
            "queue": sum(shown.values()),
            "escalations": every["escalation"] + every["unknown"],
            "approvals": every["approval"],
        }

    return page(request, who, "frame/_counts.html", counts=await read(services, count))
