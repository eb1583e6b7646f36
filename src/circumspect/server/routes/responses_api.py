"""`/v1/responses`: OpenAI's Responses API, by changing the base URL.

A response is a turn. A client that names the response it goes on from sends only what is new: the talk up to there is
ours. One that goes on from an earlier response than the newest begins a conversation of its own, with the same past.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Request
from starlette.responses import Response

from circumspect.server.access import ChatCaller, services_of
from circumspect.server.client_routes import ClientKey, ConversationName, read_id, route_that_says
from circumspect.server.client_turns import ClientRequest, note_ignored, prepare_turn, refuse
from circumspect.server.openai_responses_answers import ResponseEvents, write_response
from circumspect.server.openai_responses_format import (
    CALL,
    MESSAGE,
    RESPONSE,
    ResponsesRequest,
    choose_options,
    declare_tools,
    find_form,
    list_hosted_tools,
    list_references,
    read_items,
)
from circumspect.server.problems import HttpProblem, with_error
from circumspect.server.responses import KEY, PersonFilter, describe_route, resource, to_response
from circumspect.server.services import Services
from circumspect.server.stores import former_replies
from circumspect.server.stores.former_replies import FormerTalk
from circumspect.values import ChatMessage, ConversationId, IntentId, TenantId, TurnId

router = resource("openai", route_that_says(with_error))
_ANSWER: dict[str, Any] = {
    "description": "A response, or its events with `stream: true`. What was decided and why is in the extension field "
    "`circumspect`.",
    "content": {"application/json": {"schema": {"type": "object"}}, "text/event-stream": {}},
}


@router.post("/v1/responses", **describe_route(None, 400, 404, security=KEY, responses={200: _ANSWER}))
async def create_response(
    request: Request, who: ChatCaller, given: ResponsesRequest, key: ClientKey = None, named: ConversationName = None
) -> Response:
    """OpenAI-compatible. Held calls become words; let-through calls of the client's own tools become items of the type
    `function_call`."""
    services = services_of(request)
    if hosted := list_hosted_tools(given):
        raise refuse(
            f"Tools of the type {' and '.join(hosted)} would run at OpenAI, where nobody rules on their calls.",
            "Leave them out, or declare functions that your program runs.",
        )
    person = who.identify(given.user or None).person
    metadata = given.metadata or {}
    past = await _find_past(services, who.tenant, person, given)
    referred = await _find_referred(services, who.tenant, person, list_references(given))
    asked = ClientRequest(
        talk=read_items(given, past.said if past else (), referred),
        content=given.model_dump(mode="json", exclude={"stream"}),
        model=given.model,
        tools=declare_tools(given),
        options=choose_options(given),
        form=find_form(given),
        user=given.user,
        conversation=read_id("conversation", given.named_conversation, str)
        or read_id("metadata.conversation_id", metadata.get("conversation_id"), str)
        or named,
        goes_on_in=past.conversation if past and past.is_newest else None,
        key=key,
        answers=read_id("metadata.answers", metadata.get("answers"), IntentId),
        seen=read_id("metadata.seen", metadata.get("seen"), TurnId),
    )
    turn = await prepare_turn(services, who, asked)
    noted = note_ignored(given.ignored)
    if given.stream:
        return turn.stream(ResponseEvents(turn.incoming.turn, given, turn.created), noted)
    return await turn.answer(request, lambda result: write_response(result, given, turn.created), with_error, noted)


@router.get("/v1/responses/{response_id}", **describe_route(None, 404, security=KEY, responses={200: _ANSWER}))
async def get_response(
    request: Request,
    who: ChatCaller,
    response_id: Annotated[str, Path(max_length=200)],
    person: PersonFilter = None,
) -> Response:
    """A response as it was given; what its request asked for is not kept."""
    turn = _read_response_id(response_id)
    reader = who.identify(person).person
    found = await services_of(request).store.tx(former_replies.find_reply, who.tenant, reader, turn)
    if found is None:
        raise _not_found()
    return to_response(write_response(found.result, ResponsesRequest(model="circumspect", input=""), int(found.at)))


async def _find_past(
    services: Services, tenant: TenantId, person: str | None, given: ResponsesRequest
) -> FormerTalk | None:
    """What we have of the talk, where the client leaves it to us to keep it."""
    conversation = read_id("conversation", given.named_conversation, ConversationId)
    if given.previous_response_id is None:
        if conversation is None:
            return None
        return await services.store.tx(former_replies.read_conversation, tenant, person, conversation)
    if conversation is not None:
        raise refuse(
            "Both a conversation and a response to go on from are named.",
            "Leave out either `previous_response_id` or `conversation`.",
        )
    turn = _read_response_id(given.previous_response_id)
    past = await services.store.tx(former_replies.read_talk, tenant, person, turn)
    if past is None:
        raise _not_found()
    return past


async def _find_referred(
    services: Services, tenant: TenantId, person: str | None, ids: list[str]
) -> dict[str, ChatMessage]:
    """Items that the client names by id only."""
    if not ids:
        return {}
    said = [id_.removeprefix(MESSAGE) for id_ in ids if id_.startswith(MESSAGE)]
    called = [id_.removeprefix(CALL) for id_ in ids if id_.startswith(CALL)]
    replies = await services.store.tx(former_replies.list_replies, tenant, person, said)
    calls = await services.store.tx(former_replies.list_calls, tenant, person, called)
    found = {MESSAGE + id_: one for id_, one in replies.items()} | {CALL + id_: one for id_, one in calls.items()}
    if not found.keys() >= {*ids}:
        raise HttpProblem(
            404, "not_found", "There is no such item.", fix="Send the item itself instead of an `item_reference`."
        )
    return found


def _read_response_id(given: str) -> TurnId:
    turn = read_id("response id", given.removeprefix(RESPONSE), TurnId)
    if turn is None or not given.startswith(RESPONSE):
        raise _not_found()
    return turn


def _not_found() -> HttpProblem:
    return HttpProblem(
        404, "not_found", "There is no such response.", fix="Check the id, whose key you use, and for which user."
    )
