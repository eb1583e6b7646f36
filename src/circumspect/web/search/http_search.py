"""asking: one question to a search server -> the JSON object it answers with, or `SearchError`.

`seconds` bounds the whole question, tries and waits included, because a person waits for the answer. What may pass is
tried once more: a broken connection, a 5xx, a 429 whose `Retry-After` is short. A longer one is remembered: until it is
over nothing is sent. Redirects are not followed, and what a server says when it fails is not repeated, for it may quote
the query.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2

from circumspect import outgoing
from circumspect.errors import ConfigError
from circumspect.web.search.results import SearchError

MAX_BYTES = 2_000_000
LONGEST_WAIT = 3.0
LONGEST_QUIET = 600.0
"""However long a server asks to be left alone, it is asked again after this."""

_PAUSE = 0.3
_PASSING = frozenset((429, 500, 502, 503, 504))

Refusals = Mapping[int, tuple[str, str]]
"""Status -> what is wrong, what to do."""


class SearchServer:
    """Where a provider is and what its refusals mean."""

    def __init__(
        self,
        title: str,
        url: str,
        *,
        refusals: Refusals,
        secrets: Mapping[str, str] | None = None,
        allow: Iterable[str] = (),
        seconds: float = 10.0,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`secrets` are headers that are sent to this server's own origin and shown to nobody."""
        if not seconds > 0:
            raise ConfigError(f"A search may take {seconds} seconds.", fix="Give a number above 0.")
        if "@" in url or "?" in url or "#" in url:
            raise ConfigError(
                f"The address of {title} has more than a host and a path.",
                fix="Leave out passwords, '?' and '#': https://search.example.com is enough.",
            )
        self._title = title
        self._allow = outgoing.Allowed.of(allow)
        self._url = outgoing.check_url(url, self._allow)
        self._refusals = refusals
        self._sealed = outgoing.seal(self._url, headers=secrets)
        self._seconds = seconds
        self._sleep = sleep
        self._now = now
        self._quiet_until = 0.0

    def __repr__(self) -> str:
        return f"<{self._title}>"

    async def ask(
        self, method: str, *, query: Mapping[str, str] | None = None, body: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        if self._now() < self._quiet_until:
            raise self._make_limit_error()
        content = None if body is None else json.dumps(body).encode()
        headers = {"accept": "application/json"} | ({} if body is None else {"content-type": "application/json"})
        try:
            async with (
                asyncio.timeout(self._seconds),
                outgoing.client(allow=self._allow, timeout=self._seconds, max_bytes=MAX_BYTES) as client,
            ):
                response = await self._answer(
                    client,
                    client.build_request(
                        method, self._url, params=query, content=content, headers=headers, extensions=self._extensions
                    ),
                )
        except (TimeoutError, httpx2.TimeoutException):
            raise SearchError(
                f"{self._title} did not answer within {self._seconds:g} seconds.",
                fix="Try again; if it stays slow, use another search provider.",
            ) from None
        except outgoing.BlockedAddress as error:
            raise SearchError(f"{self._title} may not be asked: {error.problem}", fix=error.fix) from None
        except outgoing.UnusableAnswer as error:
            raise self._make_unreadable_error(error.problem) from None
        except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            raise SearchError(
                f"{self._title} could not be reached ({type(error).__name__}).",
                fix="Check its address and that it is running.",
            ) from None
        if response.status_code != 200:
            raise self._make_refusal_error(response)
        return self._object(response)

    @property
    def _extensions(self) -> dict[str, object]:
        patience = httpx2.Timeout(self._seconds, connect=min(5.0, self._seconds))
        return {**self._sealed, "timeout": patience.as_dict()}

    async def _answer(self, client: httpx2.AsyncClient, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await client.send(request)
        except httpx2.TimeoutException:
            raise
        except httpx2.TransportError:
            await self._sleep(_PAUSE)
            return await client.send(request)
        if response.status_code not in _PASSING:
            return response
        wait = _retry_after(response)
        if wait is None and response.status_code == 429:
            return response
        if wait is not None and wait > LONGEST_WAIT:
            return response
        await self._sleep(_PAUSE if wait is None else wait)
        return await client.send(request)

    # --- what came back ----------------------------------------------------------------------------------------------

    def _make_refusal_error(self, response: httpx2.Response) -> SearchError:
        status = response.status_code
        if status in _PASSING and (wait := _retry_after(response)):
            self._quiet_until = self._now() + min(wait, LONGEST_QUIET)
        if status in self._refusals:
            problem, fix = self._refusals[status]
            return SearchError(f"{self._title}: {problem}", fix=fix)
        if status == 429:
            return self._make_limit_error()
        if 300 <= status < 400:
            return SearchError(
                f"{self._title} answered with a redirect ({status}), and redirects are not followed.",
                fix="Give the address it leads to, such as the one with https://.",
            )
        if status >= 500:
            return SearchError(f"{self._title} failed (status {status}).", fix="Try again later, or see its logs.")
        return SearchError(
            f"{self._title} refused the search (status {status}).", fix="Check that the address is that of its API."
        )

    def _make_limit_error(self) -> SearchError:
        left = self._quiet_until - self._now()
        return SearchError(
            f"{self._title} takes no more searches for now.",
            fix=f"Try again in {left:.0f} seconds, or raise its limit."
            if left > 0
            else "Try later, or raise its limit.",
        )

    def _object(self, response: httpx2.Response) -> Mapping[str, Any]:
        try:
            # Not orjson: providers cut texts in the middle of a letter, and it reads nothing of such an answer.
            answer = json.loads(response.content)
        except (ValueError, RecursionError):
            if response.headers.get("content-type", "").startswith("text/html") or response.content[:1] == b"<":
                raise self._make_unreadable_error("it sent a web page instead of JSON") from None
            raise self._make_unreadable_error("it is no JSON") from None
        if not isinstance(answer, dict):
            raise self._make_unreadable_error("it is no JSON object")
        return answer

    def _make_unreadable_error(self, why: str) -> SearchError:
        return make_unreadable_error(self._title, why)


def make_unreadable_error(title: str, why: str) -> SearchError:
    return SearchError(
        f"The answer of {title} cannot be read: {why.rstrip('.')}.", fix="Check that the address is that of its API."
    )


def _retry_after(response: httpx2.Response) -> float | None:
    """Seconds, given as such or as a date."""
    said = response.headers.get("retry-after", "").strip()
    if said.isascii() and said.isdecimal():
        return float(said)
    try:
        return max(0.0, (parsedate_to_datetime(said) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
