"""A chat client's request in, a turn and its answer out: what all formats of such clients have in common.

    turn = await prepare_turn(services, who, request)
    return await turn.answer(connection, write, write_problem)      # or, piece by piece: turn.stream(format)

Without tools of its own the client talks to the tenant's agent. With tools of its own it runs them: the model's calls
come back only after they were ruled on, held ones as words to the user, confirmed ones exactly as they were confirmed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fastapi import Request
from starlette.background import BackgroundTask
from starlette.responses import Response, StreamingResponse

from circumspect.errors import ToolError
from circumspect.server import client_chats
from circumspect.server.access import Caller
from circumspect.server.brought_tools import check_schemas
from circumspect.server.client_chats import ChatSender
from circumspect.server.client_models import find_setup
from circumspect.server.client_talk import ClientTalk, make_reply_message
from circumspect.server.problems import HttpProblem
from circumspect.server.reply_forms import ReplyForm
from circumspect.server.reply_streams import ReplyStream, StreamFormat
from circumspect.server.request_log import add_log_context
from circumspect.server.responses import to_response
from circumspect.server.services import Services
from circumspect.server.streams import HEADERS, describe_lost_turn
from circumspect.server.unanswered_requests import find_unanswered, identify, mark_answered
from circumspect.setup import TurnSetup
from circumspect.values import (
    ClientResults,
    ConversationId,
    Incoming,
    IntentId,
    Json,
    JsonObject,
    ModelOptions,
    ToolSpec,
    TurnId,
    TurnResult,
)


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """What a chat client asks for, in our words."""

    talk: ClientTalk
    content: JsonObject
    """All that was sent and matters, by which the request is recognised when it is sent again."""
    tools: Mapping[str, ToolSpec] | None = None
    """The client's own. None leaves it to the tenant's; none at all is an empty mapping."""
    model: str = ""
    """As the client calls it: `client_models.py`."""
    options: ModelOptions | None = None
    form: ReplyForm | None = None
    """Set where the reply has to be data."""
    user: str | None = None
    """The tenant's own id of the end user."""
    conversation: str | None = None
    goes_on_in: ConversationId | None = None
    """Where it belongs as far as we know, though the client does not name it."""
    key: str | None = None
    """The client's Idempotency-Key."""
    answers: IntentId | None = None
    seen: TurnId | None = None


async def prepare_turn(services: Services, who: Caller, request: ClientRequest) -> ClientTurn:
    """The conversation is found or begun, and nothing else has happened."""
    talk = request.talk
    if not talk.newest:
        raise refuse("The last message has to be the user's or a tool's.", "Add what the user said.")
    setup = await find_setup(services, who.tenant, request.model)
    as_it_is = setup.profiles["standard"].passthrough
    if as_it_is and request.tools is None:
        request = replace(request, tools={})
    setup = _with_form(await _with_clients_tools(setup, request), request.form)
    if request.tools:
        await services.seen_tools.note(who.tenant, request.tools)
    speaker = who.identify(request.user or None)
    sender = ChatSender(who.tenant, who.key, speaker.person)
    again = None if request.key else identify(sender.owner, request.content, request.conversation)
    joined = await find_unanswered(services, sender, again) if again else None
    named = joined or request.conversation or request.goes_on_in
    thread = await client_chats.find(services, setup, sender, talk, named, request.key)
    # Either the user's new words, or what the client's tools returned.
    errand = ClientResults(thread.returned) if talk.results and not talk.text else None
    incoming = Incoming(
        tenant=who.tenant,
        conversation=thread.conversation,
        turn=TurnId(services.ids.new("turn")),
        text=talk.text,
        at=services.clock.now(),
        key=request.key or again,
        principal=speaker.principal,
        person=speaker.person,
        claims=speaker.claims,
        account=who.name,
        errand=errand,
        # With its own tools the model sees the talk as the client has it: what those returned is nowhere else.
        talk=talk.as_sent if as_it_is else talk.messages if request.tools else (),
        instructions=talk.opening if as_it_is else talk.instructions,
        options=request.options,
        form=request.form.schema if request.form else None,
        returned=() if errand else thread.returned,
        answers=request.answers,
        seen=request.seen,
        heard=talk.earlier[-1].text if talk.earlier else "",
    )
    add_log_context(tenant=who.tenant, turn=incoming.turn)
    return ClientTurn(services, sender, talk, setup, incoming, again, joined)


