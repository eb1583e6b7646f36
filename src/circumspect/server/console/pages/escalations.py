"""Escalations: conversations that wait for a person. Take one over, answer, hand it back, resolve it.

Every change is made by the routes of the API, called as functions. If a colleague was quicker, nothing is done: the
page comes back with how it stands now, and with the words that were not sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, cast, get_args

import orjson
import sqlalchemy as sa
from fastapi import Form, Query, Request
from starlette.responses import Response

from circumspect.journal import PersonReplyEvent, find_events
from circumspect.server.access import services_of
from circumspect.server.console import navigation, page_routes
from circumspect.server.console.argument_fields import list_fields
from circumspect.server.console.conversation_story import StoryView, read_story
from circumspect.server.console.escalation_subjects import EscalationSubject, ToldEnd, find_subjects, find_told_ends
from circumspect.server.console.pages.conversations import build_story_context
from circumspect.server.console.read_pool import read
from circumspect.server.console.rendering import answer, page
from circumspect.server.console.visitors import OperatorVisitor, ReviewerVisitor, Visitor, tenants_of
from circumspect.server.console.work_panel import build_panel
from circumspect.server.responses import IdPath, find_visible_tenants, page_after, split_page
from circumspect.server.routes import escalations as api
from circumspect.server.schemas.bodies import NO_NUL
from circumspect.server.schemas.escalations import PersonsReply, Resolution
from circumspect.server.stores import tenants, work_queue
from circumspect.stores import codec, people
from circumspect.stores.codec import clean
from circumspect.stores.people import (
    EscalationRow,
    EscalationState,
    OutcomeNeeded,
    StoredConversation,
    TakenByAnother,
    VisibleTenants,
)
from circumspect.stores.tables import intents, messages
from circumspect.values import TenantId, ToldOutcome

navigation.add(
    navigation.MenuEntry(
        "nav-escalations", "/escalations", 30, ("operator", "reviewer"), count="escalations", icon="life-buoy"
    )
)
router = page_routes.router()
Did = Literal["take", "hand-back", "resolve"]
STATES: tuple[str, ...] = get_args(EscalationState)
NEXT = (
    "OUTCOME_UNKNOWN",
    "APPROVAL_REQUIRED",
    "TOOL_FAILED",
    "VERIFICATION_FAILED",
    "MODEL_FAILED",
    "SOURCES_CONFLICT",
)
"""Reasons of which we can say what a person does next; for all others it is: answer."""
ROWS = 40


@dataclass(frozen=True, slots=True)
class Unsent:
    """Nothing was done, since the escalation is no longer as its page had shown it."""

    words: str = ""
    """What a person wanted to say."""


@router.get("/escalations")
async def inbox(
    request: Request,
    who: ReviewerVisitor,
    state: Annotated[str, Query(max_length=10)] = "waiting",
    tenant: Annotated[str, Query(max_length=64)] = "",
    after: Annotated[str | None, Query(max_length=400)] = None,
) -> Response:
    """Those that wait, as many as the menu says and the oldest first; or all of a state, the newest first."""
    services = services_of(request)
    now, only = services.clock.now(), cast("EscalationState | None", state if state in STATES else None)
    seen = find_visible_tenants(who.principal, tenant or None)

    def look_up(
        connection: sa.Connection,
    ) -> tuple[list[EscalationRow], dict[str, EscalationSubject], dict[str, list[ToldEnd]]]:
        if state == "waiting":
            found = list(work_queue.list_unresolved(connection, seen, now, page_after(after), ROWS + 1))
        else:
            found = list(people.list_escalations(connection, seen, only, page_after(after), ROWS + 1))
        return found, find_subjects(connection, found), find_told_ends(connection, found)

    rows, abouts, ends = await read(services, look_up)
    rows, following = split_page(rows, ROWS, lambda row: (row.created_at, row.id))
    return answer(
        request,
        who,
        "escalations/page.html",
        "escalations/_fragment.html",
        rows=rows,
        abouts=abouts,
        ends=ends,
        following=following,
        whole=following is None and after is None,
        state=state,
        states=("waiting", *(one for one in STATES if one != "open"), "all"),
        tenant=tenant,
        tenants=await tenants_of(request, who),
        now=now,
    )


@router.get("/escalations/{escalation_id}")
async def detail(
    request: Request,
    who: ReviewerVisitor,
    escalation_id: IdPath,
    debug: bool = False,
    done: Annotated[str, Query(max_length=20)] = "",
) -> Response:
    done = done if done in ("take", "hand-back", "resolve", "unknown", "reply") else ""
    return await _detail(request, who, escalation_id, debug=debug, done=done)


async def _detail(
    request: Request, who: Visitor, id_: str, *, debug: bool = False, done: str = "", unsent: Unsent | None = None
) -> Response:
    services = services_of(request)
    seen = find_visible_tenants(who.principal, None)

    def look_up(
        connection: sa.Connection,
    ) -> tuple[EscalationRow, StoredConversation, StoryView, EscalationSubject, str, list[ToldEnd]]:
        row = people.get_escalation(connection, seen, id_)
        found = people.get_conversation(connection, frozenset({row.tenant}), row.conversation)
        story = read_story(connection, found, debug=debug)
        ends = find_told_ends(connection, [row]).get(row.id, [])
        return row, found, story, find_subjects(connection, [row])[row.id], _approval(connection, row), ends

    row, found, story, about, approval, ends = await read(services, look_up)
    return page(
        request,
        who,
        "escalations/detail.html",
        status=409 if unsent else 200,
        live=f"conversation:{found.tenant}/{found.id}",
        row=row,
        about=about,
        fields=list_fields(about.spec, about.arguments) if about.tool else [],
        approval=approval,
        ends=ends,
        next=_next(row, approval, who.operator.name, found.paused_by),
        conversation=found,
        tenants=await tenants_of(request, who),
        now=services.clock.now(),
        done=done,
        unsent=unsent,
        saved_answers=await _list_saved_answers(request, row.tenant),
        **await build_panel(request, who, "escalation", id_),
        **await build_story_context(story, debug=debug, path=f"/conversations/{found.tenant}/{found.id}"),
    )


async def _list_saved_answers(request: Request, tenant: TenantId) -> Mapping[str, str]:
    row = await services_of(request).store.tx(tenants.get, tenant)
    found = (row.settings or {}).get("saved_answers") if row else None
    return {name: str(text) for name, text in found.items()} if isinstance(found, Mapping) else {}


def _next(row: EscalationRow, approval: str, name: str, silent_for: str | None) -> str:
    """What a person does next, by the name of its words."""
    if row.taken_by == name and not row.asks_outcome and not approval:
        return "answer" if silent_for == name else "handed-back"
    if row.reason == "APPROVAL_REQUIRED" and not approval:
        return "decided"
    return row.reason if row.reason in NEXT else "other"


def _approval(connection: sa.Connection, row: EscalationRow) -> str:
    """The approval that waits in its conversation, if any."""
    query = sa.select(intents.c.id).where(
        intents.c.tenant == row.tenant,
        intents.c.conversation == row.conversation,
        intents.c.kind == "approval",
        sa.text("state = 'pending'"),
    )
    return str(connection.execute(query.order_by(intents.c.created_at.desc()).limit(1)).scalar() or "")


@router.get("/escalations/{escalation_id}/outcome")
async def ask_about_outcome(
    request: Request, who: OperatorVisitor, escalation_id: IdPath, outcome: ToldOutcome
) -> Response:
    """What follows from it, before it is said: nobody takes it back."""
    services, seen = services_of(request), find_visible_tenants(who.principal, None)

    def look_up(connection: sa.Connection) -> tuple[EscalationRow, EscalationSubject]:
        row = people.get_escalation(connection, seen, escalation_id)
        return row, find_subjects(connection, [row])[row.id]

    row, about = await read(services, look_up)
    if not row.asks_outcome:
        return page_routes.redirect_to(f"/escalations/{escalation_id}")
    return page(request, who, "escalations/outcome.html", row=row, about=about, outcome=outcome)


@router.post("/conversations/{tenant}/{conversation_id}/take")
async def take_conversation(request: Request, who: OperatorVisitor, tenant: str, conversation_id: IdPath) -> Response:
    """Nobody handed it over; somebody takes it all the same."""
    taken = orjson.loads((await api.take_conversation(request, who.principal, conversation_id, tenant)).body)
    return page_routes.redirect_to(f"/escalations/{taken['id']}?done=take")


@router.post("/escalations/{escalation_id}/reply")
async def reply(
    request: Request,
    who: OperatorVisitor,
    escalation_id: IdPath,
    content: Annotated[str, Form(min_length=1, max_length=20_000, pattern=NO_NUL)],
    after: Annotated[int | None, Form(ge=-1, le=2**31 - 1)] = None,
) -> Response:
    """`after`: the last that its author saw. The same words once more after it are a second press of the button."""
    seen = find_visible_tenants(who.principal, None)
    try:
        if not await read(services_of(request), _is_said, seen, escalation_id, who.operator.name, content, after):
            await api.reply_to_escalation(request, who.principal, escalation_id, PersonsReply(content=content))
    except TakenByAnother:
        return await _detail(request, who, escalation_id, unsent=Unsent(content))
    return page_routes.redirect_to(f"/escalations/{escalation_id}?done=reply")


def _is_said(
    connection: sa.Connection, seen: VisibleTenants, id_: str, name: str, content: str, after: int | None
) -> bool:
    if after is None:
        return False
    row = people.get_escalation(connection, seen, id_)
    query = sa.select(messages).where(
        messages.c.tenant == row.tenant,
        messages.c.conversation == row.conversation,
        messages.c.seq > after,
        messages.c.content == clean(content),
    )
    said = find_events(map(codec.message, connection.execute(query)), PersonReplyEvent)
    return any(event.operator == name for event in said)


@router.post("/escalations/{escalation_id}/{did}")
async def act(
    request: Request,
    who: OperatorVisitor,
    escalation_id: IdPath,
    did: Did,
    away_from: Annotated[str | None, Form(min_length=1, max_length=200, pattern=NO_NUL)] = None,
    outcome: Annotated[ToldOutcome | None, Form()] = None,
) -> Response:
    """`away_from`: the colleague who has it, and from whom an administrator takes it. `outcome`: what became of a call
    of which nobody knew."""
    try:
        match did:
            case "take":
                await api.take_escalation(request, who.principal, escalation_id, away_from)
            case "hand-back":
                await api.hand_back_escalation(request, who.principal, escalation_id)
            case "resolve":
                await api.resolve_escalation(request, who.principal, escalation_id, Resolution(outcome=outcome))
    except (TakenByAnother, OutcomeNeeded):
        return await _detail(request, who, escalation_id, unsent=Unsent())
    return page_routes.redirect_to(f"/escalations/{escalation_id}?done={'unknown' if outcome == 'unknown' else did}")
