"""Every provider that pydantic-ai knows, in its words: `translate` writes the request, its model layer sends it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, cast

from pydantic_ai import messages as wire
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.models import Model as WireModel
from pydantic_ai.settings import ModelSettings

from circumspect.models import translate
from circumspect.models.traits import ModelTraits
from circumspect.models.wire import WireAnswer
from circumspect.values import ModelRequest

_NO_TEMPERATURE = ("thinking_always_enabled", "thinking_enabled_by_default", "anthropic_disallows_sampling_settings")
"""What pydantic-ai's profiles call models that refuse a temperature."""


class PydanticWire:
    def __init__(
        self,
        model: WireModel[Any],
        close: Callable[[], Awaitable[None]],
        facts: ModelTraits,
        *,
        single_try: bool = True,
        any_schema: bool = False,
    ) -> None:
        """`single_try`: the client was told not to try again by itself; else every request has to tell it.
        `any_schema`: the provider takes every JSON schema as its output format, not only closed ones."""
        self._model, self._close, self._facts = model, close, facts
        self._single_try, self._any_schema = single_try, any_schema
        self._takes_temperature = not any(model.profile.get(fact) for fact in _NO_TEMPERATURE)

    @property
    def provider(self) -> str:
        return self._model.system

    @property
    def url(self) -> str:
        return self._model.base_url or ""

    @property
    def model(self) -> str:
        return self._model.model_name

    async def ask(self, request: ModelRequest, seconds: float) -> WireAnswer:
        response = await model_request(
            self._model,
            translate.messages(request),
            model_settings=self._set(request, seconds),
            model_request_parameters=translate.parameters(request, self._facts, any_schema=self._any_schema),
        )
        return translate.read_response(response)

    async def stream(self, request: ModelRequest, seconds: float) -> AsyncGenerator[str | WireAnswer, None]:
        async with model_request_stream(
            self._model,
            translate.messages(request),
            model_settings=self._set(request, seconds),
            model_request_parameters=translate.parameters(request, self._facts, any_schema=self._any_schema),
        ) as streamed:
            async for event in streamed:
                if text := _text(event):
                    yield text
            response = streamed.get()
        yield translate.read_response(response, streamed=True)

    async def close(self) -> None:
        await self._close()

    def _set(self, request: ModelRequest, seconds: float) -> ModelSettings:
        settings: dict[str, Any] = {**translate.options(request), "request_timeout": seconds}
        if not self._single_try:
            settings["max_retries"] = 0
        if not self._takes_temperature:
            settings.pop("temperature", None)
        return cast(ModelSettings, {k: v for k, v in settings.items() if k not in self._model.unsupported_settings})


def _text(event: wire.ModelResponseStreamEvent) -> str:
    match event:
        case wire.PartStartEvent(part=wire.TextPart(content=text)):
            return text
        case wire.PartDeltaEvent(delta=wire.TextPartDelta(content_delta=text)):
            return text
    return ""
