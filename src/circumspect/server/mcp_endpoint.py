"""`/mcp`: the MCP gateway over streamable HTTP.

Who may come in is what every door asks: a tenant's API key with the scope `chat`, and the end user's token where there
is one. A session begins with `initialize` and is a row in the store; each request is served by itself, by whichever
worker it comes to, and nothing is kept in memory between two of them.

The one choice that may surprise: from version 2026-07-28 on the protocol has no sessions, and without one nobody can
say which look-up belongs to which call. Such a request has to name its conversation (`X-Conversation-Id`). One that
does not is told that the versions with sessions are served, and clients that speak both go on with one of those by
themselves.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

import anyio
import mcp_types as mcp
from fastapi import Request
from mcp.server.connection import Connection
from mcp.server.runner import serve_connection
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from circumspect.errors import CircumspectError
from circumspect.server.access import caller, services_of
from circumspect.server.gateway import Gateway, shows_forms
from circumspect.server.mcp_questions import StreamQuestions, name_request, take_answer
from circumspect.server.problems import HttpProblem, body_of, status_of
from circumspect.server.request_log import add_log_context
from circumspect.server.schemas.bodies import ID, IN_WORDS
from circumspect.server.stores import mcp_sessions
from circumspect.server.stores.mcp_sessions import GatewaySession
from circumspect.stores.codec import dumps
from circumspect.values import ConversationId, JsonObject

VERSION_HEADER = "mcp-protocol-version"
CONVERSATION_HEADER = "x-conversation-id"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_DOOR = caller("chat")


async def answer_mcp(request: Request) -> ASGIApp:
    """What answers a request; a refusal is an error of the protocol's, so that clients show its words."""
    try:
        require_known_origin(request)
        gateway = await _open_gateway(request)
        version = request.headers.get(VERSION_HEADER)
        if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            return _answer_named(request, gateway, version)
        match request.method:
            case "POST":
                return await _answer_in_session(request, gateway)
            case "DELETE":
                await _end_session(request, gateway)
                return Response(status_code=204)
            case _:
                problem = "Nothing is sent here unasked."
                raise HttpProblem(405, "method_not_allowed", problem, headers={"Allow": "POST, DELETE"})
    except CircumspectError as error:
        return _refuse(error)


def require_known_origin(request: Request) -> None:
    """A browser says which site a request comes from. One of this machine or of our own address may; a stranger's page
    may not, whatever address its name leads to."""
    origin = request.headers.get("origin")
    if origin is None:
        return
    public = services_of(request).settings.public_url
    ours = urlsplit(public) if public else None
    if ours is not None and origin == f"{ours.scheme}://{ours.netloc}":
        return
    try:
        host = urlsplit(origin).hostname
    except ValueError:
        host = None
    if host not in _LOOPBACK:
        raise HttpProblem(403, "unknown_origin", "Pages of this site may not use it.", fix="Set public_url.")


async def _open_gateway(request: Request) -> Gateway:
    """For one request of whoever is at the door; in which conversation is still open."""
    services, who = services_of(request), await _DOOR(request)
    add_log_context(tenant=who.tenant)
    speaker = who.identify(None)
    client = who.key if speaker.person is None else speaker.principal
    return Gateway(services, who.tenant, ConversationId(""), client, account=who.name, speaker=speaker)


# --- with a session --------------------------------------------------------------------------------------------------


async def _answer_in_session(request: Request, gateway: Gateway) -> ASGIApp:
    body = await request.body()
    try:
        message = mcp.jsonrpc_message_adapter.validate_json(body, by_name=False)
    except ValidationError:
        problem = "The body is no message of JSON-RPC."
        raise HttpProblem(400, "bad_message", problem, fix="Send one request, notification or response.") from None
    services = gateway.services
    if isinstance(message, mcp.JSONRPCRequest) and message.method == "initialize":
        return _Exchange(gateway, await _begin_session(message, gateway), body)
    session = await _find_session(request, gateway)
    match message:
        case mcp.JSONRPCRequest():
            return _Exchange(gateway, session, body)
        case mcp.JSONRPCResponse() | mcp.JSONRPCError():
            await take_answer(services, session, message)
        case mcp.JSONRPCNotification(
            method="notifications/cancelled", params={"requestId": int() | str() as cancelled}
        ):
            await services.store.tx(mcp_sessions.dismiss_request, session, name_request(cancelled))
    return Response(status_code=202)


