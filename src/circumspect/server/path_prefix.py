"""A server below a path: `public_url = "https://host/circumspect"`. Inside, every path is as if there were none.

A request may come with the prefix or without it, so a proxy may take it away or leave it. What goes out has it: places
that headers send a browser to, paths of cookies, and addresses in pages. Cookies whose name begins with `__Host-` stay
at `/`, because browsers take no others by that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from circumspect.errors import ConfigError

_PLACE = "circumspect.prefix"
_HEADERS = (b"location", b"content-location", b"hx-redirect", b"hx-location", b"hx-push-url", b"hx-replace-url")
_COOKIE_PATH = re.compile(rb"(;\s*path=)(/[^;]*)", re.I)
_ADDRESS = re.compile(
    r'(\s(?:href|src|action|formaction|hx-get|hx-post|hx-put|hx-patch|hx-delete|data-trial|data-base|data-ask|data-words)=")/(?!/)'
)


def read_prefix(public_url: str | None) -> str:
    """Of `https://host/circumspect/` it is `/circumspect`; empty where there is none."""
    return urlsplit(public_url).path.rstrip("/") if public_url else ""


def prefix_of(request: Request) -> str:
    found: str = request.scope.get(_PLACE, "")
    return found


def without_prefix(request: Request, path: str) -> str:
    """A path that a browser told us, as it is called inside."""
    return _strip(path, prefix_of(request))


def add_prefix(html: str, prefix: str) -> str:
    """In every attribute that holds an address of ours. What people wrote has no quotes that could end one."""
    return _ADDRESS.sub(rf"\g<1>{prefix}/", html) if prefix else html


def list_paths(routes: Iterable[object]) -> Iterator[str]:
    """Of all routes, those of included routers too."""
    for one in routes:
        yield str(getattr(one, "path", ""))
        yield from list_paths(getattr(getattr(one, "original_router", None), "routes", ()))


def require_free_prefix(prefix: str, paths: Iterable[str]) -> None:
    """A page of ours by that name could not be told from the prefix."""
    first = prefix.split("/")[1] if prefix else ""
    if first and first in {path.split("/")[1] for path in paths if path.startswith("/")}:
        raise ConfigError(
            f"public_url ends in /{first}, which is a path of the server itself.", fix="Choose another, such as /agent."
        )


def put_outermost(app: FastAPI) -> None:
    """Whoever looks at paths sees them without the prefix."""
    prefix: object = PathPrefix
    app.user_middleware.sort(key=lambda one: one.cls is not prefix)


def _strip(path: str, prefix: str) -> str:
    return path[len(prefix) :] or "/" if prefix and f"{path}/".startswith(f"{prefix}/") else path


class PathPrefix:
    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self.app, self.prefix = app, prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        raw = scope.get("raw_path") or scope["path"].encode()
        inside = {
            **scope,
            "path": _strip(scope["path"], self.prefix),
            "raw_path": _strip(raw.decode("latin-1"), self.prefix).encode("latin-1"),
            _PLACE: self.prefix,
        }

        async def send_with_prefix(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [(name, self._outside(name.lower(), value)) for name, value in message.get("headers", ())]
                message = {**message, "headers": headers}
            await send(message)

        await self.app(inside, receive, send_with_prefix)

    def _outside(self, name: bytes, value: bytes) -> bytes:
        prefix = self.prefix.encode()
        if name in _HEADERS and value.startswith(b"/") and not value.startswith((b"//", prefix + b"/")):
            return prefix + value
        if name == b"set-cookie" and not value.startswith(b"__Host-"):
            return _COOKIE_PATH.sub(lambda found: found[1] + prefix + found[2].rstrip(b"/"), value)
        return value
