"""`/v1/chat/completions` and `/v1/models`: any OpenAI client, by changing its base URL."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import Header, Request
from starlette.responses import Response

from circumspect.server.access import ChatCaller, services_of
from circumspect.server.client_routes import route_that_says
from circumspect.server.client_turns import ClientRequest, prepare_turn, refuse
from circumspect.server.openai_format import ChatRequest, ChunkFormat, completion, find_tools, read_talk, with_error
from circumspect.server.problems import HttpProblem
from circumspect.server.responses import KEY, describe_route, resource, to_response
from circumspect.server.schemas.bodies import ID
from circumspect.values import IntentId, TurnId

_Id = TypeVar("_Id")

router = resource("openai", route_that_says(with_error))
MODEL = "circumspect"


@router.get("/v1/models", **describe_route(None, 404, security=KEY, responses={200: {"description": "The models."}}))
async def list_models(request: Request, who: ChatCaller) -> Response:
    """One model: the tenant's agent."""
    setup = await services_of(request).directory.setup(who.tenant)
    shown = {"id": MODEL, "object": "model", "created": 0, "owned_by": who.tenant, "behind": setup.ports.model.name}
    return to_response({"object": "list", "data": [shown]})


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
    request: Request,
    who: ChatCaller,
    given: ChatRequest,
    key: Annotated[
        str | None, Header(alias="Idempotency-Key", min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")
    ] = None,
    named: Annotated[str | None, Header(alias="X-Conversation-Id", min_length=1, max_length=128, pattern=ID)] = None,
) -> Response:
    """OpenAI-compatible. Held calls become words; let-through calls of the client's own tools become `tool_calls`."""
    if given.model not in (MODEL, who.tenant):
        raise HttpProblem(404, "model_not_found", "There is no such model.", fix=f"Use the model '{MODEL}'.")
    asked = ClientRequest(
        talk=read_talk(given),
        content=given.content,
        tools=find_tools(given),
        user=given.user,
        conversation=_pick_conversation_id(given, named),
        key=key,
        answers=_pick_id(given, "answers", IntentId),
        seen=_pick_id(given, "seen", TurnId),
    )
    turn = await prepare_turn(services_of(request), who, asked)
    if given.stream:
        return turn.stream(ChunkFormat(turn.incoming.turn, given, turn.created))
    return await turn.answer(request, lambda result: completion(result, given.model, turn.created), with_error)


def _pick_conversation_id(given: ChatRequest, header: str | None) -> str | None:
    named = (given.metadata or {}).get("conversation_id") or header
    known = ("conversation_id", "answers", "seen")
    unknown = sorted((given.metadata or {}).keys() - {*known})
    if unknown:
        fix = f"Leave it out; known are {', '.join(f'`{one}`' for one in known)}."
        raise refuse(f"`metadata.{unknown[0]}` is not used here.", fix)
    for name in known:
        if (id_ := (given.metadata or {}).get(name)) and not re.fullmatch(ID, id_):
            raise refuse(f"`metadata.{name}` has characters that an id cannot have.", f"It has to match {ID}.")
    return named


def _pick_id(given: ChatRequest, name: str, kind: Callable[[str], _Id]) -> _Id | None:
    """An id that the client's metadata names, checked before."""
    found = (given.metadata or {}).get(name)
    return kind(found) if found else None
