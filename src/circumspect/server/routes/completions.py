"""`/v1/chat/completions` and `/v1/models`: any OpenAI client, by changing its base URL.

Without tools of its own the client talks to the tenant's agent. With tools of its own it runs them: the model's calls
come back only after they were ruled on, held ones as words to the user, confirmed ones exactly as they were confirmed.
Text streams; a call is never sent in pieces before the verdict is in.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, TypeVar

import orjson
from fastapi import Header, Request
from starlette.background import BackgroundTask
from starlette.responses import Response, StreamingResponse

from circumspect.errors import CircumspectError, ToolError
from circumspect.policy.arguments import validator
from circumspect.server import client_chats
from circumspect.server.access import ChatCaller, services_of
from circumspect.server.openai_format import (
    ChatRequest,
    chunk,
    completion,
    extension,
    finish,
    make_reply_message,
    read_chat,
    specs_of,
    tool_calls,
    usage,
    with_error,
)
from circumspect.server.problems import HttpProblem, body_of, response_to
from circumspect.server.request_log import StrictRoute, add_log_context
from circumspect.server.responses import KEY, describe_route, encode_json, resource, to_response
from circumspect.server.schemas.bodies import ID
from circumspect.server.services import Services
from circumspect.server.streams import HEADERS, describe_lost_turn, drain
from circumspect.server.unanswered_requests import find_unanswered, identify, mark_answered
from circumspect.setup import TurnSetup
from circumspect.values import ClientResults, Incoming, IntentId, JournalEntry, Json, ToolSpec, TurnId, TurnResult

log = logging.getLogger(__name__)
_Id = TypeVar("_Id")


class OpenAIRoute(StrictRoute):
    """Whatever is wrong is also said as OpenAI says it: its clients show nothing else."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def answer_as_openai(request: Request) -> Response:
            try:
                return await handler(request)
            except Exception as error:
                response = await response_to(request, error)
                body, status = orjson.loads(response.body), response.status_code
                kept = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
                return to_response(with_error(body, status), status, kept)

        return answer_as_openai


router = resource("openai", OpenAIRoute)
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
    services = services_of(request)
    if given.model not in (MODEL, who.tenant):
        raise HttpProblem(404, "model_not_found", "There is no such model.", fix=f"Use the model '{MODEL}'.")
    talk = read_chat(given)
    if not talk.newest:
        raise _invalid("The last message has to be the user's or a tool's.", "Add what the user said.")
    setup = _with_clients_tools(await services.directory.setup(who.tenant), given)
    speaker = who.identify(given.user or None)
    sender = client_chats.ChatSender(who.tenant, who.key, speaker.person)
    named = _pick_conversation_id(given, named)
    again = None if key else identify(sender.owner, given, named)
    joined = await find_unanswered(services, sender, again) if again else None
    thread = await client_chats.find(services, setup, sender, talk, joined or named, key)
    # Either the user's new words, or what the client's tools returned.
    errand = ClientResults(thread.returned) if talk.results and not talk.text else None
    incoming = Incoming(
        tenant=who.tenant,
        conversation=thread.conversation,
        turn=TurnId(services.ids.new("turn")),
        text=talk.text,
        at=services.clock.now(),
        key=key or again,
        principal=speaker.principal,
        person=speaker.person,
        claims=speaker.claims,
        account=who.name,
        errand=errand,
        # With its own tools the model sees the talk as the client has it: what those returned is nowhere else.
        talk=(*talk.earlier, *talk.newest) if given.tools else (),
        instructions=talk.instructions,
        returned=() if errand else thread.returned,
        answers=_pick_id(given, "answers", IntentId),
        seen=_pick_id(given, "seen", TurnId),
        heard=talk.earlier[-1].text if talk.earlier else "",
    )
    add_log_context(tenant=who.tenant, turn=incoming.turn)

    async def after(result: TurnResult) -> None:
        if (result.turn == incoming.turn or joined) and not result.lost:
            said = (*talk.earlier, *talk.newest, make_reply_message(result))
            await client_chats.remember(services, sender, said, result)

    created = int(services.clock.now().timestamp())
    if given.stream:
        chunks = Chunks(incoming.turn, given, created)
        task = services.turns.start(incoming, setup, chunks, after)
        task.add_done_callback(chunks.end)
        answered = partial(_note_answer, services, task, again)
        return StreamingResponse(chunks.events(answered), media_type="text/event-stream", headers=HEADERS)
    result = await services.turns.take(incoming, setup, after)
    if result.lost:
        return to_response(with_error(describe_lost_turn(result), 503), 503, headers={"Retry-After": "2"})
    response = to_response(completion(result, given.model, created))
    # Whoever has hung up gets no answer; and after the last byte nobody can tell.
    if again and not await request.is_disconnected():
        response.background = BackgroundTask(mark_answered, services, again, result.turn)
    return response


