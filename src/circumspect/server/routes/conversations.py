"""`/v1/conversations`: begin one, say something, read what was said.

A message is answered as JSON, or as server-sent events to those who ask for them. Either way the turn runs to its end
when the client goes away, and the same `Idempotency-Key` gets the stored answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import sqlalchemy as sa
from fastapi import Query, Request
from starlette.responses import Response

from circumspect.errors import NotYourConversation
from circumspect.server.access import (
    AdminPrincipal,
    ChatCaller,
    ConversationReader,
    ReaderPrincipal,
    find_reader,
    require_fresh,
    require_one_of,
    services_of,
)
from circumspect.server.problems import HttpProblem
from circumspect.server.request_log import add_log_context
from circumspect.server.responses import (
    KEY,
    After,
    IdPath,
    LoggedAction,
    PageLimit,
    PersonFilter,
    TenantFilter,
    action,
    describe_route,
    find_visible_tenants,
    idempotency_key,
    make_page,
    page_after,
    resource,
    to_response,
)
from circumspect.server.schemas.bodies import AnswerPage
from circumspect.server.schemas.conversations import (
    EXAMPLE_TURN,
    ConversationShown,
    MessageShown,
    NewConversation,
    NewMessage,
)
from circumspect.server.stores import privacy
from circumspect.server.streams import Stream, describe_lost_turn
from circumspect.setup import TurnSetup
from circumspect.stores import people
from circumspect.stores.people import NotThere, get_conversation, list_conversations, require_own_conversation
from circumspect.values import ConversationId, Incoming, IntentId, TurnId, TurnJson, TurnResult

router = resource("conversations")
TurnIdempotencyKey = Annotated[
    str | None, idempotency_key("The same key again gets the first answer, and runs nothing.")
]


@router.post("/v1/conversations", **describe_route(ConversationShown, 400, 404, status=201, security=KEY))
async def create_conversation(request: Request, who: ChatCaller, given: NewConversation) -> Response:
    """Begin a conversation. With an id of your own that is known already, you get that conversation."""
    services = services_of(request)
    add_log_context(tenant=who.tenant)
    speaker = who.identify(given.person)
    setup = await services.directory.setup(who.tenant)
    id_ = ConversationId(given.id or services.ids.new("conv"))
    made = await services.store.tx(
        people.create_conversation,
        who.tenant,
        id_,
        setup.tenant.mode_of(id_),
        services.clock.now(),
        drawn=setup.draws_mode,
        person=speaker.person,
        language=given.language,
    )
    return to_response(ConversationShown.of(made), 201)


@router.get("/v1/conversations", **describe_route(AnswerPage[ConversationShown], 404))
async def list_conversations_(
    request: Request,
    who: ConversationReader,
    tenant: TenantFilter = None,
    person: PersonFilter = None,
    after: After = None,
    limit: PageLimit = 50,
) -> Response:
    """The most recently used first."""
    store = services_of(request).store
    rows = await store.tx(
        list_conversations,
        find_visible_tenants(who, tenant),
        page_after(after),
        limit + 1,
        person=find_reader(who, person),
    )
    return to_response(make_page(rows, limit, ConversationShown.of, lambda row: (row.updated_at, row.id)))


@router.get("/v1/conversations/{conversation_id}", **describe_route(ConversationShown, 404))
async def get_conversation_(
    request: Request,
    who: ConversationReader,
    conversation_id: IdPath,
    tenant: TenantFilter = None,
    person: PersonFilter = None,
) -> Response:
    """One conversation."""
    seen = find_visible_tenants(who, tenant)
    found = await services_of(request).store.tx(
        get_conversation, seen, ConversationId(conversation_id), person=find_reader(who, person)
    )
    return to_response(ConversationShown.of(found))


@router.delete("/v1/conversations/{conversation_id}", **describe_route(None, 404, 409, status=204))
async def delete_conversation(
    request: Request, who: AdminPrincipal, conversation_id: IdPath, tenant: TenantFilter = None
) -> Response:
    """Delete a conversation with everything that was said, thought and done in it. Usage stays counted."""
    require_fresh(request, who)
    services = services_of(request)
    await services.store.tx(
        _delete,
        find_visible_tenants(who, tenant),
        ConversationId(conversation_id),
        action(services, who.name, "delete_conversation"),
    )
    await services.store.scrub()
    return Response(status_code=204)


_STREAMED = {
    200: {
        "model": TurnJson,
        "description": "What the turn came to; or, with `Accept: text/event-stream`, events: `started`, `step`, "
        "`text`, then `done` with the whole result or `error`.",
        "content": {
            "application/json": {"example": EXAMPLE_TURN},
            "text/event-stream": {
                "schema": {"type": "string"},
                "example": 'event: started\ndata: {"turn_id":"turn_5c0f","conversation_id":"c1"}\n\n'
                'event: step\ndata: {"kind":"checking"}\n\n'
                'event: text\ndata: {"text":"Should I cancel order 12345?"}\n\n'
                'event: done\ndata: {"turn_id":"turn_5c0f","outcome":"asked","reply":"…"}\n\n',
            },
        },
    }
}


@router.post(
    "/v1/conversations/{conversation_id}/messages", **describe_route(None, 400, 404, security=KEY, responses=_STREAMED)
)
async def send_message(
    request: Request, who: ChatCaller, conversation_id: IdPath, given: NewMessage, key: TurnIdempotencyKey = None
) -> Response:
    """Say something as the user, and get the agent's answer. Messages to one conversation are answered in order."""
    services = services_of(request)
    conversation, speaker = ConversationId(conversation_id), who.identify(given.person)
    setup = await services.directory.setup(who.tenant)
    incoming = Incoming(
        tenant=who.tenant,
        conversation=conversation,
        turn=TurnId(services.ids.new("turn")),
        text=given.content,
        at=services.clock.now(),
        key=key,
        principal=speaker.principal,
        person=speaker.person,
        claims=speaker.claims,
        account=who.name,
        language=given.language,
        begun=True,
        answers=IntentId(given.answers) if given.answers else None,
        seen=TurnId(given.seen) if given.seen else None,
    )
    add_log_context(tenant=who.tenant, turn=incoming.turn)
    try:
        if wants_events(request):  # which cannot be taken back once they have begun
            await services.store.tx(require_own_conversation, who.tenant, conversation, speaker.person)
        return await answer_turn(request, incoming, setup)
    except (NotThere, NotYourConversation) as problem:
        fix = (
            "Make it first: POST /v1/conversations with your own id, or without one. GET lists those that are there. "
            "One that was given a `person` is theirs: name them with every message."
        )
        raise HttpProblem(404, NotThere.code, problem.problem, fix=fix) from None


