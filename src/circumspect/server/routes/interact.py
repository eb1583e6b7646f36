"""`/v1/agent/interact`: for browser agents and extensions. A page and a task in, one ruled-on action out.

The client carries the action out and sends the page as it is then; what the action did is told by the two snapshots,
not by the client. A question (what only the user knows, or a yes to something that cannot be undone) is answered by the
next request's `query`.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from starlette.responses import Response

from circumspect.server.access import Caller, caller, services_of
from circumspect.server.request_log import about
from circumspect.server.responses import KEY, answer, described, resource
from circumspect.server.routes.conversations import Key
from circumspect.server.running_turns import is_lost
from circumspect.server.schemas.interact import InteractionShown, InteractRequest
from circumspect.server.streams import lost_body
from circumspect.stores.people import get_conversation
from circumspect.values import ConversationId
from circumspect.web.browsing.interaction import Asked, arriving, interaction

router = resource("agent")
Chatting = Annotated[Caller, Depends(caller("chat"))]


@router.post("/v1/agent/interact", **described(InteractionShown, 400, 404, 409, 413, security=KEY))
async def interact(request: Request, who: Chatting, given: InteractRequest, key: Key = None) -> Response:
    """The next action on a web page, an answer, or a question for the user."""
    services = services_of(request)
    about(tenant=who.tenant)
    setup = await services.pages.setup(who.tenant)
    if given.session:
        await services.store.tx(get_conversation, frozenset({who.tenant}), ConversationId(given.session))
    asked = Asked(
        page=given.page.page(given.url),
        query=given.query,
        session=given.session,
        error=given.error,
        key=key,
        person=given.person,
        language=given.language,
    )
    arrived = await arriving(setup, asked)
    about(turn=arrived.incoming.turn)
    if arrived.verified:
        services.metrics.page_action(who.tenant, arrived.verified.success)
    result = await services.turns.take(arrived.incoming, setup)
    if is_lost(result):
        return answer(lost_body(result), 503, headers={"Retry-After": "2"})
    return answer(interaction(arrived, result).to_json())
