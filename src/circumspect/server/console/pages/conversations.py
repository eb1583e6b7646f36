"""Conversations: look for them, read one as its user saw it, see what went on inside, say if a turn was right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import sqlalchemy as sa
from fastapi import Depends, Form, Query, Request
from starlette.responses import Response

from circumspect.holds import FATES
from circumspect.reasons import ReasonCode
from circumspect.server.access import services_of
from circumspect.server.console import navigation, page_routes
from circumspect.server.console.conversation_search import ConversationFilter, find, tool_names
from circumspect.server.console.conversation_story import (
    SETTLED,
    StoryView,
    find_newest_mode,
    read_story,
)
from circumspect.server.console.figures import OUTCOMES, category, match_tenants
from circumspect.server.console.provenance import SourceExcerpt, sources
from circumspect.server.console.read_pool import read
from circumspect.server.console.rendering import answer, page, wants_fragment
from circumspect.server.console.visitors import AnyVisitor, ReviewerVisitor, tenants_of
from circumspect.server.responses import IdPath, find_visible_tenants, page_after, split_page, write_place
from circumspect.server.routes import feedback as api
from circumspect.server.schemas.bodies import NO_NUL
from circumspect.server.schemas.feedback import FeedbackGiven
from circumspect.stores import labels
from circumspect.stores.people import StoredConversation, VisibleTenants, get_conversation
from circumspect.stores.tables import escalations, intents
from circumspect.values import LANGUAGES, ConversationId

navigation.add(navigation.MenuEntry("nav-conversations", "/conversations", 20, icon="message-square-text"))
router = page_routes.router()
ROWS = 40
LONGEST = 2_000
"""Characters of a correction that is one line."""


@dataclass(frozen=True, slots=True)
class TurnThumb:
    up: bool
    correction: str
    by: str
    """An operator's name; empty where it was the user."""


Thumbs = Mapping[str, Sequence[TurnThumb]]
"""What was said of turns, by turn."""


def parse_filter(
    q: Annotated[str, Query(max_length=200)] = "",
    tenant: Annotated[str, Query(max_length=64)] = "",
    outcome: Annotated[str, Query(max_length=20)] = "",
    reason: Annotated[str, Query(max_length=60)] = "",
    tool: Annotated[str, Query(max_length=200)] = "",
    language: Annotated[str, Query(max_length=5)] = "",
    mode: Annotated[str, Query(max_length=10)] = "",
    days: Annotated[str, Query(max_length=5)] = "",
    on: Annotated[str, Query(max_length=10)] = "",
    fate: Annotated[str, Query(max_length=10)] = "",
    held: bool = False,
    critique: bool = False,
    context: bool = False,
) -> ConversationFilter:
    number = int(days) if days.isdecimal() else 0
    return ConversationFilter(
        q, tenant, outcome, reason, tool, language, mode, min(number, 3660), on, fate, held, critique, context
    )


@router.get("/conversations")
async def listing(
    request: Request,
    who: AnyVisitor,
    wanted: Annotated[ConversationFilter, Depends(parse_filter)],
    after: Annotated[str | None, Query(max_length=400)] = None,
) -> Response:
    services = services_of(request)
    seen = find_visible_tenants(who.principal, wanted.tenant or None)
    found = await read(services, find, seen, wanted, services.clock.now(), page_after(after), ROWS + 1)
    rows, following = split_page(found.rows, ROWS, lambda row: (row.updated_at, row.id))
    further = write_place(found.further.at, found.further.id) if found.further else None
    target = request.headers.get("hx-target", "")
    return answer(
        request,
        who,
        "conversations/page.html",
        "conversations/_rows.html" if target == "more" else "conversations/_fragment.html",
        live="conversations",
        rows=rows,
        following=following or further,
        further=further,
        after=after,
        wanted=wanted,
        query=wanted.query(),
        plain=replace(wanted, held=False, critique=False, context=False, on="").query(),
        tenants=await tenants_of(request, who),
        tools=await read(services, tool_names, find_visible_tenants(who.principal, None)),
        outcomes=OUTCOMES,
        fates=("prevented", *FATES),
        reasons=[str(code) for code in ReasonCode],
        spoken=LANGUAGES,
    )


@router.get("/conversations/{tenant}/{conversation_id}")
async def detail(
    request: Request,
    who: AnyVisitor,
    tenant: str,
    conversation_id: str,
    debug: bool = False,
) -> Response:
    services = services_of(request)
    seen = find_visible_tenants(who.principal, tenant)
    found, story, waits, thumbs = await read(services, _read_conversation, seen, conversation_id, debug)
    return page(
        request,
        who,
        "conversations/detail.html",
        live=f"conversation:{found.tenant}/{found.id}",
        conversation=found,
        waits=waits,
        tenants=await tenants_of(request, who),
        **await build_story_context(
            story, debug=debug, path=f"/conversations/{found.tenant}/{found.id}", thumbs=thumbs
        ),
    )


