"""How much and how often: a middleware that bounds a request's body in bytes and seconds, and the rate per tenant.

The rate is a leaky bucket (GCRA): a minute's worth may come at once, then one by one. With Redis all workers share the
buckets and Redis' own clock counts. The one choice that may surprise: when Redis is gone each worker counts for itself,
so that for a while N workers let N times as much through. A limiter that is down must not close the shop, and it never
decides whether an action runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from circumspect.errors import CircumspectError, ConfigError
from circumspect.server.config import Settings

logger = logging.getLogger("circumspect.server")

BODY_SECONDS = 30.0
UPLOAD_SECONDS = 300.0
DISCARD_SECONDS = 2.0
DISCARD_BYTES = 20_000_000
RETRY_SECONDS = 5.0
"""How long Redis is left alone after it failed."""
REDIS_SECONDS = 0.5
"""How long a request waits for Redis."""
_REDIS_CONNECTIONS = 16
_MANY = 10_000


class TooManyRequests(CircumspectError):
    code = "too_many_requests"
    status = 429

    def __init__(self, retry_after: float) -> None:
        self.retry_after = max(1, math.ceil(retry_after))
        super().__init__("Too many requests.", fix=f"Wait {self.retry_after} s, and send less at once.")

    @property
    def headers(self) -> Mapping[str, str]:
        return {"Retry-After": str(self.retry_after)}


# --- rate -----------------------------------------------------------------------------------------------------------


class Buckets:
    """Counted in this process. A bucket is one number: when it will be empty again."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._empty_at: dict[str, float] = {}

    def take(self, name: str, per_minute: int) -> float:
        """0 when it fits; otherwise how many seconds to wait."""
        now, each = self._now(), 60 / per_minute
        then = max(self._empty_at.get(name, now), now) + each
        if (wait := then - 60 - now) > 1e-6:
            return wait
        if len(self._empty_at) >= _MANY and name not in self._empty_at:
            self._empty_at = {name: at for name, at in self._empty_at.items() if at > now}
        self._empty_at[name] = then
        return 0.0


_TAKE = """
local t = redis.call('TIME')
local now = tonumber(t[1]) + tonumber(t[2]) / 1000000
local each = 60 / tonumber(ARGV[1])
local empty = tonumber(redis.call('GET', KEYS[1]) or '0')
if empty < now or empty > now + 120 then empty = now end
local after = empty + each
local wait = after - 60 - now
if wait > 0.000001 then return string.format('%.6f', wait) end
redis.call('SET', KEYS[1], string.format('%.6f', after), 'PX', math.ceil((after - now) * 1000))
return '0'
"""


