"""failures: an exception of a tool -> the `ToolError` that the model and the record get to see.

The text is the exception's type and message, shortened, with whatever looks like a secret struck out. A broken
connection is told apart from a refusal: after it nobody knows whether the call arrived, so it counts as a timeout.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from circumspect.errors import ToolError, ToolTimeout

LONGEST = 300

_CUT_OFF = (TimeoutError, ConnectionResetError, ConnectionAbortedError, BrokenPipeError)

_SECRETS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w\-.~+/]{6,}=*"), r"\1 [hidden]"),
    (re.compile(r"(?i)(\b[a-z][a-z0-9+.\-]*://)[^\s/@]+@"), r"\1[hidden]@"),
    (
        re.compile(
            r"(?i)([\"']?\b[\w\-]*(?:api[_\-]?key|access[_\-]?key|secret|token|passw(?:or)?d|passphrase|signature"
            r"|cookie|authorization)[\w\-]*[\"']?\s*[:=]\s*)(?!\[hidden\])"
            r"(?!(?:bearer|basic)\s)(\"[^\"]*\"|'[^']*'|[^\s,;&)}\]]+)"
        ),
        r"\1[hidden]",
    ),
    (re.compile(r"\b(?:sk|pk|rk|ghp|gho|ghs|xox[abpr]|AKIA)[\w\-]{12,}"), "[hidden]"),
    (re.compile(r"\beyJ[\w\-]{8,}\.[\w\-]+\.?[\w\-]*"), "[hidden]"),
)


def failure(tool: str, error: BaseException) -> ToolError:
    """What the caller is told. A `ToolError` of the tool's own is passed on as it is: its words were chosen."""
    if isinstance(error, ToolError):
        return error
    if any(isinstance(cause, _CUT_OFF) for cause in _chain(error)):
        return ToolTimeout(f"{tool} was cut off, and it is not known whether it happened: {brief(error)}")
    return ToolError(f"{tool} failed: {brief(error)}")


def brief(error: BaseException) -> str:
    """Type and message on one line, without secrets."""
    message = " ".join(str(error).split())
    for pattern, replacement in _SECRETS:
        message = pattern.sub(replacement, message)
    if len(message) > LONGEST:
        message = message[: LONGEST - 1] + "…"
    name = type(error).__name__
    return f"{name}: {message}" if message else name


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it was raised from: client libraries wrap the socket's timeout in errors of their own."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