async def _note_answer(services: Services, task: asyncio.Task[TurnResult], again: str | None) -> None:
    """The last piece of a stream went out."""
    if again and not task.cancelled() and not task.exception() and not task.result().lost:
        await mark_answered(services, again, task.result().turn)


class ClientTools:
    """The `Tools` port over what a client declares. Nothing in it can be called from here."""

    def __init__(self, specs: Mapping[str, ToolSpec]) -> None:
        self._specs = specs

    def specs(self) -> Mapping[str, ToolSpec]:
        return self._specs

    async def call(self, name: str, arguments: Mapping[str, Json], key: str) -> Json:
        raise ToolError(f"The tool '{name}' is run by the client.")

    async def lookup(self, name: str, arguments: Mapping[str, Json], key: str) -> Json | None:
        return None


def _with_clients_tools(setup: TurnSetup, given: ChatRequest) -> TurnSetup:
    if not given.tools and given.tool_choice != "none":
        if any(message.role == "tool" for message in given.messages):
            raise _invalid("There are tool results, and no tools.", "Send the same `tools` as before.")
        return setup
    specs = specs_of(given.tools or ()) if given.tool_choice != "none" else {}
    for spec in specs.values():
        validator(spec)
    tools = ClientTools(specs)
    return replace(setup, tenant=replace(setup.tenant, tools=None), ports=replace(setup.ports, tools=tools))


def _pick_conversation_id(given: ChatRequest, header: str | None) -> str | None:
    named = (given.metadata or {}).get("conversation_id") or header
    known = ("conversation_id", "answers", "seen")
    unknown = sorted((given.metadata or {}).keys() - {*known})
    if unknown:
        fix = f"Leave it out; known are {', '.join(f'`{one}`' for one in known)}."
        raise _invalid(f"`metadata.{unknown[0]}` is not used here.", fix)
    for name in known:
        if (id_ := (given.metadata or {}).get(name)) and not re.fullmatch(ID, id_):
            raise _invalid(f"`metadata.{name}` has characters that an id cannot have.", f"It has to match {ID}.")
    return named


def _pick_id(given: ChatRequest, name: str, kind: Callable[[str], _Id]) -> _Id | None:
    """An id that the client's metadata names, checked before."""
    found = (given.metadata or {}).get(name)
    return kind(found) if found else None


def _invalid(problem: str, fix: str) -> HttpProblem:
    return HttpProblem(422, "invalid", problem, fix=fix)


class Chunks:
    """A `Listener` that writes what it hears as chunks of a chat completion."""

    def __init__(self, turn: TurnId, given: ChatRequest, created: int) -> None:
        self._turn, self._model, self._created = turn, given.model, created
        self._with_usage = bool(given.stream_options and given.stream_options.include_usage)
        self._queue: asyncio.Queue[Mapping[str, Any] | None] = asyncio.Queue()
        self._said = ""
        self._put({"role": "assistant", "content": ""})

    def _put(self, delta: Mapping[str, Any], **more: Any) -> None:
        self._queue.put_nowait(chunk(self._turn, self._model, self._created, delta, **more))

    def entry(self, entry: JournalEntry) -> None:
        """What happens inside is not for a chat client."""

    def text(self, piece: str) -> None:
        if piece:
            self._said += piece
            self._put({"content": piece})

    def end(self, task: asyncio.Task[TurnResult]) -> None:
        error = None if task.cancelled() else task.exception()
        if task.cancelled() or error is not None:
            if error is not None and not isinstance(error, CircumspectError):
                log.error("turn failed", exc_info=error)
            broken = CircumspectError("The turn was broken off.", fix="Send it again with the same Idempotency-Key.")
            self._wrong(body_of(error if isinstance(error, CircumspectError) else broken))
        elif (result := task.result()).lost:
            self._wrong(describe_lost_turn(result))
        else:
            self._finish(result)
        self._queue.put_nowait(None)

    def _wrong(self, body: Mapping[str, Any]) -> None:
        self._queue.put_nowait({"error": {**body, **with_error(body, 503)["error"]}})

    def _finish(self, result: TurnResult) -> None:
        if result.reply.startswith(self._said):
            self.text(result.reply[len(self._said) :])
        for place, call in enumerate(tool_calls(result)):
            self._put({"tool_calls": [{"index": place, **call}]})
        self._put({}, finish_reason=finish(result), circumspect=extension(result))
        if self._with_usage:
            last = chunk(self._turn, self._model, self._created, {}, usage=usage(result))
            self._queue.put_nowait({**last, "choices": []})

    async def events(self, after: Callable[[], Awaitable[None]]) -> AsyncIterator[bytes]:
        """`after` is for when all of it went out."""
        async for piece in drain(self._queue, lambda item: b"data: " + encode_json(item).strip() + b"\n\n"):
            yield piece
        yield b"data: [DONE]\n\n"
        await after()
