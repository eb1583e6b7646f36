"""What went wrong at a provider: its exception in, a `Failure` out: our error, and whether another try may help.

The one choice that may surprise: the provider's own words are shown only where they help to mend a request that it
rejected, shortened and with everything that looks like a key taken out. Nothing else of its answer leaves this file.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx2
from pydantic_ai import exceptions as wire

from circumspect.errors import ModelError, ModelGarbled, ModelRefused, ModelUnavailable
from circumspect.models.lean_http import BrokenOff, StatusError, TooSlow, Unreachable
from circumspect.models.wire_text import Unreadable, clean

NEVER, ONCE, ALWAYS = 1, 2, 1_000_000
"""How many tries in all a failure is worth."""

_KEY = re.compile(r"(?i)\b(?:bearer\s+\S+|(?:sk|pk|rk|gsk|xai|key|api|token)[-_][A-Za-z0-9*._-]{6,})")
_LATER = "Try again later, or add a fallback model."
_LONGEST = 300
_TOO_LONG = frozenset({"context_length_exceeded", "exceed_context_size_error"})
"""What OpenAI and llama.cpp's server call it."""
_QUOTA = frozenset({"insufficient_quota", "billing_error"})
_WORTH_ANOTHER_TRY = frozenset({408, 409, 425, 429})


class Failure(Exception):
    """One try that failed."""

    def __init__(self, error: ModelError, *, worth: int, retry_after: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.worth = worth
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Who failed, for the message; `secret` is what must never be in it."""

    name: str
    key_hint: str
    secret: str | None = field(default=None, repr=False)
    own_server: bool = False
    """It was named by its address: whoever reads the message is probably the one who runs it."""
    patience: float | None = None
    """How many seconds one try may take."""


def failure_of(error: Exception, named: ModelIdentity) -> Failure:
    """Classify whatever a try raised."""
    match error:
        case Failure():
            return error
        case ModelGarbled():
            # The provider is well; only the words were wrong, so there is nothing to wait for.
            return Failure(error, worth=ONCE, retry_after=0.0)
        case ModelError():
            return Failure(error, worth=ALWAYS if isinstance(error, ModelUnavailable) else NEVER)
        case StatusError():
            return _status_failure(error, named)
        case Unreadable():
            return _make_refusal(named, f"The request to {named.name} cannot be written as JSON: {error}.", "")
        case wire.ModelAPIError():
            return _api_failure(error, named)
        case wire.UserError():
            return _make_refusal(
                named,
                f"{named.name} cannot take this request.",
                f"{_redact(error.message, named)} Choose another model.",
            )
        case wire.UnexpectedModelBehavior():
            return _make_garbled_failure(named)
        case TooSlow():
            return _too_slow(named)
        case TimeoutError() | httpx2.HTTPError() | OSError() | Unreachable():
            return _unreachable(named)
        case BrokenOff():
            return _unavailable(named, "the answer broke off")
    # A body of the wrong shape surfaces as whatever the SDK stumbled over.
    return _make_garbled_failure(named, type(error).__name__)


def _api_failure(error: wire.ModelAPIError, named: ModelIdentity) -> Failure:
    match error:
        case wire.ModelRequestTimeout() | wire.ModelTimeoutError():
            return _too_slow(named)
        case wire.ModelConnectionError():
            return _unreachable(named)
        case wire.ModelQuotaExceededError():
            return _used_up(named)
        case wire.ModelRateLimitError():
            return _unavailable(named, "too many requests", error.retry_after)
        case wire.ModelAuthenticationError():
            return _wrong_key(named)
        case wire.ModelNotFoundError():
            return _not_there(named)
        case wire.ModelContextWindowExceededError():
            return _too_long(_quote_provider(error, named), named)
        case wire.ModelHTTPError() if _read_error_body(error).get("type") in _TOO_LONG:
            return _too_long(_quote_provider(error, named), named)
        case wire.ModelRequestRejectedError():
            return _make_refusal(named, f"{named.name} rejected the request.", _quote_provider(error, named))
        case wire.ModelHTTPError() if error.status_code < 500 and error.status_code not in _WORTH_ANOTHER_TRY:
            return _make_refusal(
                named, f"{named.name} rejected the request (HTTP {error.status_code}).", _quote_provider(error, named)
            )
        case wire.ModelHTTPError():
            return _unavailable(named, f"HTTP {error.status_code}", error.retry_after)
    if isinstance(error.__cause__, (json.JSONDecodeError, UnicodeDecodeError)) or error.message.startswith("Expected"):
        return _make_garbled_failure(named)
    return _unavailable(named, "the answer broke off", error.retry_after)


def _status_failure(error: StatusError, named: ModelIdentity) -> Failure:
    """What the provider says of itself, by its status and the names that the two wire formats have for it."""
    status, said = error.status, _read_said(error.body)
    message = str(said.get("message", "")).lower()
    names = {said.get("code"), said.get("type")}
    if status == 402 or names & _QUOTA or "credit balance is too low" in message:
        return _used_up(named)
    if names & _TOO_LONG or "prompt is too long" in message or "maximum context length" in message:
        return _too_long(_quote(said, named), named)
    if status in (401, 403):
        return _wrong_key(named)
    if status == 404:
        return _not_there(named)
    if status >= 500 or status in _WORTH_ANOTHER_TRY:
        why = "too many requests" if status == 429 else f"HTTP {status}"
        return _unavailable(named, why, _read_retry_after(error.headers))
    shown = "" if status in (400, 422) else f" (HTTP {status})"
    return _make_refusal(named, f"{named.name} rejected the request{shown}.", _quote(said, named))


def _read_said(body: bytes) -> dict[str, object]:
    try:
        found = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    found = found.get("error", found) if isinstance(found, dict) else {}
    return found if isinstance(found, dict) else {}


def _read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds from now; None for what makes no sense."""
    told = headers.get("retry-after", "")
    try:
        seconds = float(headers["retry-after-ms"]) / 1000 if "retry-after-ms" in headers else float(told)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(told) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):
            return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _unavailable(named: ModelIdentity, why: str, retry_after: float | None = None, fix: str = _LATER) -> Failure:
    error = ModelUnavailable(f"{named.name} did not answer: {why}.", fix=fix)
    return Failure(error, worth=ALWAYS, retry_after=retry_after)


