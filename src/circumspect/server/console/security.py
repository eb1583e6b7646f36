"""Security headers for pages: pure ASGI, so that no stream is held back. The API has its own (`response_headers`).

A response that brings its own Content-Security-Policy keeps it: the chat widget is meant to be framed by others.
"""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from circumspect.server.response_headers import is_page

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors {ancestors}"
)
STRICT = POLICY.format(ancestors="'none'")
HEADERS = {
    "Content-Security-Policy": STRICT,
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}
STATIC = "/static/"
FOR_EVER = "public, max-age=31536000, immutable"


class PageHeaders:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not is_page(scope["path"]):
            await self.app(scope, receive, send)
            return
        versioned = scope["path"].startswith(STATIC) and scope.get("query_string", b"").startswith(b"v=")

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if versioned and message["status"] == 200:
                    headers["Cache-Control"] = FOR_EVER
                elif not scope["path"].startswith(STATIC):
                    # What a page shows belongs to who is signed in, and to the language they chose.
                    headers.setdefault("Cache-Control", "no-store")
                    headers.add_vary_header("Cookie, HX-Request")
            await send(message)

        await self.app(scope, receive, with_headers)
