"""What the frame asks for: begin a conversation, say something, answer a question, judge a reply, read what was said.

An end user gets words, who said them, what kind of thing is being done, and whether a yes is waited for. Reasons,
tools, arguments, costs and the texts of errors are for others: errors come as a code. A message carries the
`Idempotency-Key` of its sender, and comes back with it, so that the frame knows its own messages after a reload.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from circumspect.errors import CircumspectError
from circumspect.journal import PersonReplyEvent, read_event
from circumspect.server.access import services_of
from circumspect.server.console.widget.visits import Visit, new_conversation, new_visitor, parse_conversation_id, visit
from circumspect.server.problems import status_of
from circumspect.server.request_log import add_log_context
from circumspect.server.responses import IdPath, to_response
from circumspect.server.routes import feedback
from circumspect.server.routes.confirmations import decision
from circumspect.server.schemas.bodies import NO_NUL, PlainText, RequestBody, ResourceId
from circumspect.server.schemas.confirmations import ConfirmationGiven
from circumspect.server.schemas.feedback import FeedbackGiven
from circumspect.server.services import Services
from circumspect.server.streams import Stream
from circumspect.server.strict_routes import StrictRoute
from circumspect.stores import codec, labels, people
from circumspect.stores.labels import LabelRow
from circumspect.stores.people import StoredConversation, get_own_conversation
from circumspect.stores.tables import VISIBLE, conversations, intents, messages, turns
from circumspect.values import ConversationId, Incoming, Intent, Json, Language, Message, TurnId, TurnResult

log = logging.getLogger(__name__)
NEWEST = 100
"""How many messages a frame that opens gets."""
COMMENT = 500
"""How long a visitor's line on what was wrong may be."""


class QuietRoute(StrictRoute):
    """Errors as a code: what else they say is for the tenant's people, who have it in the log and the console."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def quiet(request: Request) -> Response:
            try:
                return await handler(request)
            except CircumspectError as error:
                status, headers = status_of(error), getattr(error, "headers", None)
                if status >= 500:
                    log.warning("%s", error)
                return to_response({"code": error.code}, status, headers)
            except RequestValidationError:
                return to_response({"code": "invalid"}, 422)
            except HTTPException as error:
                return to_response({"code": "refused"}, error.status_code)

        return quiet


router = APIRouter(prefix="/widget/conversations", route_class=QuietRoute, include_in_schema=False)
WidgetReader = Annotated[Visit, Depends(visit(says=False))]
WidgetSpeaker = Annotated[Visit, Depends(visit(says=True))]
WidgetMessageKey = Annotated[
    str, Header(alias="Idempotency-Key", min_length=16, max_length=64, pattern=r"^[A-Za-z0-9-]+$")
]


class NewWidgetConversation(RequestBody):
    language: Language | None = None


class WidgetMessage(RequestBody):
    content: PlainText = Field(max_length=20_000)
    seen: ResourceId | None = None
    """The turn of the newest reply that the visitor had before them."""


class WidgetFeedback(FeedbackGiven):
    correction: Annotated[str, Field(min_length=1, max_length=COMMENT, pattern=NO_NUL)] | None = None


@router.post("")
async def begin(request: Request, who: WidgetSpeaker, given: NewWidgetConversation) -> Response:
    """A conversation of this visitor's own. Whom nobody has named yet gets a token to be known by."""
    services = services_of(request)
    setup = await services.directory.setup(who.tenant)
    id_, speaker, token = new_conversation(), who.end_user, None
    if speaker.person is None:
        speaker, token = new_visitor(services, who.tenant)
    await services.store.tx(
        people.create_conversation,
        who.tenant,
        id_,
        setup.tenant.mode_of(id_),
        services.clock.now(),
        drawn=setup.draws_mode,
        person=speaker.person,
        language=given.language,
    )
    return to_response({"id": id_} if token is None else {"id": id_, "visitor": token}, 201)


@router.get("/{conversation_id}/messages")
async def read(
    request: Request, who: WidgetReader, conversation_id: str, after: Annotated[int, Query(ge=-1, le=2**31 - 1)] = -1
) -> Response:
    """What was said since, and whether something waits for the user."""
    services, id_ = services_of(request), parse_conversation_id(conversation_id)
    return to_response(await services.store.tx(_read_messages, who, id_, after, services.clock.now().timestamp()))


@router.post("/{conversation_id}/messages")
async def say(
    request: Request, who: WidgetSpeaker, conversation_id: str, given: WidgetMessage, key: WidgetMessageKey
) -> Response:
    """The same key again gets the first answer, and runs nothing."""
    services, id_ = services_of(request), parse_conversation_id(conversation_id)
    await services.store.tx(get_own_conversation, who.tenant, id_, who.end_user.person)
    turn = TurnId(services.ids.new("turn"))
    add_log_context(turn=turn)
    seen = TurnId(given.seen) if given.seen else None
    incoming = Incoming(
        who.tenant,
        id_,
        turn,
        given.content,
        services.clock.now(),
        key=key,
        principal=who.end_user.principal,
        person=who.end_user.person,
        claims=who.end_user.claims,
        seen=seen,
    )
    return await _stream_turn(services, incoming)


