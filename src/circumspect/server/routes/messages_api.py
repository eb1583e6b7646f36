"""`/v1/messages`: Anthropic's Messages API, by changing the base URL."""

from __future__ import annotations

from typing import Any, NoReturn

from fastapi import Request
from starlette.responses import Response

from circumspect.models.pricing import estimate_tokens
from circumspect.server.access import ChatCaller, services_of
from circumspect.server.anthropic_answers import AnthropicEvents, write_anthropic_message
from circumspect.server.anthropic_format import (
    CountRequest,
    MessagesRequest,
    choose_options,
    declare_tools,
    find_form,
    list_hosted_tools,
    read_messages,
)
from circumspect.server.client_routes import ClientKey, ConversationName, read_id, route_that_says
from circumspect.server.client_turns import ClientRequest, note_ignored, prepare_turn, refuse
from circumspect.server.problems import with_anthropic_error
from circumspect.server.responses import KEY, describe_route, resource, to_response
from circumspect.stores.codec import dumps
from circumspect.values import IntentId, TurnId

router = resource("anthropic", route_that_says(with_anthropic_error))
_ANSWER: dict[str, Any] = {
    "description": "A message, or its events with `stream: true`. What was decided and why is in the extension field "
    "`circumspect`.",
    "content": {"application/json": {"schema": {"type": "object"}}, "text/event-stream": {}},
}


@router.post("/v1/messages", **describe_route(None, 400, 404, security=KEY, responses={200: _ANSWER}))
async def create_message(
    request: Request, who: ChatCaller, given: MessagesRequest, key: ClientKey = None, named: ConversationName = None
) -> Response:
    """Anthropic-compatible. Held calls become words; let-through calls of the client's own tools become `tool_use`
    blocks."""
    _refuse_hosted_tools(given)
    form, talk = find_form(given), read_messages(given)
    if not talk.newest:
        _refuse_without_news(given)
    asked = ClientRequest(
        talk=talk,
        content=given.model_dump(mode="json", exclude={"stream"}),
        model=given.model,
        tools=declare_tools(given),
        options=choose_options(given),
        form=form,
        user=given.named.user_id,
        conversation=read_id("metadata.conversation_id", given.named.conversation_id, str) or named,
        key=key,
        answers=read_id("metadata.answers", given.named.answers, IntentId),
        seen=read_id("metadata.seen", given.named.seen, TurnId),
    )
    turn = await prepare_turn(services_of(request), who, asked)
    noted = note_ignored(given.ignored)
    if given.stream:
        return turn.stream(AnthropicEvents(turn.incoming.turn, given.model, form), noted)
    return await turn.answer(
        request, lambda result: write_anthropic_message(result, given.model, form), with_anthropic_error, noted
    )


@router.post(
    "/v1/messages/count_tokens",
    **describe_route(None, 400, security=KEY, responses={200: {"description": "How many tokens it is, about."}}),
)
async def count_tokens(request: Request, who: ChatCaller, given: CountRequest) -> Response:
    """An estimate of the talk as it was sent. What we add to a prompt is not in it."""
    _refuse_hosted_tools(given)
    talk = read_messages(given)
    said = [one.text for one in talk.messages] + [dumps(one.calls) for one in talk.messages if one.calls]
    tools = [dumps(one.model_dump()) for one in given.tools or ()]
    return to_response({"input_tokens": estimate_tokens(talk.instructions, *said, *tools)})


def _refuse_without_news(given: MessagesRequest) -> NoReturn:
    match given.messages[-1].role:
        case "assistant":
            raise refuse(
                "The last message is the assistant's: the beginning of a reply (a prefill) is not taken.",
                "End with the user's message; `output_config.format` is for replies that have to be data.",
            )
        case "user":
            raise refuse("The last message is empty.", "Say in it what the user said, or what a tool returned.")
        case _:
            raise refuse("The last message has to be the user's.", "Add what the user said.")


def _refuse_hosted_tools(given: CountRequest) -> None:
    if hosted := list_hosted_tools(given):
        raise refuse(
            f"Tools of the type {' and '.join(hosted)} are Anthropic's own, and no policy here can name them.",
            "Leave them out, or declare tools with an `input_schema` that your program runs.",
        )
