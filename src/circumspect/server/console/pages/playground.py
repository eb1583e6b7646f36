"""The playground: talk to any tenant's agent as its user would, with what goes on inside beside it.

It is a rehearsal: the tenant's own policy, model and prompts. A tool with a test back end is called there; of the
others, no call that changes anything is made (`server/rehearsing.py`, by the id of the conversation, whoever writes
into it). The page says which is which. Who began one is written into the log.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Annotated, Literal

import sqlalchemy as sa
from fastapi import Form, Query, Request
from starlette.responses import Response

from circumspect.server.access import services_of
from circumspect.server.console import navigation, page_routes
from circumspect.server.console.conversation_story import StoryView, read_story
from circumspect.server.console.pages.conversations import build_story_context
from circumspect.server.console.rendering import page
from circumspect.server.console.visitors import OperatorVisitor, Visitor, tenants_of
from circumspect.server.end_users import EndUser
from circumspect.server.problems import not_found
from circumspect.server.request_log import add_log_context
from circumspect.server.responses import IdPath, action, find_visible_tenants
from circumspect.server.routes.confirmations import decision
from circumspect.server.schemas.confirmations import ConfirmationGiven
from circumspect.server.services import Services
from circumspect.server.streams import Stream
from circumspect.server.tenants.tool_building import TenantTools
from circumspect.stores import people
from circumspect.stores.people import StoredConversation, VisibleTenants, get_conversation
from circumspect.stores.rehearsals import is_rehearsal
from circumspect.values import REHEARSED, ConversationId, Incoming, TenantId, TurnId

navigation.add(navigation.MenuEntry("nav-playground", "/playground", 52, ("operator",), icon="play"))
router = page_routes.router()


@router.get("/playground")
async def choose(request: Request, who: OperatorVisitor, tenant: Annotated[str, Query(max_length=64)] = "") -> Response:
    names = await tenants_of(request, who)
    return page(request, who, "playground/page.html", tenants=names, tenant=tenant)


@router.post("/playground")
async def begin(request: Request, who: OperatorVisitor, tenant: Annotated[str, Form(max_length=64)]) -> Response:
    services = services_of(request)
    find_visible_tenants(who.principal, tenant)
    setup = await services.directory.setup(TenantId(tenant))
    id_ = ConversationId(f"{REHEARSED}{secrets.token_hex(8)}")
    change, now = action(services, who.principal.name, "playground"), services.clock.now()
    mode, drawn = setup.tenant.mode_of(id_), setup.draws_mode

    def body(connection: sa.Connection) -> None:
        people.create_conversation(connection, setup.tenant.id, id_, mode, now, drawn=drawn)
        change.log(connection, setup.tenant.id, id_)

    await services.store.tx(body)
    return page_routes.redirect_to(f"/playground/{tenant}/{id_}")


@router.get("/playground/{tenant}/{conversation_id}")
async def talk(request: Request, who: OperatorVisitor, tenant: str, conversation_id: IdPath) -> Response:
    seen = find_visible_tenants(who.principal, tenant)

    def read(connection: sa.Connection) -> tuple[StoredConversation, StoryView]:
        found = _find_conversation(connection, seen, conversation_id)
        return found, read_story(connection, found, debug=True)

    services = services_of(request)
    found, story = await services.store.tx(read)
    tools = (await services.directory.setup(found.tenant)).ports.tools
    tested = tools.tests.specs() if isinstance(tools, TenantTools) else {}
    return page(
        request,
        who,
        "playground/talk.html",
        live=f"conversation:{found.tenant}/{found.id}",
        conversation=found,
        tested=sorted(name for name, one in tested.items() if one.configured),
        tenants=await tenants_of(request, who),
        **await build_story_context(story, debug=True, path=f"/conversations/{found.tenant}/{found.id}"),
    )


@router.post("/playground/{tenant}/{conversation_id}/messages")
async def say(
    request: Request,
    who: OperatorVisitor,
    tenant: str,
    conversation_id: IdPath,
    content: Annotated[str, Form(max_length=100_000)],
    shown: Annotated[str | None, Form(alias="seen", max_length=128)] = None,
) -> Response:
    """What is said, as server-sent events: steps, words, and what became of it."""
    services, seen = services_of(request), find_visible_tenants(who.principal, tenant)
    found = await services.store.tx(_find_conversation, seen, conversation_id)
    turn = TurnId(services.ids.new("turn"))
    add_log_context(tenant=found.tenant, turn=turn)
    incoming = Incoming(found.tenant, found.id, turn, content, services.clock.now())
    return await _stream_turn(services, replace(incoming, seen=TurnId(shown) if shown else None), who)


@router.post("/playground/{tenant}/{conversation_id}/confirmations")
async def confirm(
    request: Request,
    who: OperatorVisitor,
    tenant: str,
    conversation_id: IdPath,
    intent_id: Annotated[str, Form(max_length=128)],
    answer: Annotated[Literal["approve", "deny"], Form()],
) -> Response:
    """The yes or no of the user that is played."""
    services, seen = services_of(request), find_visible_tenants(who.principal, tenant)
    found = await services.store.tx(_find_conversation, seen, conversation_id)
    given = ConfirmationGiven(intent_id=intent_id, decision=answer)
    incoming = await decision(services, found.tenant, found.id, given, None, EndUser())
    return await _stream_turn(services, incoming, who)


async def _stream_turn(services: Services, incoming: Incoming, who: Visitor) -> Response:
    """The user is played; whoever plays them answers their own questions, and cannot approve what comes of it."""
    player = who.principal.name
    incoming = replace(incoming, account=player, principal=player)
    return Stream().follow(services.turns, incoming, await services.directory.setup(incoming.tenant))


def _find_conversation(connection: sa.Connection, seen: VisibleTenants, conversation_id: str) -> StoredConversation:
    """Nobody speaks for a real user from here."""
    if not is_rehearsal(conversation_id):
        raise not_found("conversation")
    return get_conversation(connection, seen, ConversationId(conversation_id))
