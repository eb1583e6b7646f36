"""Headers of every answer: what browsers must not guess, keep or frame. Pure ASGI, so that no stream is held back.

What the API answers is data about people: no cache keeps it, no page frames or reads it. Pages have rules of their own
(`console.security`); an answer that brings a header keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

API_PATHS = ("/v1/", "/healthz", "/readyz", "/metrics", "/openapi.json", "/mcp")
HSTS = "max-age=31536000"
"""A year, for this host alone: what else is below the domain is not ours to decide."""
ALWAYS = {"X-Content-Type-Options": "nosniff"}
FOR_PROGRAMS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}


def is_page(path: str) -> bool:
    """Everything that is not the API's."""
    return not path.startswith(API_PATHS)


class ResponseHeaders:
    def __init__(self, app: ASGIApp, public_url: str | None = None) -> None:
        self.app = app
        https = (public_url or "").startswith("https://")
        always = ALWAYS | ({"Strict-Transport-Security": HSTS} if https else {})
        self._for_pages, self._for_programs = _encode(always), _encode(always | FOR_PROGRAMS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        wanted = self._for_pages if is_page(scope["path"]) else self._for_programs

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                brought = message.get("headers", ())
                names = {name.lower() for name, _ in brought}
                message["headers"] = [*brought, *(one for one in wanted if one[0] not in names)]
            await send(message)

        await self.app(scope, receive, send_with_headers)


def _encode(headers: Mapping[str, str]) -> tuple[tuple[bytes, bytes], ...]:
    return tuple((name.lower().encode(), value.encode()) for name, value in headers.items())