@router.post("/{conversation_id}/confirmations")
async def choose(
    request: Request, who: WidgetSpeaker, conversation_id: str, given: ConfirmationGiven, key: WidgetMessageKey
) -> Response:
    """The user's yes or no by a button."""
    services, id_ = services_of(request), parse_conversation_id(conversation_id)
    return await _stream_turn(services, await decision(services, who.tenant, id_, given, key, who.end_user))


@router.post("/{conversation_id}/turns/{turn_id}/feedback")
async def judge(
    request: Request, who: WidgetSpeaker, conversation_id: str, turn_id: IdPath, given: WidgetFeedback
) -> Response:
    """A thumb on a reply of this conversation, kept by the route of the API. What was judged is not told."""
    services, id_ = services_of(request), parse_conversation_id(conversation_id)
    await services.store.tx(get_own_conversation, who.tenant, id_, who.end_user.person)
    await feedback.give_feedback(request, who.principal, id_, turn_id, given)
    return to_response({"thumb": given.thumb}, 201)


async def _stream_turn(services: Services, incoming: Incoming) -> Response:
    return EndUserStream().follow(services.turns, incoming, await services.directory.setup(incoming.tenant))


class EndUserStream(Stream):
    """Of what went wrong an end user hears a code."""

    def end(self, task: asyncio.Future[TurnResult]) -> None:
        failure = None if task.cancelled() else task.exception()
        if failure is None and not task.cancelled() and not task.result().lost:
            super().end(task)
            return
        if failure is not None and not isinstance(failure, CircumspectError):
            log.error("turn failed", exc_info=failure)
        code = failure.code if isinstance(failure, CircumspectError) else "interrupted"
        self._queue.put_nowait(("error", {"code": code}))
        self._queue.put_nowait(None)

    def describe(self, result: TurnResult) -> Mapping[str, object]:
        return {"turn": result.turn, "text": result.reply, "pending": _describe_question(result.pending)}


def _describe_question(intent: Intent | None) -> Json:
    """Only what the user can answer; what waits for a colleague is said in the words."""
    return {"intent_id": intent.id} if intent is not None and intent.kind == "confirmation" else None


# --- read -----------------------------------------------------------------------------------------------------------


def _read_messages(
    connection: sa.Connection, who: Visit, id_: ConversationId, after: int, now: float
) -> dict[str, Any]:
    found = get_own_conversation(connection, who.tenant, id_, who.end_user.person)
    here = (messages.c.tenant == found.tenant, messages.c.conversation == found.id)
    query = sa.select(messages).where(*here, messages.c.seq > after, sa.text(VISIBLE))
    rows = connection.execute(query.order_by(messages.c.seq.desc()).limit(NEWEST)).all()
    said = [codec.message(row) for row in reversed(rows)]
    ran, judged = _read_turns(connection, said), _read_feedback(connection, who, id_, said)
    return {
        "items": [_describe_message(row, ran.get(row.turn), judged.get(row.turn)) for row in said if row.content],
        "pending": _waits(connection, found, now),
        "with_person": found.paused_by is not None,
    }


def _describe_message(row: Message, ran: Any, judged: LabelRow | None) -> dict[str, Any]:
    by = "user" if row.role == "user" else "person" if isinstance(read_event(row), PersonReplyEvent) else "agent"
    told = {"seq": row.seq, "turn": row.turn, "by": by, "text": row.content, "at": row.at.isoformat()}
    if by == "user":
        return {**told, "key": ran.client_key if ran else None}
    if by == "person" or ran is None or ran.outcome is None:
        return told
    value = (judged.value if judged else None) or {}
    return {**told, "thumb": value.get("thumb"), "correction": value.get("correction")}


def _read_turns(connection: sa.Connection, said: list[Message]) -> dict[str, Any]:
    """The turns of these messages: the key that each came with, and how it ended, if it has."""
    ids = list(dict.fromkeys(row.turn for row in said))
    query = sa.select(turns.c.id, turns.c.client_key, turns.c.outcome).where(turns.c.id.in_(ids))
    return {row.id: row for row in connection.execute(query)} if ids else {}


def _read_feedback(
    connection: sa.Connection, who: Visit, id_: ConversationId, said: list[Message]
) -> dict[str, LabelRow]:
    """What the visitor said of replies, by turn."""
    rows = labels.list_labels(connection, who.tenant, [id_]) if said else ()
    return {row.turn: row for row in rows if row.turn and row.by == who.principal.name}


def _waits(connection: sa.Connection, found: StoredConversation, now: float) -> Json:
    """The question that was asked last, while a yes to it still counts."""
    last = sa.select(sa.func.max(messages.c.seq)).where(
        messages.c.tenant == found.tenant, messages.c.conversation == found.id, sa.text(VISIBLE)
    )
    query = (
        sa.select(intents)
        .join(conversations, conversations.c.intent == intents.c.id)
        .where(
            intents.c.tenant == found.tenant,
            conversations.c.tenant == found.tenant,
            conversations.c.id == found.id,
            intents.c.conversation == found.id,
            intents.c.state == "pending",
            intents.c.expires_at > now,
            intents.c.question_seq == last.scalar_subquery(),
        )
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else _describe_question(codec.intent(row))
