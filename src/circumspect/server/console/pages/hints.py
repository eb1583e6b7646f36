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
from circumspect.server.console.figures import match_tenants
from circumspect.server.console.live_updates import HintStates, HintTopic, Hub, read_hint_states
from circumspect.server.console.read_pool import read
from circumspect.server.console.rendering import page
from circumspect.server.console.visitors import AnyVisitor
from circumspect.server.responses import find_visible_tenants
from circumspect.stores.people import VisibleTenants
from circumspect.stores.tables import escalations, intents

router = page_routes.router()
PING_SECONDS = 15
MANY = 100
"""Shown as "99+": nobody counts further."""


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

    return EventSourceResponse(events(), ping=PING_SECONDS, headers={"X-Accel-Buffering": "no"})


@router.get("/counts")
async def counts(request: Request, who: AnyVisitor) -> Response:
    """How many escalations and approvals wait, for the menu."""
    services = services_of(request)
    seen, now = find_visible_tenants(who.principal, None), services.clock.now().timestamp()
    open_, waiting = await read(services, _count_waiting, seen, now)
    return page(request, who, "frame/_counts.html", counts={"escalations": open_, "approvals": waiting})


def _count_waiting(connection: sa.Connection, seen: VisibleTenants, now: float) -> tuple[int, int]:
    open_ = (
        sa.select(escalations.c.id).where(escalations.c.state == "open", match_tenants(escalations, seen)).limit(MANY)
    )
    asked = (
        sa.select(intents.c.id)
        .where(
            intents.c.kind == "approval",
            sa.text("state = 'pending'"),
            intents.c.expires_at > now,
            match_tenants(intents, seen),
        )
        .limit(MANY)
    )
    return len(connection.execute(open_).all()), len(connection.execute(asked).all())
