"""failures: an exception of a tool -> the `ToolError` that the model and the record get to see.

The text is the exception's type and message, shortened, with whatever looks like a secret struck out. What went wrong
on the wire is told apart from a refusal: unless it proves that nothing was sent, nobody knows whether the call did its
work, so it counts as a timeout. Client libraries are known by the module of their errors, because none of them is
needed here.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator

from circumspect.errors import ToolError, ToolTimeout

LONGEST = 300

_CUT_OFF = (TimeoutError, ConnectionResetError, ConnectionAbortedError, BrokenPipeError, EOFError, json.JSONDecodeError)
_UNSENT = (ConnectionRefusedError, socket.gaierror)
_WIRE = (
    "aiohttp",
    "h11",
    "h2",
    "http",
    "httpcore",
    "httpcore2",
    "httpx",
    "httpx2",
    "requests",
    "ssl",
    "urllib",
    "urllib3",
)
"""Where errors of the wire come from, by the first part of their module."""
_UNSENT_NAMES = {
    *("ClientConnectorError", "ConnectError", "ConnectTimeout", "ConnectTimeoutError", "InvalidSchema", "InvalidURL"),
    *("LocalProtocolError", "MissingSchema", "NameResolutionError", "NewConnectionError", "PoolTimeout"),
    "UnsupportedProtocol",
}
"""Errors of theirs that come before the first byte has left."""

_SECRETS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w\-.~+/]{6,}=*"), r"\1 [hidden]"),
    (re.compile(r"(?i)(\b[a-z][a-z0-9+.\-]{0,30}://)[^\s/@]+@"), r"\1[hidden]@"),
    (
        re.compile(
            r"(?i)((?:api[_\-]?key|access[_\-]?key|secret|token|passw(?:or)?d|passphrase|signature"
            r"|cookie|authorization)[\w\-]{0,100}[\"']?\s*[:=]\s*)(?!\[hidden\])"
            r"(?!(?:bearer|basic)\s)(\"[^\"]*\"|'[^']*'|[^\s,;&)}\]]+)"
        ),
        r"\1[hidden]",
    ),
    (re.compile(r"\b(?:sk|pk|rk|ghp|gho|ghs|xox[abpr]|AKIA)[\w\-]{12,}"), "[hidden]"),
    (re.compile(r"\beyJ[\w\-]{8,}(?:\.[\w\-]+\.?[\w\-]*)?"), "[hidden]"),
)


def failure(tool: str, error: BaseException) -> ToolError:
    """What the caller is told. A `ToolError` of the tool's own is passed on as it is: its words were chosen."""
    if isinstance(error, ToolError):
        return error
    if not isinstance(error, Exception | SystemExit):
        # Raised past every handler, as an interruption is: it says nothing about what was done until then.
        return ToolTimeout(f"{tool} was broken off, and it is not known whether it happened: {brief(error)}")
    if _leaves_outcome_open(error):
        return ToolTimeout(f"{tool} was cut off, and it is not known whether it happened: {brief(error)}")
    return ToolError(f"{tool} failed: {brief(error)}")


def _leaves_outcome_open(error: BaseException) -> bool:
    """Did something go wrong on the wire that does not prove that nothing was sent?"""
    causes = list(_chain(error))
    if any(isinstance(one, _UNSENT) or _classes(one) & _UNSENT_NAMES for one in causes):
        return False
    for one in causes:
        status = getattr(getattr(one, "response", None), "status_code", None) or getattr(one, "status", None)
        if _is_of_the_wire(one) and isinstance(status, int) and 400 <= status < 500:
            return False  # the server answered, and said no
    return any(isinstance(one, _CUT_OFF) or _is_of_the_wire(one) for one in causes)


def _is_of_the_wire(error: BaseException) -> bool:
    return any(kind.__module__.partition(".")[0] in _WIRE for kind in type(error).__mro__)


def _classes(error: BaseException) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__ if kind.__module__.partition(".")[0] in _WIRE}


def brief(error: BaseException) -> str:
    """Type and message on one line, without secrets."""
    try:
        message = " ".join(str(error).split())
    except Exception:  # its own words fail: what it was is known all the same
        message = ""
    for pattern, replacement in _SECRETS:
        message = pattern.sub(replacement, message)
    if len(message) > LONGEST:
        message = message[: LONGEST - 1] + "…"
    name = type(error).__name__
    return f"{name}: {message}" if message else name


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what was under way when it was raised, said or not: client libraries wrap the socket's timeout in
    errors of their own, some of them `from None`."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__
