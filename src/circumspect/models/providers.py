"""One call to a real provider: `ModelRequest` in, `ModelReply` out, or a `ModelError` after all tries.

The wire formats, the errors' classes and the deadline of a try are pydantic-ai's model layer; waiting and trying again
is tenacity's. What is decided here is what is worth another try, for how long, and what it all cost.

The one choice that may surprise: connections belong to an event loop, so each loop that uses a model gets its own
client. A model that is kept for long is closed with `aclose()` on the loop that used it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias, cast
from weakref import WeakKeyDictionary

from pydantic_ai import messages as wire
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.models import Model as WireModel
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from tenacity import AsyncRetrying, RetryCallState, stop_after_attempt, stop_before_delay, wait_exponential_jitter

from circumspect.errors import ModelRefused, ModelUnavailable
from circumspect.models import schema_driven, translate
from circumspect.models.pricing import UsageTally, estimate_tokens, price, request_tokens, with_usage
from circumspect.models.provider_errors import NEVER, Failure, ModelIdentity, failure_of
from circumspect.models.provider_settings import ProviderSettings
from circumspect.models.traits import ModelTraits
from circumspect.models.wire_text import Unreadable, clean
from circumspect.values import ModelReply, ModelRequest, ModelUsage

_BACKOFF = wait_exponential_jitter(multiplier=0.5, max=8.0, jitter=0.5)
_SHORTEST_TRY = 0.001
_NO_TEMPERATURE = ("thinking_always_enabled", "thinking_enabled_by_default", "anthropic_disallows_sampling_settings")
"""What pydantic-ai's profiles call models that refuse a temperature."""
_Pieces: TypeAlias = AsyncGenerator[str | ModelReply, None]


class Connection(NamedTuple):
    """A provider's client, ready to be asked, and how to close it."""

    model: WireModel[Any]
    close: Callable[[], Awaitable[None]]
    single_try: bool = True
    """The client was told not to try again by itself; else every request has to tell it."""
    any_schema: bool = False
    """The provider takes every JSON schema as its output format, not only closed ones."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A request in both forms: ours, and the provider's."""

    request: ModelRequest
    sent: ModelRequest
    messages: list[wire.ModelMessage]
    parameters: ModelRequestParameters
    deadline: float


