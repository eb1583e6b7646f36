"""One call to a real provider: `ModelRequest` in, `ModelReply` out, or a `ModelError` after all tries.

The wire formats are behind `wire.py`. What is decided here is what is worth another try, for how long, and what it all
cost.

The one choice that may surprise: connections belong to an event loop, so each loop that uses a model gets its own
client. A model that is kept for long is closed with `aclose()` on the loop that used it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from circumspect.errors import ModelUnavailable
from circumspect.models import schema_driven, translate
from circumspect.models.lean_wire import LeanWire
from circumspect.models.pricing import UsageTally, estimate_tokens, price, request_tokens, with_usage
from circumspect.models.provider_errors import Failure, ModelIdentity, failure_of
from circumspect.models.provider_settings import ProviderSettings
from circumspect.models.pydantic_wire import PydanticWire
from circumspect.models.traits import ModelTraits
from circumspect.models.wire import Wire, WireAnswer
from circumspect.models.wire_text import clean
from circumspect.values import ModelReply, ModelRequest, ModelUsage

T = TypeVar("T")

_FIRST_WAIT, _LONGEST_WAIT, _JITTER = 0.5, 8.0, 0.5
_SHORTEST_TRY = 0.001
_Pieces: TypeAlias = AsyncGenerator[str | ModelReply, None]


class Connection(NamedTuple):
    """The ways to one model: the lean one for what it takes, and the one that takes everything."""

    facts: ModelTraits
    """How tools and schemas reach the model."""
    wire: PydanticWire
    lean: LeanWire | None = None

    def choose(self, request: ModelRequest) -> Wire:
        return self.lean if self.lean is not None and self.lean.takes(request) else self.wire

    async def close(self) -> None:
        if self.lean is not None:
            await self.lean.close()
        await self.wire.close()


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A request in both forms: as it was made, and as it is sent."""

    request: ModelRequest
    sent: ModelRequest
    deadline: float


