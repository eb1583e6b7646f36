"""ask: one JSON request to a guardian's server -> its JSON answer, or `GuardianUnavailable`.

The one choice that may surprise: `timeout` bounds the whole question, all tries and waits included, because it stands
between a person and their answer. What the server says when it fails is not repeated: it may quote the message.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from circumspect.errors import ConfigError
from circumspect.guardian.port import GuardianUnavailable, HarmCategory
from circumspect.values import Json

if TYPE_CHECKING:
    import httpx2

_WORTH_ANOTHER_TRY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


@dataclass(frozen=True, slots=True)
class Remote:
    """Where a guardian is and how long to wait for it. `base_url` is the address that ends in `/v1`."""

    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 8.0
    try_timeout: float = 5.0
    tries: int = 3
    first_wait: float = 0.2
    longest_wait: float = 2.0
    ignore: frozenset[HarmCategory] = frozenset()

    def __post_init__(self) -> None:
        if not self.base_url.startswith(("http://", "https://")):
            raise ConfigError(
                f"'{self.base_url}' is no address of a guardian.", fix="Give one such as https://api.openai.com/v1."
            )
        if self.tries < 1:
            raise ConfigError(f"tries is {self.tries}.", fix="Use 1 or more; 1 means no retry.")
        for name in ("timeout", "try_timeout"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} is {getattr(self, name)}.", fix="Give a number of seconds above 0.")


@dataclass(frozen=True, slots=True)
class GuardianAnswer:
    body: Mapping[str, Any]
    seconds: float
    attempts: int


async def ask(remote: Remote, path: str, body: Mapping[str, Json]) -> GuardianAnswer:
    """POST the body; try again after what may pass: timeouts, broken connections, 429 and 5xx."""
    try:
        import httpx2
    except ImportError:
        raise ConfigError(
            "The package httpx2 is missing.", fix="Install circumspect[agent], or use the guardian 'rules'."
        ) from None

    started = time.monotonic()
    headers = {"authorization": f"Bearer {remote.api_key}"} if remote.api_key else {}
    why = "no answer in time"
    try:
        async with asyncio.timeout(remote.timeout), httpx2.AsyncClient(timeout=remote.try_timeout) as client:
            for attempt in range(1, remote.tries + 1):
                wait = min(remote.first_wait * 2 ** (attempt - 1), remote.longest_wait)
                try:
                    response = await client.post(f"{remote.base_url.rstrip('/')}{path}", json=body, headers=headers)
                except httpx2.TimeoutException:
                    why = "no answer in time"
                except httpx2.HTTPError:
                    why = "the connection failed"
                else:
                    if response.status_code == 200:
                        return GuardianAnswer(_object(remote, response), time.monotonic() - started, attempt)
                    why = f"HTTP {response.status_code}"
                    if response.status_code not in _WORTH_ANOTHER_TRY:
                        break
                    wait = min(_read_retry_after(response) or wait, remote.longest_wait)
                if attempt < remote.tries:
                    await asyncio.sleep(wait)
    except TimeoutError:
        why = "no answer in time"
    raise GuardianUnavailable(
        f"The guardian {remote.model} did not answer: {why}.",
        fix="Check its address and key, or use the guardian 'rules'.",
    )


def make_garbled_error(remote: Remote, what: str) -> GuardianUnavailable:
    return GuardianUnavailable(
        f"The guardian {remote.model} answered something that cannot be read ({what}).",
        fix="Check that the model is a guardian and that its address is right.",
    )


def _object(remote: Remote, response: httpx2.Response) -> Mapping[str, Any]:
    try:
        body = json.loads(response.content)
    except ValueError:
        raise make_garbled_error(remote, "no JSON") from None
    if not isinstance(body, dict):
        raise make_garbled_error(remote, "no JSON object")
    return body


def _read_retry_after(response: httpx2.Response) -> float | None:
    """The seconds of `Retry-After`; a date there is not worth reading for waits this short."""
    try:
        return max(0.0, float(response.headers.get("retry-after", "")))
    except ValueError:
        return None


def count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
