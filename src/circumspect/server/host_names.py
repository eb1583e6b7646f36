"""Which names this server answers to. A request for any other is refused before anything reads it.

A page anywhere can make its own name lead to this machine, and a browser then lets its scripts read what is answered; a
cache can be made to keep answers under a wrong name. So a name has to be ours: that of `public_url`, one of
`allowed_hosts`, the very address at which the request arrived, or `localhost` where it arrived on this machine. Probes
are answered under any name: they are sent by address, and tell no more than states, the model's name and how many
turns run.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from circumspect.server.problems import problem_response

PROBES = ("/healthz", "/readyz")
ANY = "*"
_REMEMBERED = 256
_LONGEST = 300
"""Of a name with its port, in bytes: longer ones are nobody's, and are not kept."""


class KnownHosts:
    def __init__(self, app: ASGIApp, public_url: str | None, allowed: Sequence[str]) -> None:
        self.app = app
        public = urlsplit(public_url).hostname if public_url else None
        self.names = frozenset({*allowed, *([public.lower()] if public else [])})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in PROBES or self._is_ours(scope):
            await self.app(scope, receive, send)
            return
        refusal = problem_response(
            421,
            "unknown_host",
            "This server does not answer to the name in the Host header.",
            "Use the address in public_url, or add the name to allowed_hosts.",
        )
        await refusal(scope, receive, send)

    def _is_ours(self, scope: Scope) -> bool:
        if ANY in self.names:
            return True
        given = [value for name, value in scope["headers"] if name == b"host"]
        if len(given) != 1 or len(given[0]) > _LONGEST:
            return False
        return _is_known(self.names, given[0], str((scope.get("server") or ("",))[0]).lower())


@lru_cache(_REMEMBERED)
def _is_known(names: frozenset[str], header: bytes, here: str) -> bool:
    """Clients send the same few headers with every request."""
    name = read_host(header)
    if name is None:
        return False
    parent = name.partition(".")[2]
    return (
        name in names
        or bool(parent and f"*.{parent}" in names)
        or name == here
        or (_is_loopback(here) and (name == "localhost" or _is_loopback(name)))
    )


def read_host(header: bytes) -> str | None:
    """The name without its port, as it is compared; None for what is no name."""
    try:
        text = header.decode("ascii")
        parts = urlsplit(f"//{text}")
        _ = parts.port
    except ValueError:
        return None
    if not parts.hostname or parts.netloc != text or parts.username is not None:
        return None
    return parts.hostname.removesuffix(".")


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
