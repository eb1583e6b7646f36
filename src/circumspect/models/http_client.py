"""The HTTP client of a provider: our patience, and bodies that are text.

The one choice that may surprise: bytes that are no UTF-8 are replaced on their way in, before an SDK sees them. Small
servers cut a letter of several bytes in half now and then; one broken letter must not cost the whole answer.
"""

from __future__ import annotations

import codecs
from collections.abc import AsyncIterator

import httpx2
from pydantic_ai.models import create_async_httpx2_client

from circumspect.models.lean_http import MOST_BYTES
from circumspect.models.provider_settings import ProviderSettings


def http_client(settings: ProviderSettings) -> tuple[httpx2.AsyncClient, httpx2.Timeout]:
    """A client, and the timeouts that an SDK has to be told too: it would put its own, of minutes, in their place."""
    patience = httpx2.Timeout(settings.timeout, connect=min(settings.connect_timeout, settings.timeout))
    client = create_async_httpx2_client(timeout=patience)
    # Replacing bytes needs them as they are; the bodies are small.
    client.headers["accept-encoding"] = "identity"
    client.event_hooks = {**client.event_hooks, "response": [_as_text]}
    return client, patience


async def _as_text(response: httpx2.Response) -> None:
    if "content-encoding" not in response.headers and isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Utf8(response.stream)


class _Utf8(httpx2.AsyncByteStream):
    """The same bytes, with what is no UTF-8 replaced, and an end."""

    def __init__(self, source: httpx2.AsyncByteStream) -> None:
        self._source = source

    async def __aiter__(self) -> AsyncIterator[bytes]:
        decoder, taken = codecs.getincrementaldecoder("utf-8")("replace"), 0
        async for chunk in self._source:
            taken += len(chunk)
            if taken > MOST_BYTES:
                raise httpx2.ReadError(f"The answer has more than {MOST_BYTES:,} bytes.")
            if text := decoder.decode(chunk):
                yield text.encode()
        if rest := decoder.decode(b"", final=True):
            yield rest.encode()

    async def aclose(self) -> None:
        await self._source.aclose()