class Limiter:
    """`await limiter.check(tenant)` returns, or raises `TooManyRequests`."""

    def __init__(
        self, per_minute: int = 600, *, redis: str | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.per_minute = per_minute
        self._now = now
        self._own = Buckets(now)
        self._client = _client(redis) if redis else None
        self._script = self._client.register_script(_TAKE) if self._client else None
        self._retry_at = 0.0
        self._down = False

    async def take(self, name: str, per_minute: int | None = None) -> float:
        """0 when there was room for one more; otherwise how many seconds to wait."""
        rate = per_minute or self.per_minute
        if self._script is not None and self._now() >= self._retry_at:
            shared = await self._take_shared(name, rate)
            if shared is not None:
                return shared
        return self._own.take(name, rate)

    async def check(self, name: str, per_minute: int | None = None) -> None:
        if wait := await self.take(name, per_minute):
            raise TooManyRequests(wait)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    @property
    def is_shared(self) -> bool:
        """Do all workers count together at the moment?"""
        return self._client is not None and not self._down

    async def _take_shared(self, name: str, rate: int) -> float | None:
        from redis.exceptions import RedisError

        try:
            async with asyncio.timeout(REDIS_SECONDS):
                wait = float(await self._script(keys=[f"circumspect:rate:{name}"], args=[rate]))  # type: ignore[misc]
        except (RedisError, OSError, TimeoutError, ValueError) as error:
            self._retry_at = self._now() + RETRY_SECONDS
            if not self._down:
                self._down = True
                logger.warning(
                    "Redis cannot be used (%s): each worker counts requests for itself until it is back",
                    type(error).__name__,
                )
            return None
        if self._down:
            self._down = False
            logger.warning("Redis is back: workers count requests together again")
        return wait


def open_limiter(settings: Settings) -> Limiter:
    return Limiter(settings.rate_per_minute, redis=settings.redis)


def _client(url: str) -> Any:
    try:
        from redis.asyncio import BlockingConnectionPool, Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
    except ModuleNotFoundError:
        raise ConfigError("The Redis client is not installed.", fix="pip install 'circumspect[redis]'") from None
    pool: Any = BlockingConnectionPool.from_url(
        url,
        max_connections=_REDIS_CONNECTIONS,
        timeout=REDIS_SECONDS,
        socket_timeout=REDIS_SECONDS,
        socket_connect_timeout=REDIS_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
    return Redis.from_pool(pool)


# --- size -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Verdict:
    status: int
    code: str
    problem: str
    fix: str


@dataclass(frozen=True, slots=True)
class BodyBounds:
    """How large a body may be, how long it may take, the setting that says the first, and where more may be sent."""

    max_bytes: int
    seconds: float
    setting: str = "max_body_bytes"
    elsewhere: str = ""

    def refuse_large(self) -> _Verdict:
        fix = f"Send at most {self.max_bytes} bytes; the operator can raise {self.setting}. {self.elsewhere}".rstrip()
        return _Verdict(413, "too_large", "The request is too large.", fix)

    def refuse_slow(self) -> _Verdict:
        fix = f"Send it within {self.seconds:g} seconds."
        return _Verdict(408, "too_slow", "The request's body took too long.", fix)


class BodyLimit:
    """Pure ASGI, so that nothing is read twice or kept. A body that is too large or too slow is answered here (413,
    408), whatever the application was about to do, and the connection is closed. `special` are the paths with bounds of
    their own."""

    def __init__(
        self,
        app: ASGIApp,
        max_bytes: int = 1_000_000,
        seconds: float = BODY_SECONDS,
        special: Mapping[str, BodyBounds] | None = None,
    ) -> None:
        self._app, self._special = app, special or {}
        self._usual = BodyBounds(max_bytes, seconds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        bounds = self._special.get(scope.get("path", ""), self._usual)
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), None)
        # Starlette and uvicorn have refused a length that is no number before it comes here.
        if declared is not None and declared.isdigit() and int(declared) > bounds.max_bytes:
            await _answer(send, bounds.refuse_large(), receive)
            return
        request = _Bounded(bounds, receive, send)
        try:
            await self._app(scope, request.receive, request.send)
        except Exception:
            if not request.ended:
                raise


class _Bounded:
    """One request. After `ended` the application hears that the client left, and says nothing more."""

    def __init__(self, bounds: BodyBounds, receive: Receive, send: Send) -> None:
        self._bounds, self._receive, self._send = bounds, receive, send
        self._deadline = asyncio.get_running_loop().time() + bounds.seconds
        self._bytes = 0
        self._whole = False
        self._started = False
        self.ended = False

    async def receive(self) -> Message:
        if self.ended:
            return {"type": "http.disconnect"}
        if self._whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            return await self._end(self._bounds.refuse_slow())
        if message["type"] == "http.request":
            self._bytes += len(message.get("body", b""))
            self._whole = not message.get("more_body", False)
            if self._bytes > self._bounds.max_bytes:
                return await self._end(self._bounds.refuse_large(), self._receive)
        return message

    async def send(self, message: Message) -> None:
        if not self.ended:
            self._started = True
            await self._send(message)

    async def _end(self, verdict: _Verdict, rest: Receive | None = None) -> Message:
        self.ended = True
        if not self._started:
            await _answer(self._send, verdict, rest)
        return {"type": "http.disconnect"}


async def _answer(send: Send, verdict: _Verdict, rest: Receive | None) -> None:
    """Most clients read the answer after they have sent everything, and lose it when the connection is closed with
    something unread: so the rest is taken and thrown away, for a while."""
    body = orjson.dumps({"code": verdict.code, "problem": verdict.problem, "fix": verdict.fix})
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": verdict.status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    if rest is not None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DISCARD_SECONDS):
                left = DISCARD_BYTES
                while left > 0:
                    message = await rest()
                    left -= len(message.get("body", b""))
                    if not message.get("more_body", False):
                        break
    await send({"type": "http.response.body", "body": b""})
