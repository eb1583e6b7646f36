"""mcp_http: an MCP server behind a URL -> the pair of streams that the SDK's client speaks through.

The SDK lets a request that fails below HTTP end the whole session, and with it every other call under way. Here such a
failure becomes the answer to that one request: a JSON-RPC error which says whether anything was sent.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx2
import orjson
from mcp.client.streamable_http import streamable_http_client

from circumspect import outgoing
from circumspect.tools.tool_errors import brief

NOT_SENT: Final = -31001
"""Our own code: no connection was made, so nothing happened."""
CUT_OFF: Final = -31002
"""Our own code: the answer did not come, or not whole."""
REFUSED: Final = -31003
"""Our own code: the server did not let us in."""

_SILENCE = 300.0
"""Seconds. A server may hold a stream of events open for long; a call has its own, shorter timeout."""
_UNMADE = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)


@asynccontextmanager
async def streamable_http(
    url: str,
    headers: Mapping[str, str],
    *,
    allow: outgoing.Allowed,
    connect_timeout: float,
    max_bytes: int,
    verify: ssl.SSLContext | None,
) -> AsyncIterator[Any]:
    sealed = outgoing.seal(url, headers=headers)
    async with (
        outgoing.client(
            allow=allow,
            timeout=_SILENCE,
            connect_timeout=connect_timeout,
            max_bytes=max_bytes,
            event_streams=True,
            verify=verify,
            through=lambda inner: _Contained(inner, sealed),
        ) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=max_bytes) as streams,
    ):
        yield streams


class _Contained(httpx2.AsyncBaseTransport):
    """Failures as answers, whole bodies, and our secrets on every request."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, sealed: Mapping[str, object]) -> None:
        self._inner = inner
        self._sealed = sealed

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.extensions = {**request.extensions, **self._sealed}
        try:
            response = await self._inner.handle_async_request(request)
            if response.status_code in (401, 403, 429):
                await response.aclose()
                return _answer(REFUSED, f"the server answered {response.status_code}")
            if response.headers.get("content-type", "").startswith("text/event-stream"):
                return response
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            try:
                body = b"".join([chunk async for chunk in response.stream])
            finally:
                await response.aclose()
            return httpx2.Response(response.status_code, headers=response.headers, stream=httpx2.ByteStream(body))
        except outgoing.BlockedAddress as error:
            return _answer(NOT_SENT, error.problem)
        except _UNMADE as error:
            return _answer(NOT_SENT, brief(error))
        except (httpx2.TransportError, outgoing.UnusableAnswer) as error:
            return _answer(CUT_OFF, brief(error))

    async def aclose(self) -> None:
        await self._inner.aclose()


def _answer(code: int, problem: str) -> httpx2.Response:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": problem}}
    return httpx2.Response(503, headers={"content-type": "application/json"}, content=orjson.dumps(error))
