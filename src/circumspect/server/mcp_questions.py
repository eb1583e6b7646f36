"""A question on the open stream of a request, and the answer that comes with another request.

The answer may come to another worker than the one that asked, so it goes through the store.
"""

from __future__ import annotations

import asyncio

import anyio
import mcp_types as mcp
from mcp.shared._stream_protocols import WriteStream
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic import ValidationError

from circumspect.server.gateway import YES_FORM, GatewayContext
from circumspect.server.services import Services
from circumspect.server.stores import mcp_sessions
from circumspect.server.stores.mcp_sessions import DISMISSED, GatewaySession
from circumspect.stores.codec import dumps
from circumspect.values import JsonObject

ANSWER_SECONDS = 600.0
"""How long a request waits for its user. What was asked stays pending after that, and the same call asks again."""
_FIRST, _SLOWER, _LAST = 0.1, 1.3, 2.0
"""Seconds between two looks for an answer: quick at first, later at people's pace."""


class StreamQuestions:
    """Asks in the request that `stream` answers."""

    def __init__(self, services: Services, session: GatewaySession, stream: WriteStream[SessionMessage]) -> None:
        self._services, self._session, self._stream = services, session, stream

    async def elicit(self, question: str, context: GatewayContext) -> mcp.ElicitResult:
        store, id_ = self._services.store, self._services.ids.new("ask")
        await store.tx(mcp_sessions.put_question, id_, self._session, name_request(context.request_id))
        try:
            params = {"message": question, "requestedSchema": YES_FORM}
            asked = mcp.JSONRPCRequest(jsonrpc="2.0", id=id_, method="elicitation/create", params=params)
            where = ServerMessageMetadata(related_request_id=context.request_id)
            await self._stream.send(SessionMessage(asked, metadata=where))
            return mcp.ElicitResult.model_validate(await self._wait_for_answer(id_))
        finally:
            with anyio.CancelScope(shield=True):
                await store.tx(mcp_sessions.withdraw_question, id_)

    async def _wait_for_answer(self, id_: str) -> JsonObject:
        pause = _FIRST
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                while (answer := await self._services.store.tx(mcp_sessions.find_answer, id_)) is None:
                    await asyncio.sleep(pause)
                    pause = min(pause * _SLOWER, _LAST)
        except TimeoutError:
            return DISMISSED
        return answer


async def take_answer(
    services: Services, session: GatewaySession, given: mcp.JSONRPCResponse | mcp.JSONRPCError
) -> None:
    """What a client sends back for a question. An error is no answer; what is no answer of the protocol's is a no."""
    if isinstance(given.id, str):
        await services.store.tx(mcp_sessions.put_answer, session, given.id, _read_answer(given))


def _read_answer(given: mcp.JSONRPCResponse | mcp.JSONRPCError) -> JsonObject:
    if isinstance(given, mcp.JSONRPCError):
        return DISMISSED
    try:
        read = mcp.ElicitResult.model_validate(given.result)
    except ValidationError:
        return {"action": "decline"}
    return {"action": read.action, "content": read.content}


def name_request(id_: mcp.RequestId | None) -> str:
    """1 and "1" are two requests."""
    return dumps(id_).strip()
