"""Requests to a provider over one pool of connections (HTTP/1.1 or 2): bytes out, bytes or events in.

The one choice that may surprise: redirects are not followed. They would take the key to an address nobody named.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from datetime import timedelta
from pathlib import Path

import certifi
from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import BuilderError
from pyreqwest.request import RequestBuilder
from pyreqwest.response import Response

from circumspect.errors import ModelUnavailable
from circumspect.models.provider_settings import ProviderSettings

MOST_BYTES = 20_000_000
"""Of one answer. Far more than any model says, and far less than a server that never stops would make us keep."""


AGENT = "circumspect"


class StatusError(Exception):
    """The provider answered with an error of its own."""

    def __init__(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        super().__init__(f"HTTP {status}")
        self.status, self.body, self.headers = status, body, headers


class LeanClient:
    def __init__(self, url: str, headers: Mapping[str, str], settings: ProviderSettings) -> None:
        self._url, self._headers = url, {"content-type": "application/json", **headers}
        patience = timedelta(seconds=min(settings.connect_timeout, settings.timeout))
        try:
            self._client: Client = _build(patience).build()
        except BuilderError:  # a machine without certificates of its own
            self._client = _build(patience).add_root_certificate_pem(Path(certifi.where()).read_bytes()).build()

    async def post(self, body: bytes, seconds: float) -> bytes:
        """The whole answer. Raises `StatusError`, and what the library raises where there is none."""
        async with self._request(body, seconds).build_streamed() as response:
            found = await _read_all(response)
            if response.status != 200:
                raise StatusError(response.status, found, _copy_headers(response))
            return found

    async def events(self, body: bytes, seconds: float) -> AsyncGenerator[bytes, None]:
        """The data of each server-sent event."""
        # Nothing is read ahead: what has come is passed on at once, also where the connection breaks right after it.
        request = self._request(body, seconds).streamed_read_buffer_limit(0)
        async with request.build_streamed() as response:
            if response.status != 200:
                raise StatusError(response.status, await _read_all(response), _copy_headers(response))
            line, taken = bytearray(), 0
            while chunk := await response.body_reader.read_chunk():
                taken += len(chunk)
                _hold(taken)
                *ended, rest = bytes(chunk).split(b"\n")
                for end in ended:
                    line += end
                    if line.startswith(b"data:"):
                        yield bytes(line[5:]).strip()
                    line.clear()
                line += rest

    async def close(self) -> None:
        await self._client.close()

    def _request(self, body: bytes, seconds: float) -> RequestBuilder:
        request = self._client.post(self._url).headers(self._headers).body_bytes(body)
        return request.timeout(timedelta(seconds=seconds))


def _build(patience: timedelta) -> ClientBuilder:
    builder = ClientBuilder().user_agent(AGENT).connect_timeout(patience).follow_redirects(False)
    # Bytes that are no UTF-8 are replaced, which needs them as they are.
    return builder.gzip(False).brotli(False).zstd(False).deflate(False)


async def _read_all(response: Response) -> bytes:
    announced = response.get_header("content-length") or ""
    if announced.isdigit():
        _hold(int(announced))
        return bytes(await response.bytes())
    pieces, taken = [], 0
    while chunk := await response.body_reader.read_chunk():
        taken += len(chunk)
        _hold(taken)
        pieces.append(bytes(chunk))
    return b"".join(pieces)


def _hold(size: int) -> None:
    if size > MOST_BYTES:
        raise ModelUnavailable(f"The model's answer has more than {MOST_BYTES:,} bytes.")


def _copy_headers(response: Response) -> dict[str, str]:
    return {name: told for name in ("retry-after", "retry-after-ms") if (told := response.get_header(name))}
