"""`/v1/conversations/{id}/confirmations`: the user's own yes or no, given by a button instead of words.

It names the question it answers, so nothing is read out of a message; all else holds as for a spoken yes: exactly that
call, while the question is fresh, once. A call that waits for a colleague is not the user's to decide, and is not found
here.
"""

from __future__ import annotations

from dataclasses import replace

import sqlalchemy as sa
from fastapi import Request
from starlette.responses import Response

from circumspect.language.catalogue import say_answer
from circumspect.server.access import ChatCaller, services_of
from circumspect.server.end_users import EndUser
from circumspect.server.problems import not_found
from circumspect.server.request_log import add_log_context
from circumspect.server.responses import KEY, IdPath, describe_route, resource
from circumspect.server.routes.conversations import TurnIdempotencyKey, answer_turn
from circumspect.server.schemas.confirmations import Confirmation, ConfirmationGiven
from circumspect.server.services import Services
from circumspect.stores.people import get_own_conversation
from circumspect.stores.tables import intents
from circumspect.values import ConversationId, Incoming, IntentId, Language, PersonDecision, TenantId, TurnId, TurnJson

router = resource("conversations")


_STREAMED = {
    200: {
        "model": TurnJson,
        "description": "What became of it. A question that was settled before has `PENDING_INTENT_MISSING`, and "
        "nothing ran. With `Accept: text/event-stream`, events as for a message.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


@router.post(
    "/v1/conversations/{conversation_id}/confirmations",
    **describe_route(None, 400, 404, security=KEY, responses=_STREAMED),
)
async def confirm(
    request: Request, who: ChatCaller, conversation_id: IdPath, given: Confirmation, key: TurnIdempotencyKey = None
) -> Response:
    """Answer a question that waits for the user's yes (`pending` of kind `confirmation`)."""
    services = services_of(request)
    incoming = await decision(services, who.tenant, conversation_id, given, key, who.identify(given.person))
    incoming = replace(incoming, account=who.name)
    setup = await services.directory.setup(who.tenant)
    return await answer_turn(request, incoming, setup)


async def decision(
    services: Services,
    tenant: TenantId,
    conversation_id: str,
    given: ConfirmationGiven,
    key: str | None,
    speaker: EndUser,
) -> Incoming:
    """The user's decision on its way in; a question that is not there, or not this user's, is not found."""
    conversation, intent = ConversationId(conversation_id), IntentId(given.intent_id)
    language = await services.store.tx(_require_users_question, tenant, conversation, intent, speaker.person)
    words = say_answer(language or "en", given.decision == "approve")
    incoming = Incoming(
        tenant=tenant,
        conversation=conversation,
        turn=TurnId(services.ids.new("turn")),
        text="",
        at=services.clock.now(),
        key=key,
        principal=speaker.principal,
        person=speaker.person,
        claims=speaker.claims,
        errand=PersonDecision(intent, given.decision, speaker.principal, words=words),
    )
    add_log_context(tenant=tenant, turn=incoming.turn)
    return incoming


def _require_users_question(
    connection: sa.Connection,
    tenant: TenantId,
    conversation: ConversationId,
    intent: IntentId,
    person: str | None,
) -> Language | None:
    """The language of the conversation in which it was asked."""
    found = get_own_conversation(connection, tenant, conversation, person)
    query = sa.select(intents.c.id).where(
        intents.c.id == intent,
        intents.c.tenant == tenant,
        intents.c.conversation == conversation,
        intents.c.kind == "confirmation",
    )
    if connection.execute(query).one_or_none() is None:
        raise not_found("question")
    return found.language
