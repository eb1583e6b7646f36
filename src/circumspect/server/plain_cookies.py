"""Cookies without backslashes: those of ours have none, and Python's own reader, up to 3.11.9 and 3.12.5, takes the
square of a value's length to undo them, which for one request's headers is seconds in which nobody is answered."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send


class PlainCookies:
    """Pure ASGI. A cookie of somebody else's that has some is read without them, by nobody."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and any(name == b"cookie" and b"\\" in value for name, value in scope["headers"]):
            scope["headers"] = [
                (name, value.replace(b"\\", b"") if name == b"cookie" else value) for name, value in scope["headers"]
            ]
        await self.app(scope, receive, send)