class ProviderModel:
    """A model of a provider, as the `Model` port has it. Made by `open_model`."""

    def __init__(
        self, connect: Callable[[], Connection], *, named: ModelIdentity, facts: ModelTraits, settings: ProviderSettings
    ) -> None:
        self._connect = connect
        self._named = named
        self._settings = settings
        # Connecting here tells a wrong key, name or missing package at once, and keeps slow imports off the loop.
        self._spare: Connection | None = connect()
        self._connections: WeakKeyDictionary[asyncio.AbstractEventLoop, Connection] = WeakKeyDictionary()
        abilities = self._spare.model.profile
        self._facts = facts.or_else(_read_traits(abilities))
        self._takes_temperature = not any(abilities.get(fact) for fact in _NO_TEMPERATURE)

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
            reply: ModelReply = await self._retrying()(self._once, self._prepare(request), tally)
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
            begun: tuple[_Pieces, str | ModelReply] = await self._retrying()(self._begin, self._prepare(request), tally)
            pieces, first = begun
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
            model = self._connection().model
            response = await model_request(
                model,
                prepared.messages,
                model_settings=self._wire_settings(model, prepared),
                model_request_parameters=prepared.parameters,
            )
            return self._reply(response, prepared, tally)
        except Exception as error:
            raise failure_of(error, self._named) from None

    async def _begin(self, prepared: _Prepared, tally: UsageTally) -> tuple[_Pieces, str | ModelReply]:
        """A stream and its first piece: as long as that has not come, another try is possible."""
        pieces = self._pieces(prepared, tally)
        return pieces, await anext(pieces)

    async def _pieces(self, prepared: _Prepared, tally: UsageTally) -> _Pieces:
        tally.count_attempt()
        try:
            model = self._connection().model
            async with model_request_stream(
                model,
                prepared.messages,
                model_settings=self._wire_settings(model, prepared),
                model_request_parameters=prepared.parameters,
            ) as streamed:
                async for event in streamed:
                    if text := _text(event):
                        yield clean(text)
                response = streamed.get()
            if translate.was_cut_off(response):
                raise ModelUnavailable(f"{self.name} broke off in the middle of its answer.")
            yield self._reply(response, prepared, tally)
        except Exception as error:
            raise failure_of(error, self._named) from None

    def _prepare(self, request: ModelRequest) -> _Prepared:
        if self._facts.tools == "json_schema":
            sent = schema_driven.rewrite_request(request)
        else:
            sent = translate.with_native_tools(request)
        try:
            messages = translate.messages(sent)
            parameters = translate.parameters(sent, self._facts, any_schema=self._connection().any_schema)
        except Unreadable as why:
            error = ModelRefused(f"The request to {self.name} cannot be written as JSON: {why}.")
            raise Failure(error, worth=NEVER) from None
        return _Prepared(request, sent, messages, parameters, time.monotonic() + self._settings.timeout)

    def _reply(self, response: wire.ModelResponse, prepared: _Prepared, tally: UsageTally) -> ModelReply:
        tally.add_usage(self._usage(response, prepared))
        said = translate.read(response)
        reply = ModelReply(said.text, tally.usage, said.calls, said.finish)
        if self._facts.tools == "json_schema" and schema_driven.is_driven(prepared.request):
            return schema_driven.restore_reply(reply, prepared.request)
        return translate.check_reply(reply, prepared.request)

    def _usage(self, response: wire.ModelResponse, prepared: _Prepared) -> ModelUsage:
        counted = response.usage
        usage = ModelUsage(self.name, counted.input_tokens, counted.output_tokens, counted.cache_read_tokens)
        if not (usage.input_tokens or usage.output_tokens):
            calls = "".join(part.args_as_json_str() for part in response.parts if isinstance(part, wire.ToolCallPart))
            answered = estimate_tokens(response.text or "", calls)
            usage = ModelUsage(self.name, request_tokens(prepared.sent), answered, estimated=True)
        cost = price(
            provider=response.provider_name or "",
            url=response.provider_url,
            models=(response.model_name or "", self._connection().model.model_name),
            usage=usage,
        )
        return replace(usage, cost_usd=cost)

    # --- how it is sent ---------------------------------------------------------------------------------------------

    def _connection(self) -> Connection:
        loop = asyncio.get_running_loop()
        connection = self._connections.get(loop)
        if connection is None:
            connection, self._spare = self._spare or self._connect(), None
            self._connections[loop] = connection
        return connection

    def _wire_settings(self, model: WireModel[Any], prepared: _Prepared) -> ModelSettings:
        left = prepared.deadline - time.monotonic()
        settings: dict[str, Any] = {
            **translate.options(prepared.sent),
            "request_timeout": max(_SHORTEST_TRY, min(left, self._settings.try_timeout or left)),
        }
        if not self._connection().single_try:
            settings["max_retries"] = 0
        if not self._takes_temperature:
            settings.pop("temperature", None)
        return cast(ModelSettings, {k: v for k, v in settings.items() if k not in model.unsupported_settings})

    def _retrying(self) -> AsyncRetrying:
        return AsyncRetrying(
            stop=stop_after_attempt(self._settings.tries) | stop_before_delay(self._settings.timeout),
            wait=self._wait,
            retry=_worth_another_try,
            sleep=self._settings.sleep or asyncio.sleep,
            reraise=True,
        )

    def _wait(self, state: RetryCallState) -> float:
        failure = _failure(state)
        if failure is not None and failure.retry_after is not None:
            return min(failure.retry_after, self._settings.longest_wait)
        return _BACKOFF(state)


def _worth_another_try(state: RetryCallState) -> bool:
    failure = _failure(state)
    return failure is not None and state.attempt_number < failure.worth


def _failure(state: RetryCallState) -> Failure | None:
    error = state.outcome.exception() if state.outcome else None
    return error if isinstance(error, Failure) else None


def _attach_usage(piece: str | ModelReply, tally: UsageTally, started: float) -> str | ModelReply:
    return piece if isinstance(piece, str) else replace(piece, usage=_after(tally.usage, started))


def _after(usage: ModelUsage, started: float) -> ModelUsage:
    return replace(usage, seconds=time.monotonic() - started)


def _text(event: wire.ModelResponseStreamEvent) -> str:
    match event:
        case wire.PartStartEvent(part=wire.TextPart(content=text)):
            return text
        case wire.PartDeltaEvent(delta=wire.TextPartDelta(content_delta=text)):
            return text
    return ""


def _read_traits(abilities: ModelProfile) -> ModelTraits:
    """What pydantic-ai knows about a model."""
    return ModelTraits(
        tools="native" if abilities.get("supports_tools", True) else "json_schema",
        schema="native" if abilities.get("supports_json_schema_output", False) else "prompted",
    )
