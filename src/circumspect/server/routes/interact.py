"""`/v1/agent/interact`: for browser agents and extensions. A page and a task in, one ruled-on action out.

The client carries the action out and sends the page as it is then; what the action did is told by the two snapshots,
not by the client. A question (what only the user knows, or a yes to something that cannot be undone) is answered by the
next request's `query`.
"""

from __future__ import annotations

from dataclasses import replace

from fastapi import Request
from starlette.responses import Response

from circumspect.server.access import ChatCaller, services_of
from circumspect.server.request_log import add_log_context
from circumspect.server.responses import KEY, describe_route, resource
from circumspect.server.routes.conversations import TurnIdempotencyKey, to_turn_response
from circumspect.server.schemas.interact import InteractRequest
from circumspect.stores.people import require_own_conversation
from circumspect.values import ConversationId
from circumspect.web.browsing.interaction import InteractionJson, PageRequest, make_interaction, prepare_turn

router = resource("agent")


@router.post("/v1/agent/interact", **describe_route(InteractionJson, 400, 404, 409, 413, security=KEY))
async def interact(
    request: Request, who: ChatCaller, given: InteractRequest, key: TurnIdempotencyKey = None
) -> Response:
    """The next action on a web page, an answer, or a question for the user."""
    services = services_of(request)
    add_log_context(tenant=who.tenant)
    speaker = who.identify(given.person)
    setup = await services.pages.setup(who.tenant)
    if given.session:
        await services.store.tx(require_own_conversation, who.tenant, ConversationId(given.session), speaker.person)
    lanes = services.lanes
    asked = PageRequest(
        page=await lanes.pages.compute(who.tenant, given.page.page, given.url, lanes.limits),
        query=given.query,
        session=given.session,
        error=given.error,
        key=key,
        person=speaker.person,
        claims=speaker.claims,
        language=given.language,
    )
    arrived = await prepare_turn(setup, asked)
    arrived = replace(arrived, incoming=replace(arrived.incoming, account=who.name))
    add_log_context(turn=arrived.incoming.turn)
    if arrived.verified:
        services.metrics.page_action(who.tenant, arrived.verified.success)
    result = await services.turns.take(arrived.incoming, setup)
    return to_turn_response(result, lambda done: make_interaction(arrived, done).to_json())
