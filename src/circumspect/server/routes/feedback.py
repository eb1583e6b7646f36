"""`/v1/conversations/…/turns/…/feedback`: was the turn right? By the tenant's program for its user, or by an operator.

One word a turn from each: a later one takes the place of an earlier. It judges what the turn decided, so a thumb down
on a turn that handed over says that there was no need to. What it said is kept with the decision and its confidence,
and is deleted with the conversation.
"""

from __future__ import annotations

from typing import Annotated

import sqlalchemy as sa
from fastapi import Depends, Request
from starlette.responses import Response

from circumspect.lab.learning.outcome_stories import story_of
from circumspect.server.access import Principal, either, services_of
from circumspect.server.problems import not_found
from circumspect.server.request_log import add_log_context
from circumspect.server.responses import (
    IdPath,
    TenantFilter,
    action,
    describe_route,
    find_visible_tenants,
    resource,
    to_response,
)
from circumspect.server.schemas.feedback import FeedbackGiven, FeedbackShown
from circumspect.stores import labels
from circumspect.stores.codec import epoch
from circumspect.stores.labels import LabelRow, split_of
from circumspect.stores.people import get_conversation
from circumspect.values import ConversationId

router = resource("conversations")
FeedbackPrincipal = Annotated[Principal, Depends(either("chat", ("operator", "reviewer")))]


@router.post(
    "/v1/conversations/{conversation_id}/turns/{turn_id}/feedback",
    **describe_route(FeedbackShown, 400, 404, status=201),
)
async def give_feedback(
    request: Request,
    who: FeedbackPrincipal,
    conversation_id: IdPath,
    turn_id: IdPath,
    given: FeedbackGiven,
    tenant: TenantFilter = None,
) -> Response:
    """Say whether a turn was right, and what would have been."""
    services = services_of(request)
    seen, now = find_visible_tenants(who, tenant), services.clock.now()
    person = who.caller.identify(given.person).person if who.caller else None
    change = action(services, who.name, "feedback")

    def body(connection: sa.Connection) -> FeedbackShown:
        found = get_conversation(connection, seen, ConversationId(conversation_id), person=person)
        story = story_of(connection, found.tenant, found.id)
        if story is None or turn_id not in story.ended:
            raise not_found("turn")
        decided = story.read_decision(turn_id)
        row = LabelRow(
            tenant=found.tenant,
            id=f"{turn_id}:{who.name}",
            conversation=found.id,
            turn=turn_id,
            kind="thumbs_up" if given.thumb == "up" else "thumbs_down" if given.correction is None else "correct",
            tool=decided.tool or None,
            decision=decided.decision,
            confidence=decided.confidence,
            value={"thumb": given.thumb, "correction": given.correction},
            split=split_of(found.tenant, found.id),
            by=who.name,
            at=epoch(now),
        )
        labels.put(connection, row)
        if who.operator is not None:
            change.log(connection, found.tenant, found.id, {"turn": turn_id, "thumb": given.thumb})
        return FeedbackShown.of(row, thumb=given.thumb, correction=given.correction)

    said = await services.store.tx(body)
    add_log_context(tenant=said.tenant, turn=turn_id)
    return to_response(said, 201)
