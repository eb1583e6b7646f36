"""Escalations: conversations that wait for a person. Take one over, answer, hand it back, resolve it.

Every change is made by the routes of the API, called as functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

import orjson
import sqlalchemy as sa
from fastapi import Depends, Form, Query, Request
from starlette.responses import Response

from circumspect.console import navigation, routing
from circumspect.console.access import Visitor, tenants_of, visitor
from circumspect.console.pages.conversations import shown
from circumspect.console.reading import read
from circumspect.console.rendering import answer, page
from circumspect.console.story import Story, tell
from circumspect.server.access import services_of
from circumspect.server.routes import escalations as api
from circumspect.server.schemas import PersonsReply
from circumspect.server.web import IdPath, page_after, paged, visible
from circumspect.stores import people
from circumspect.stores.people import Conversation, EscalationRow, EscalationState

navigation.add(navigation.Entry("nav-escalations", "/escalations", 30, ("operator", "reviewer"), count="escalations"))
router = routing.router()
Looking = Annotated[Visitor, Depends(visitor("operator", "reviewer"))]
Working = Annotated[Visitor, Depends(visitor("operator"))]
Did = Literal["take", "hand-back", "resolve"]
STATES: tuple[str, ...] = get_args(EscalationState)
ROWS = 40


@router.get("/escalations")
async def inbox(
    request: Request,
    who: Looking,
    state: Annotated[str, Query(max_length=10)] = "open",
    tenant: Annotated[str, Query(max_length=64)] = "",
    after: Annotated[str | None, Query(max_length=400)] = None,
) -> Response:
    services = services_of(request)
    only: Any = state if state in STATES else None
    seen = visible(who.principal, tenant or None)
    rows = await read(services, people.list_escalations, seen, only, page_after(after), ROWS + 1)
    listed = paged(rows, ROWS, _itself, lambda row: (row.created_at, row.id))
    return answer(
        request,
        who,
        "escalations/page.html",
        "escalations/_fragment.html",
        rows=listed["items"],
        following=listed["next"],
        state=state,
        states=(*STATES, "all"),
        tenant=tenant,
        tenants=await tenants_of(request, who),
        now=services.clock.now(),
    )


def _itself(row: EscalationRow) -> Any:
    return row


@router.get("/escalations/{escalation_id}")
async def detail(
    request: Request,
    who: Looking,
    escalation_id: IdPath,
    debug: bool = False,
    done: Annotated[str, Query(max_length=20)] = "",
) -> Response:
    services = services_of(request)
    seen = visible(who.principal, None)

    def looked_up(connection: sa.Connection) -> tuple[EscalationRow, Conversation, Story]:
        row = people.get_escalation(connection, seen, escalation_id)
        found = people.get_conversation(connection, frozenset({row.tenant}), row.conversation)
        return row, found, tell(connection, found, debug=debug)

    row, found, story = await read(services, looked_up)
    return page(
        request,
        who,
        "escalations/detail.html",
        live=f"conversation:{found.tenant}/{found.id}",
        row=row,
        conversation=found,
        tenants=await tenants_of(request, who),
        now=services.clock.now(),
        done=done if done in ("take", "hand-back", "resolve", "reply") else "",
        **await shown(story, debug=debug, path=f"/conversations/{found.tenant}/{found.id}"),
    )


@router.post("/conversations/{tenant}/{conversation_id}/take")
async def take_conversation(request: Request, who: Working, tenant: str, conversation_id: IdPath) -> Response:
    """Nobody handed it over; somebody takes it all the same."""
    taken = orjson.loads((await api.take_conversation(request, who.principal, conversation_id, tenant)).body)
    return routing.back(f"/escalations/{taken['id']}?done=take")


@router.post("/escalations/{escalation_id}/reply")
async def reply(
    request: Request,
    who: Working,
    escalation_id: IdPath,
    content: Annotated[str, Form(min_length=1, max_length=20_000)],
) -> Response:
    await api.reply_to_escalation(request, who.principal, escalation_id, PersonsReply(content=content))
    return routing.back(f"/escalations/{escalation_id}?done=reply")


_ACTS: Mapping[Did, Any] = {
    "take": api.take_escalation,
    "hand-back": api.hand_back_escalation,
    "resolve": api.resolve_escalation,
}


@router.post("/escalations/{escalation_id}/{did}")
async def act(request: Request, who: Working, escalation_id: IdPath, did: Did) -> Response:
    await _ACTS[did](request, who.principal, escalation_id)
    return routing.back(f"/escalations/{escalation_id}?done={did}")
