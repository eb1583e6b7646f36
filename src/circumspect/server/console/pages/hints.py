"""What a page hears while it is open: hints on topics, and how much waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from typing import Annotated

import sqlalchemy as sa
from fastapi import Depends, Query, Request
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import Response

from circumspect.server.access import services_of
from circumspect.server.console import page_routes
from circumspect.server.console.figures import mine
from circumspect.server.console.live_updates import Hub, Looked, Topic, look
from circumspect.server.console.read_pool import read
from circumspect.server.console.rendering import page
from circumspect.server.console.visitors import Visitor, visitor
from circumspect.server.responses import visible
from circumspect.stores.people import Tenants
from circumspect.stores.tables import escalations, intents

router = page_routes.router()
Anyone = Annotated[Visitor, Depends(visitor())]
PING_SECONDS = 15
MANY = 100
"""Shown as "99+": nobody counts further."""


@router.get("/live")
async def live(request: Request, who: Anyone, topics: Annotated[str, Query(max_length=1000)]) -> Response:
    """Server-sent events, each with the name of a topic. Nothing else travels here."""
    hub: Hub = request.app.state.live
    services, wanted = services_of(request), topics.split()

    async def seen(topics: Collection[Topic]) -> Looked:
        return await read(services, look, topics)

    async def events() -> AsyncIterator[ServerSentEvent]:
        async with hub.watching(seen, wanted, who.operator.tenants) as queue:
            yield ServerSentEvent(comment="watching", retry=1000)
            while True:
                heard = {await queue.get()}
                await asyncio.sleep(0.05)
                while not queue.empty():
                    heard.add(queue.get_nowait())
                for topic in sorted(heard):
                    yield ServerSentEvent(topic)

    return EventSourceResponse(events(), ping=PING_SECONDS, headers={"X-Accel-Buffering": "no"})


@router.get("/counts")
async def counts(request: Request, who: Anyone) -> Response:
    """How many escalations and approvals wait, for the menu."""
    services = services_of(request)
    seen, now = visible(who.principal, None), services.clock.now().timestamp()
    open_, waiting = await read(services, _counted, seen, now)
    return page(request, who, "frame/_counts.html", counts={"escalations": open_, "approvals": waiting})


def _counted(connection: sa.Connection, seen: Tenants, now: float) -> tuple[int, int]:
    open_ = sa.select(escalations.c.id).where(escalations.c.state == "open", mine(escalations, seen)).limit(MANY)
    asked = (
        sa.select(intents.c.id)
        .where(
            intents.c.kind == "approval",
            sa.text("state = 'pending'"),
            intents.c.expires_at > now,
            mine(intents, seen),
        )
        .limit(MANY)
    )
    return len(connection.execute(open_).all()), len(connection.execute(asked).all())