@router.get("/v1/conversations/{conversation_id}/messages", **describe_route(AnswerPage[MessageShown], 404))
async def list_messages(
    request: Request,
    who: ReaderPrincipal,
    conversation_id: IdPath,
    tenant: TenantFilter = None,
    person: PersonFilter = None,
    internal: Annotated[
        bool, Query(description="Also what was thought and decided: scope `read`, or operators.")
    ] = False,
    after: Annotated[
        str | None, Query(max_length=20, pattern=r"^[0-9]+$", description="`next` of the page before.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1_000, description="How many at most.")] = 200,
) -> Response:
    """What was said, oldest first."""
    require_one_of(who, *(("read",) if internal else ("chat", "read")))
    store = services_of(request).store
    seen = find_visible_tenants(who, tenant)
    found = await store.tx(get_conversation, seen, ConversationId(conversation_id), person=find_reader(who, person))
    last = min(int(after), 2**31 - 1) if after else -1
    rows = await store.messages(found.tenant, found.id, internal=internal, after=last, limit=limit + 1)
    kept = rows[:limit]
    following = str(kept[-1].seq) if len(rows) > limit else None
    shown = [MessageShown.of_message(row, internal=internal) for row in kept]
    return to_response(AnswerPage(items=shown, next=following))


# --- shown ----------------------------------------------------------------------------------------------------------


async def answer_turn(request: Request, incoming: Incoming, setup: TurnSetup) -> Response:
    """Run the turn: what it came to, or its events for those who ask for them."""
    turns = services_of(request).turns
    if wants_events(request):
        return Stream().follow(turns, incoming, setup)
    return to_turn_response(await turns.take(incoming, setup))


def wants_events(request: Request) -> bool:
    return "text/event-stream" in request.headers.get("accept", "")


def to_turn_response(result: TurnResult, describe: Callable[[TurnResult], object] = TurnResult.to_json) -> Response:
    """What the turn came to; a problem when it could not be stored."""
    if result.lost:
        return to_response(describe_lost_turn(result), 503, headers={"Retry-After": "2"})
    return to_response(describe(result))


# --- deletion -------------------------------------------------------------------------------------------------------


def _delete(
    connection: sa.Connection, tenants: people.VisibleTenants, conversation: ConversationId, change: LoggedAction
) -> None:
    found = get_conversation(connection, tenants, conversation)
    privacy.forget(connection, found.tenant, conversation)
    change.log(connection, found.tenant, conversation)