async def _begin_session(message: mcp.JSONRPCRequest, gateway: Gateway) -> GatewaySession:
    try:
        client = mcp.InitializeRequestParams.model_validate(message.params or {}, by_name=False)
    except ValidationError:
        problem = "The client does not say which version it speaks and what it can do."
        raise HttpProblem(400, "bad_message", problem, fix="Send what the protocol asks of `initialize`.") from None
    services = gateway.services
    session = GatewaySession(
        services.ids.new("mcp"), gateway.tenant, gateway.principal, can_ask=shows_forms(client.capabilities)
    )
    await services.store.tx(mcp_sessions.begin_session, session, services.clock.now().timestamp())
    return session


def _read_session_id(request: Request) -> str:
    id_ = request.headers.get(MCP_SESSION_ID_HEADER)
    if id_ is None:
        raise HttpProblem(400, "no_session", "The request belongs to no session.", fix="Send `initialize` first.")
    return id_


def _no_session() -> HttpProblem:
    return HttpProblem(404, "not_found", "There is no such session, or it has ended.", fix="Begin a new one.")


async def _find_session(request: Request, gateway: Gateway) -> GatewaySession:
    services, id_ = gateway.services, _read_session_id(request)
    now = services.clock.now().timestamp()
    session = await services.store.tx(mcp_sessions.find_session, gateway.tenant, gateway.principal, id_, now)
    if session is None:
        raise _no_session()
    return session


async def _end_session(request: Request, gateway: Gateway) -> None:
    id_ = _read_session_id(request)
    if not await gateway.services.store.tx(mcp_sessions.end_session, gateway.tenant, gateway.principal, id_):
        raise _no_session()


class _Exchange:
    """One request of a session and its answer, a stream on which the client's user may be asked something first."""

    def __init__(self, gateway: Gateway, session: GatewaySession, body: bytes) -> None:
        self._gateway, self._session, self._body = gateway, session, body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given: list[Message] = [{"type": "http.request", "body": self._body, "more_body": False}]

        async def replay() -> Message:
            return given.pop() if given else await receive()

        session = self._session
        version = Request(scope).headers.get(VERSION_HEADER, mcp.DEFAULT_NEGOTIATED_VERSION)
        capabilities: JsonObject = {"elicitation": {}} if session.can_ask else {}
        transport = StreamableHTTPServerTransport(session.id)
        async with transport.connect() as (incoming, outgoing), anyio.create_task_group() as tasks:
            questions = StreamQuestions(self._gateway.services, session, outgoing)
            gateway = replace(self._gateway, conversation=ConversationId(session.id), elicit=questions.elicit)
            dispatcher = JSONRPCDispatcher(
                incoming,
                outgoing,
                transport_builder=lambda _: TransportContext(kind="streamable-http", can_send_request=True),
                inline_methods=frozenset({"initialize"}),
            )
            connection = Connection.from_envelope(version, None, capabilities)

            async def serve() -> None:
                await serve_connection(gateway.server(), dispatcher, connection=connection, lifespan_state={})

            tasks.start_soon(serve)
            await transport.handle_request(scope, replay, send)
            tasks.cancel_scope.cancel()


# --- without a session -----------------------------------------------------------------------------------------------


def _answer_named(request: Request, gateway: Gateway, version: str) -> ASGIApp:
    named = request.headers.get(CONVERSATION_HEADER)
    if named is None:
        data = {"supported": list(HANDSHAKE_PROTOCOL_VERSIONS), "requested": version}
        words = f"This version has no sessions: name the conversation in {CONVERSATION_HEADER}, or use an earlier one."
        return _to_error(400, mcp.UNSUPPORTED_PROTOCOL_VERSION, words, data)
    if not re.fullmatch(ID, named):
        raise HttpProblem(400, "bad_request", f"{CONVERSATION_HEADER} {IN_WORDS[ID]}.", fix=f"It has to match {ID}.")
    # Only this client's: whatever it names, it is nobody else's conversation, nor one of another door.
    digest = hashlib.sha256(dumps([gateway.principal, named]).encode()).hexdigest()
    server = replace(gateway, conversation=ConversationId(f"mcp_{digest[:32]}")).server()
    size = gateway.services.settings.max_body_bytes

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        exchange = StreamableHTTPSessionManager(server, stateless=True, max_request_body_size=size)
        async with exchange.run():
            await exchange.handle_request(scope, receive, send)

    return answer


# --- refusals --------------------------------------------------------------------------------------------------------


def _refuse(error: CircumspectError) -> Response:
    body = body_of(error)
    words = " ".join(filter(None, (error.problem, error.fix)))
    return _to_error(status_of(error), mcp.INVALID_REQUEST, words, body, getattr(error, "headers", {}))


def _to_error(
    status: int, code: int, words: str, data: JsonObject, headers: Mapping[str, str] | None = None
) -> Response:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": words, "data": data}}
    return Response(dumps(error).encode(), status, headers=headers, media_type="application/json")