class ProviderModel:
    """A model of a provider, as the `Model` port has it. Made by `open_model`."""

    def __init__(self, connect: Callable[[], Connection], *, named: ModelIdentity, settings: ProviderSettings) -> None:
        self._connect = connect
        self._named = named
        self._settings = settings
        # Connecting here tells a wrong key, name or missing package at once, and keeps slow imports off the loop.
        self._spare: Connection | None = connect()
        self._facts = self._spare.facts
        self._connections: WeakKeyDictionary[asyncio.AbstractEventLoop, Connection] = WeakKeyDictionary()

    @property
    def name(self) -> str:
        return self._named.name

    @property
    def facts(self) -> ModelTraits:
        """How tools and schemas reach this model."""
        return self._facts

    async def complete(self, request: ModelRequest) -> ModelReply:
        started, tally = time.monotonic(), UsageTally(ModelUsage(self.name, attempts=0))
        try:
            reply = await self._try(self._once, self._prepare(request), tally)
        except Failure as failure:
            raise with_usage(failure.error, _after(tally.usage, started)) from None
        return replace(reply, usage=_after(tally.usage, started))

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        if self._facts.tools == "json_schema" and schema_driven.is_driven(request):
            # What such a model streams is the inside of a JSON object, and that is not for anyone's eyes.
            reply = await self.complete(request)
            if reply.text:
                yield reply.text
            yield reply
            return
        started, tally = time.monotonic(), UsageTally(ModelUsage(self.name, attempts=0))
        try:
            pieces, first = await self._try(self._begin, self._prepare(request), tally)
            async with aclosing(pieces):
                yield _attach_usage(first, tally, started)
                async for piece in pieces:
                    yield _attach_usage(piece, tally, started)
        except Failure as failure:
            raise with_usage(failure.error, _after(tally.usage, started)) from None

    async def aclose(self) -> None:
        """Close this event loop's connections. The model can be used again; it connects anew."""
        connection, self._spare = self._connections.pop(asyncio.get_running_loop(), self._spare), None
        if connection is not None:
            await connection.close()

    # --- one try ----------------------------------------------------------------------------------------------------

    async def _once(self, prepared: _Prepared, tally: UsageTally) -> ModelReply:
        tally.count_attempt()
        try:
            wire = self._connection().choose(prepared.sent)
            return self._reply(await wire.ask(prepared.sent, self._time_left(prepared)), wire, prepared, tally)
        except Exception as error:
            raise failure_of(error, self._named) from None

    async def _begin(self, prepared: _Prepared, tally: UsageTally) -> tuple[_Pieces, str | ModelReply]:
        """A stream and its first piece: as long as that has not come, another try is possible."""
        pieces = self._pieces(prepared, tally)
        return pieces, await anext(pieces)

    async def _pieces(self, prepared: _Prepared, tally: UsageTally) -> _Pieces:
        tally.count_attempt()
        try:
            wire = self._connection().choose(prepared.sent)
            async with aclosing(wire.stream(prepared.sent, self._time_left(prepared))) as pieces:
                async for piece in pieces:
                    if isinstance(piece, str):
                        yield clean(piece)
                        continue
                    if piece.finish is None:
                        raise ModelUnavailable(f"{self.name} broke off in the middle of its answer.")
                    yield self._reply(piece, wire, prepared, tally)
        except Exception as error:
            raise failure_of(error, self._named) from None

    def _prepare(self, request: ModelRequest) -> _Prepared:
        if self._facts.tools == "json_schema":
            sent = schema_driven.rewrite_request(request)
        else:
            sent = translate.with_native_tools(request)
        return _Prepared(request, sent, time.monotonic() + self._settings.timeout)

    def _reply(self, answer: WireAnswer, wire: Wire, prepared: _Prepared, tally: UsageTally) -> ModelReply:
        tally.add_usage(self._usage(answer, wire, prepared))
        said = translate.read(answer)
        reply = ModelReply(said.text, tally.usage, said.calls, said.finish)
        if self._facts.tools == "json_schema" and schema_driven.is_driven(prepared.request):
            return schema_driven.restore_reply(reply, prepared.request)
        return translate.check_reply(reply, prepared.request)

    def _usage(self, answer: WireAnswer, wire: Wire, prepared: _Prepared) -> ModelUsage:
        """Of the answer alone: tries and time are those of the whole call."""
        usage = ModelUsage(self.name, answer.input_tokens, answer.output_tokens, answer.cached_tokens, attempts=0)
        if not (usage.input_tokens or usage.output_tokens):
            calls = "".join(one.arguments if isinstance(one.arguments, str) else "" for one in answer.calls)
            answered = estimate_tokens(answer.text, calls)
            usage = ModelUsage(self.name, request_tokens(prepared.sent), answered, attempts=0, estimated=True)
        models = (answer.model, wire.model)
        for name in (self.name, *models):
            if own := self._settings.prices.get(name):
                return replace(usage, cost_usd=own.price(usage))
        return replace(usage, cost_usd=price(provider=wire.provider, url=wire.url, models=models, usage=usage))

    # --- how it is sent ---------------------------------------------------------------------------------------------

    def _connection(self) -> Connection:
        loop = asyncio.get_running_loop()
        connection = self._connections.get(loop)
        if connection is None:
            connection, self._spare = self._spare or self._connect(), None
            self._connections[loop] = connection
        return connection

    def _time_left(self, prepared: _Prepared) -> float:
        """Seconds for one try."""
        left = prepared.deadline - time.monotonic()
        return max(_SHORTEST_TRY, min(left, self._settings.try_timeout or left))

    async def _try(
        self, attempt: Callable[[_Prepared, UsageTally], Awaitable[T]], prepared: _Prepared, tally: UsageTally
    ) -> T:
        """As often as it is worth it, and no longer than there is time: the wait for another try counts as well."""
        settings, began, number = self._settings, time.monotonic(), 0
        while True:
            number += 1
            try:
                return await attempt(prepared, tally)
            except Failure as failure:
                wait = self._wait(failure, number)
                late = time.monotonic() - began + wait >= settings.timeout
                if late or number >= min(failure.worth, settings.tries):
                    raise
            await (settings.sleep or asyncio.sleep)(wait)

    def _wait(self, failure: Failure, number: int) -> float:
        if failure.retry_after is not None:
            return min(failure.retry_after, self._settings.longest_wait)
        jitter = random.uniform(0, _JITTER)
        return min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** (number - 1) + jitter)


def _attach_usage(piece: str | ModelReply, tally: UsageTally, started: float) -> str | ModelReply:
    return piece if isinstance(piece, str) else replace(piece, usage=_after(tally.usage, started))


def _after(usage: ModelUsage, started: float) -> ModelUsage:
    return replace(usage, seconds=time.monotonic() - started)