def _too_slow(named: ModelIdentity) -> Failure:
    waited = f" ({named.patience:g} s)" if named.patience else ""
    fix = "Try again later, add a fallback model, or allow more time with ;timeout=SECONDS after the model's name."
    return _unavailable(named, f"no answer in time{waited}", fix=fix)


def _unreachable(named: ModelIdentity) -> Failure:
    check = "Check that a server runs at that address, or add a fallback model."
    return _unavailable(named, "the connection failed", fix=check if named.own_server else _LATER)


def _used_up(named: ModelIdentity) -> Failure:
    return _make_refusal(named, f"The account for {named.name} has used up its quota.", "Check its billing page.")


def _wrong_key(named: ModelIdentity) -> Failure:
    fix = f"Check {named.key_hint} and what it may be used for."
    return _make_refusal(named, f"{named.name} does not accept the key.", fix)


def _not_there(named: ModelIdentity) -> Failure:
    return _make_refusal(named, f"{named.name} does not exist there.", "Check the model's name and address.")


def _too_long(quoted: str, named: ModelIdentity) -> Failure:
    fix = (
        "Choose a larger model, or give the server a larger context." if named.own_server else "Choose a larger model."
    )
    said = quoted if named.own_server else ""
    return _make_refusal(named, f"The conversation is too long for {named.name}.", f"{fix} {said}".strip())


def _make_refusal(named: ModelIdentity, problem: str, fix: str) -> Failure:
    return Failure(ModelRefused(problem, fix=fix), worth=NEVER)


def _make_garbled_failure(named: ModelIdentity, why: str = "no valid body") -> Failure:
    problem = f"{named.name} answered with something that cannot be read ({why})."
    return Failure(ModelGarbled(problem, fix="Check the model's address."), worth=ALWAYS)


def _read_error_body(error: wire.ModelAPIError) -> dict[str, object]:
    body = error.body.get("error", error.body) if isinstance(error.body, dict) else error.body
    return body if isinstance(body, dict) else {}


def _quote_provider(error: wire.ModelAPIError, named: ModelIdentity) -> str:
    return _quote(_read_error_body(error), named)


def _quote(said: Mapping[str, object], named: ModelIdentity) -> str:
    """The provider's own explanation."""
    message = said.get("message")
    return f"It said: {_redact(message, named)}" if isinstance(message, str) else "Check the request and the model."


def _redact(message: str, named: ModelIdentity) -> str:
    text = clean(message)
    if named.secret:
        text = text.replace(named.secret, "[key]")
    return _KEY.sub("[key]", text)[:_LONGEST]
