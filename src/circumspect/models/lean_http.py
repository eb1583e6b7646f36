"""Requests to a provider over one pool of connections: bytes out, bytes or events in.

Two choices that may surprise. Redirects are not followed: they would take the key to an address nobody named. And a
pool belongs to the event loop that it was opened in, so a client that is used in another one opens another pool.
"""

from __future__ import annotations

import asyncio
import ssl
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2

from circumspect.errors import ModelUnavailable
from circumspect.models.provider_settings import ProviderSettings

MOST_BYTES = 20_000_000
"""Of one answer. Far more than any model says, and far less than a server that never stops would make us keep."""
AGENT = "circumspect"
_IDLE_SECONDS = 60.0


class StatusError(Exception):
    """The provider answered with an error of its own."""

    def __init__(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        super().__init__(f"HTTP {status}")
        self.status, self.body, self.headers = status, body, headers


class Unreachable(Exception):
    """There was no connection to the provider."""


class TooSlow(Exception):
    """The provider did not answer, or not to its end, within its time."""


class BrokenOff(Exception):
    """The connection ended before the answer did, or what came was no HTTP."""


class LeanClient:
    def __init__(self, url: str, headers: Mapping[str, str], settings: ProviderSettings) -> None:
        self._url = url
        # Bytes that are no UTF-8 are replaced, which needs them as they are.
        plain = {"content-type": "application/json", "accept-encoding": "identity", "user-agent": AGENT}
        self._headers = {**plain, **headers}
        self._patience = min(settings.connect_timeout, settings.timeout)
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def post(self, body: bytes, seconds: float) -> bytes:
        """The whole answer. Raises `StatusError`, and one of the other three where there is none."""
        async with self._send(body, seconds) as response:
            found = await _read_all(response)
            if response.status != 200:
                raise StatusError(response.status, found, _copy_headers(response))
            return found

    async def events(self, body: bytes, seconds: float) -> AsyncGenerator[bytes, None]:
        """The data of each server-sent event."""
        async with self._send(body, seconds) as response:
            if response.status != 200:
                raise StatusError(response.status, await _read_all(response), _copy_headers(response))
            line, taken = bytearray(), 0
            async for chunk in response.content.iter_any():
                taken += len(chunk)
                _hold(taken)
                *ended, rest = chunk.split(b"\n")
                for end in ended:
                    line += end
                    if line.startswith(b"data:"):
                        yield bytes(line[5:]).strip()
                    line.clear()
                line += rest

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    @asynccontextmanager
    async def _send(self, body: bytes, seconds: float) -> AsyncIterator[aiohttp.ClientResponse]:
        limits = aiohttp.ClientTimeout(total=seconds, sock_connect=self._patience)
        sent = aiohttp.BytesPayload(body)  # or it looks through all that a body could be
        try:
            async with self._pool().post(self._url, data=sent, timeout=limits, allow_redirects=False) as response:
                yield response
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL) as error:
            raise Unreachable(str(error)) from error
        except TimeoutError as error:
            raise TooSlow(f"no answer within {seconds:g} s") from error
        except aiohttp.ClientError as error:
            raise BrokenOff(str(error)) from error

    def _pool(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            if self._session is not None:
                self._session.detach()  # its loop may have ended: nothing can be closed there any more
            self._loop = loop
            self._session = aiohttp.ClientSession(
                connector=_Connections(
                    limit=0,
                    keepalive_timeout=_IDLE_SECONDS,
                    ssl=_trust() if self._url.startswith("https:") else True,
                ),
                headers=self._headers,
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                proxy=_find_proxy(self._url),
            )
            # A client that nobody closed goes without an error in the user's log. Not `__del__`: of what is collected
            # together, the session may go first.
            weakref.finalize(self, self._session.detach)
        return self._session


class _Connections(aiohttp.TCPConnector):
    def __del__(self, _warnings: object = None) -> None:
        """Sockets that nobody closed are closed with their transports, without an error in the user's log."""


def _find_proxy(url: str) -> str | None:
    """What the surroundings name for this address. Of theirs nothing else is used: aiohttp would read .netrc, too."""
    there = urlsplit(url)
    return None if proxy_bypass(there.hostname or "") else getproxies().get(there.scheme)


@cache
def _trust() -> ssl.SSLContext:
    """The certificates that other providers' connections trust."""
    return httpx2.create_ssl_context()


async def _read_all(response: aiohttp.ClientResponse) -> bytes:
    _hold(response.content_length or 0)
    pieces, taken = [], 0
    async for chunk in response.content.iter_any():
        taken += len(chunk)
        _hold(taken)
        pieces.append(chunk)
    return b"".join(pieces)


def _hold(size: int) -> None:
    if size > MOST_BYTES:
        raise ModelUnavailable(f"The model's answer has more than {MOST_BYTES:,} bytes.")


def _copy_headers(response: aiohttp.ClientResponse) -> dict[str, str]:
    return {name: told for name in ("retry-after", "retry-after-ms") if (told := response.headers.get(name))}
