"""`/v1/chat/completions` and `/v1/models`: any OpenAI client, by changing its base URL."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Request
from starlette.responses import Response

from circumspect.server.access import Caller, ChatCaller, services_of
from circumspect.server.anthropic_answers import describe_model, write_models
from circumspect.server.client_models import find_setup, list_names
from circumspect.server.client_routes import ClientKey, ConversationName, read_id, route_that_says
from circumspect.server.client_turns import ClientRequest, note_ignored, prepare_turn
from circumspect.server.openai_format import (
    ChatRequest,
    ChunkFormat,
    completion,
    find_tools,
    read_form,
    read_options,
    read_talk,
)
from circumspect.server.problems import is_from_anthropic_client, with_error
from circumspect.server.responses import KEY, describe_route, resource, to_response
from circumspect.server.services import Services
from circumspect.values import IntentId, TurnId

router = resource("openai", route_that_says(with_error))
ModelName = Annotated[str, Path(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")]


@router.get("/v1/models", **describe_route(None, 404, security=KEY, responses={200: {"description": "The models."}}))
async def list_models(request: Request, who: ChatCaller) -> Response:
    """The names that a client may ask for. Any other name gets the tenant's own model, as the first of them does."""
    services = services_of(request)
    names = await list_names(services, who.tenant)
    if is_from_anthropic_client(request):
        return to_response(write_models(names))
    shown = [await _describe_model(services, who, name) for name in names]
    return to_response({"object": "list", "data": shown})


@router.get(
    "/v1/models/{name:path}",
    **describe_route(None, 404, security=KEY, responses={200: {"description": "One model."}}),
)
async def get_model(request: Request, who: ChatCaller, name: ModelName) -> Response:
    """What stands behind a name: any name, since each is served."""
    if is_from_anthropic_client(request):
        return to_response(describe_model(name))
    return to_response(await _describe_model(services_of(request), who, name))


async def _describe_model(services: Services, who: Caller, name: str) -> dict[str, Any]:
    setup = await find_setup(services, who.tenant, name)
    return {"id": name, "object": "model", "created": 0, "owned_by": who.tenant, "behind": setup.ports.model.name}


@router.post(
    "/v1/chat/completions",
    **describe_route(
        None,
        400,
        404,
        security=KEY,
        responses={
            200: {
                "description": "A chat completion, or its chunks with `stream: true`. What was decided and why is in "
                "the extension field `circumspect`.",
                "content": {"application/json": {"schema": {"type": "object"}}, "text/event-stream": {}},
            }
        },
    ),
)
async def create_chat_completion(
    request: Request, who: ChatCaller, given: ChatRequest, key: ClientKey = None, named: ConversationName = None
) -> Response:
    """OpenAI-compatible. Held calls become words; let-through calls of the client's own tools become `tool_calls`."""
    told = given.metadata or {}
    asked = ClientRequest(
        talk=read_talk(given),
        content=given.content,
        model=given.model,
        tools=find_tools(given),
        options=read_options(given),
        form=read_form(given),
        user=given.user,
        conversation=read_id("metadata.conversation_id", told.get("conversation_id"), str) or named,
        key=key,
        answers=read_id("metadata.answers", told.get("answers"), IntentId),
        seen=read_id("metadata.seen", told.get("seen"), TurnId),
    )
    turn = await prepare_turn(services_of(request), who, asked)
    noted = note_ignored(given.ignored)
    if given.stream:
        return turn.stream(ChunkFormat(turn.incoming.turn, given, turn.created), noted)
    return await turn.answer(request, lambda result: completion(result, given, turn.created), with_error, noted)
