"""`/v1/escalations`: conversations that wait for a person. Take one, answer in it, hand it back, resolve it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import sqlalchemy as sa
from fastapi import Query, Request
from starlette.responses import Response

from circumspect.server.access import (
    NotPermitted,
    OperatorPrincipal,
    Principal,
    ReviewerPrincipal,
    require_fresh,
    services_of,
)
from circumspect.server.request_log import add_log_context
from circumspect.server.responses import (
    After,
    IdPath,
    PageLimit,
    TenantFilter,
    action,
    describe_route,
    find_visible_tenants,
    make_page,
    page_after,
    resource,
    to_response,
)
from circumspect.server.schemas.bodies import AnswerPage
from circumspect.server.schemas.escalations import EscalationShown, PersonsReply, ReplyShown, Resolution
from circumspect.stores import people
from circumspect.stores.people import EscalationRow
from circumspect.values import ConversationId, JsonObject, TurnId

router = resource("escalations")
AwayFrom = Annotated[
    str | None,
    Query(min_length=1, max_length=200, description="Administrators: the colleague from whom it is taken."),
]


@router.get("/v1/escalations", **describe_route(AnswerPage[EscalationShown], 404))
async def list_escalations(
    request: Request,
    who: ReviewerPrincipal,
    tenant: TenantFilter = None,
    state: Annotated[
        Literal["open", "taken", "resolved"] | None, Query(description="Only those in this state.")
    ] = None,
    after: After = None,
    limit: PageLimit = 50,
) -> Response:
    """The newest first."""
    store = services_of(request).store
    rows = await store.tx(
        people.list_escalations, find_visible_tenants(who, tenant), state, page_after(after), limit + 1
    )
    return to_response(make_page(rows, limit, EscalationShown.of, lambda row: (row.created_at, row.id)))


@router.post("/v1/conversations/{conversation_id}/take", **describe_route(EscalationShown, 404, 409))
async def take_conversation(
    request: Request, who: OperatorPrincipal, conversation_id: IdPath, tenant: TenantFilter = None
) -> Response:
    """Take over a conversation that the agent did not hand over. It is then an escalation of yours: reply, hand it back
    and resolve it there."""
    services = services_of(request)
    id_, now, seen = services.ids.new("esc"), services.clock.now(), find_visible_tenants(who, tenant)
    change = action(services, who.name, "take_over")

    def body(connection: sa.Connection) -> EscalationRow:
        row = people.take_conversation(connection, seen, ConversationId(conversation_id), who.name, id_, now)
        change.log(connection, row.tenant, row.id, {"conversation": row.conversation})
        return row

    row = await services.store.tx(body)
    add_log_context(tenant=row.tenant)
    return to_response(EscalationShown.of(row))


@router.get("/v1/escalations/{escalation_id}", **describe_route(EscalationShown, 404))
async def get_escalation(request: Request, who: ReviewerPrincipal, escalation_id: IdPath) -> Response:
    """One escalation."""
    row = await services_of(request).store.tx(people.get_escalation, find_visible_tenants(who, None), escalation_id)
    return to_response(EscalationShown.of(row))


@router.post("/v1/escalations/{escalation_id}/take", **describe_route(EscalationShown, 404, 409))
async def take_escalation(
    request: Request, who: OperatorPrincipal, escalation_id: IdPath, away_from: AwayFrom = None
) -> Response:
    """Take the conversation over: the agent is silent until you hand it back or resolve the escalation."""
    if away_from is not None and not (who.operator and who.operator.role == "admin"):
        raise NotPermitted("What a colleague has can be taken from them by administrators only.", fix="Ask one.")
    now = services_of(request).clock.now()

    def take(connection: sa.Connection, row: EscalationRow) -> None:
        people.take_over(connection, find_visible_tenants(who, None), row.id, who.name, now, away_from)

    return await _act_and_log(request, who, escalation_id, "take_over", take, {"from": away_from} if away_from else {})


@router.post("/v1/escalations/{escalation_id}/hand-back", **describe_route(EscalationShown, 404, 409))
async def hand_back_escalation(request: Request, who: OperatorPrincipal, escalation_id: IdPath) -> Response:
    """Let the agent answer again. The escalation stays yours until it is resolved."""
    return await _act_and_log(
        request,
        who,
        escalation_id,
        "hand_back",
        lambda connection, row: people.hand_back(
            connection, find_visible_tenants(who, None), row.tenant, row.conversation, who.name
        ),
    )


@router.post("/v1/escalations/{escalation_id}/resolve", **describe_route(EscalationShown, 404, 409))
async def resolve_escalation(
    request: Request, who: OperatorPrincipal, escalation_id: IdPath, given: Resolution | None = None
) -> Response:
    """Done with: the agent answers again. Where it is about a call whose outcome nobody knows, say the outcome."""
    now, outcome = services_of(request).clock.now(), given.outcome if given else None
    if outcome is not None:
        require_fresh(request, who)

    def resolve(connection: sa.Connection, row: EscalationRow) -> None:
        people.resolve(connection, find_visible_tenants(who, None), row.id, who.name, now, outcome)

    return await _act_and_log(request, who, escalation_id, "resolve", resolve, {"outcome": outcome} if outcome else {})


@router.post("/v1/escalations/{escalation_id}/reply", **describe_route(ReplyShown, 400, 404, 409, status=201))
async def reply_to_escalation(
    request: Request, who: OperatorPrincipal, escalation_id: IdPath, given: PersonsReply
) -> Response:
    """Answer the user as a person. You have to have taken the conversation over."""
    services = services_of(request)
    turn, now = TurnId(services.ids.new("turn")), services.clock.now()
    change = action(services, who.name, "reply")

    def body(connection: sa.Connection) -> ReplyShown:
        seen = find_visible_tenants(who, None)
        row = people.get_escalation(connection, seen, escalation_id)
        seq = people.person_says(connection, seen, row.tenant, row.conversation, who.name, given.content, turn, now)
        change.log(connection, row.tenant, row.id, {"conversation": row.conversation})
        return ReplyShown(seq=seq, conversation_id=row.conversation)

    return to_response(await services.store.tx(body), 201)


async def _act_and_log(
    request: Request,
    who: Principal,
    escalation: str,
    did: str,
    act: Callable[[sa.Connection, EscalationRow], None],
    detail: JsonObject | None = None,
) -> Response:
    """Do it and write down who did, in one transaction."""
    services = services_of(request)
    change = action(services, who.name, did)

    def body(connection: sa.Connection) -> EscalationRow:
        row = people.get_escalation(connection, find_visible_tenants(who, None), escalation)
        act(connection, row)
        if did == "resolve" and row.state == "resolved":
            return row  # by the same person, who pressed twice
        change.log(connection, row.tenant, row.id, {"conversation": row.conversation, **(detail or {})})
        return people.get_escalation(connection, find_visible_tenants(who, None), escalation)

    row = await services.store.tx(body)
    add_log_context(tenant=row.tenant)
    return to_response(EscalationShown.of(row))