@router.get("/conversations/{tenant}/{conversation_id}/messages")
async def piece(
    request: Request,
    who: AnyVisitor,
    tenant: str,
    conversation_id: str,
    debug: bool = False,
    before: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None,
    after: Annotated[int | None, Query(ge=-1, le=2**31 - 1)] = None,
    thumbs: bool = False,
) -> Response:
    """What came earlier, or what came since."""
    services = services_of(request)
    seen = find_visible_tenants(who.principal, tenant)

    def read_piece(connection: sa.Connection) -> tuple[StoredConversation, StoryView, Thumbs | None]:
        found = get_conversation(connection, seen, ConversationId(conversation_id))
        story = read_story(connection, found, debug=debug, before=before, after=after)
        return found, story, _thumbs(connection, found) if thumbs else None

    found, story, said = await read(services, read_piece)
    if after is not None and not story.items and story.last <= after:
        return Response(status_code=204)
    values = await build_story_context(
        story, debug=debug, path=f"/conversations/{found.tenant}/{found.id}", thumbs=said
    )
    return page(request, who, "conversations/_piece.html", newest=after is not None, **values)


@router.post("/conversations/{tenant}/{conversation_id}/turns/{turn_id}/feedback")
async def judge(
    request: Request,
    who: ReviewerVisitor,
    tenant: str,
    conversation_id: IdPath,
    turn_id: IdPath,
    thumb: Annotated[Literal["up", "down"], Form()],
    correction: Annotated[str, Form(max_length=LONGEST, pattern=NO_NUL)] = "",
    debug: Annotated[bool, Form()] = False,
) -> Response:
    given = FeedbackGiven(thumb=thumb, correction=(correction.strip() or None) if thumb == "down" else None)
    await api.give_feedback(request, who.principal, conversation_id, turn_id, given, tenant)
    path = f"/conversations/{tenant}/{conversation_id}"
    if not wants_fragment(request):
        return page_routes.redirect_to(f"{path}{'?debug=1' if debug else ''}#thumbs-{turn_id}")
    seen = find_visible_tenants(who.principal, tenant)
    said = await read(
        services_of(request),
        lambda connection: _thumbs(connection, get_conversation(connection, seen, ConversationId(conversation_id))),
    )
    values: dict[str, Any] = {"path": path, "turn": turn_id, "debug": debug, "thumbs": said, "longest": LONGEST}
    return page(request, who, "conversations/_thumbs.html", **values)


def _read_conversation(
    connection: sa.Connection, seen: VisibleTenants, conversation_id: str, debug: bool
) -> tuple[StoredConversation, StoryView, dict[str, str], Thumbs]:
    found = get_conversation(connection, seen, ConversationId(conversation_id))
    found = replace(found, mode=find_newest_mode(connection, found) or found.mode)
    story, waits = read_story(connection, found, debug=debug), _waits(connection, seen, found)
    return found, story, waits, _thumbs(connection, found)


def _thumbs(connection: sa.Connection, found: StoredConversation) -> Thumbs:
    said: dict[str, list[TurnThumb]] = {}
    for row in labels.list_labels(connection, found.tenant, [found.id]):
        if row.turn and row.kind in ("thumbs_up", "thumbs_down", "correct"):
            words, by = (row.value or {}).get("correction"), "" if row.by.startswith("key:") else row.by
            said.setdefault(row.turn, []).append(TurnThumb(row.kind == "thumbs_up", str(words or ""), by))
    return said


def _waits(connection: sa.Connection, seen: VisibleTenants, found: StoredConversation) -> dict[str, str]:
    """The escalation and the approval that wait in this conversation, if any."""
    waits = {}
    for name, table, more in (
        ("escalation", escalations, escalations.c.state != "resolved"),
        ("approval", intents, sa.and_(intents.c.kind == "approval", sa.text("state = 'pending'"))),
    ):
        query = sa.select(table.c.id).where(
            match_tenants(table, seen), table.c.tenant == found.tenant, table.c.conversation == found.id, more
        )
        if id_ := connection.execute(query.order_by(table.c.created_at.desc()).limit(1)).scalar():
            waits[name] = str(id_)
    return waits


async def build_story_context(
    story: StoryView, *, debug: bool, path: str, thumbs: Thumbs | None = None
) -> dict[str, Any]:
    """What the template of a story needs; without thumbs, where nobody judges turns."""
    traced: dict[int, dict[str, SourceExcerpt]] = {}
    if story.record is not None:
        rulings = [one.message.seq for one in story.items if one.message.kind == "policy"]
        traced = await sources(story.record, story.specs, rulings)
    return {
        "story": story,
        "debug": debug,
        "path": path,
        "settled": SETTLED,
        "traced": traced,
        "thumbs": thumbs,
        "longest": LONGEST,
        "category": category,
    }