@dataclass(frozen=True)
class ClientTurn:
    """A turn that is about to run, for a client that waits for it."""

    services: Services
    sender: ChatSender
    talk: ClientTalk
    setup: TurnSetup
    incoming: Incoming
    again: str | None
    """By what it is recognised when the client sends it again without a key."""
    joined: ConversationId | None
    """Where it was begun before and got no answer."""

    @property
    def created(self) -> int:
        return int(self.incoming.at.timestamp())

    async def answer(
        self,
        connection: Request,
        write: Callable[[TurnResult], Mapping[str, Any]],
        write_problem: Callable[[Mapping[str, Any], int], Mapping[str, Any]],
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """The turn's whole answer as the client's format has it."""
        result = await self.services.turns.take(self.incoming, self.setup, self._remember)
        if result.lost:
            return to_response(write_problem(describe_lost_turn(result), 503), 503, headers={"Retry-After": "2"})
        response = to_response(write(result), headers=headers)
        # Whoever has hung up gets no answer; and after the last byte nobody can tell.
        if self.again and not await connection.is_disconnected():
            response.background = BackgroundTask(mark_answered, self.services, self.again, result.turn)
        return response

    def stream(self, written: StreamFormat, headers: Mapping[str, str] | None = None) -> Response:
        """The same in pieces, as they come. Text streams; a call is never sent before the verdict is in."""
        pieces = ReplyStream(written)
        task = self.services.turns.start(self.incoming, self.setup, pieces, self._remember)
        task.add_done_callback(pieces.end)
        events = pieces.events(lambda: self._note_answer(task))
        return StreamingResponse(events, media_type="text/event-stream", headers={**HEADERS, **(headers or {})})

    async def _remember(self, result: TurnResult) -> None:
        if (result.turn == self.incoming.turn or self.joined) and not result.lost:
            said = (*self.talk.messages, make_reply_message(result))
            await client_chats.remember(self.services, self.sender, said, result)

    async def _note_answer(self, task: asyncio.Future[TurnResult]) -> None:
        """The last piece of a stream went out."""
        if self.again and not task.cancelled() and not task.exception() and not task.result().lost:
            await mark_answered(self.services, self.again, task.result().turn)


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


async def _with_clients_tools(setup: TurnSetup, request: ClientRequest) -> TurnSetup:
    known = setup.ports.tools.specs() if request.tools is None else request.tools
    choices = request.options.choices if request.options else ()
    if unknown := [name for name in choices if name not in known]:
        # Of a choice that is not there only "some tool" would be left, and that is not what was asked for.
        raise refuse(f"`tool_choice` names no tool of this request: {', '.join(unknown)}.", "Name one of its `tools`.")
    if request.tools is None:
        if any(message.role == "tool" for message in request.talk.messages):
            raise refuse("There are tool results, and no tools.", "Send the same `tools` as before.")
        return setup
    await check_schemas(request.tools.values())
    # What the tenant declares holds, whatever a client says of a tool with that name.
    tools = ClientTools({name: setup.clients.get(name, spec) for name, spec in request.tools.items()})
    return replace(setup, tenant=replace(setup.tenant, tools=None), ports=replace(setup.ports, tools=tools))


def _with_form(setup: TurnSetup, form: ReplyForm | None) -> TurnSetup:
    """Data has no room for an assessment beside it."""
    if form is None:
        return setup
    form.check()
    return replace(setup, profiles=dict.fromkeys(setup.profiles, setup.profiles["standard"]))


def note_ignored(names: Iterable[str]) -> dict[str, str]:
    """The header that names what a client asked for and what makes no difference here."""
    ignored = ", ".join(sorted(names))
    return {"X-Circumspect-Ignored": ignored} if ignored else {}


def refuse(problem: str, fix: str) -> HttpProblem:
    """A request that cannot be taken as it is."""
    return HttpProblem(422, "invalid", problem, fix=fix)
