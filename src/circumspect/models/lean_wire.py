"""OpenAI's and Anthropic's formats, written and read by ourselves: a tenth of what their client libraries cost a call.

What depends on the model (how it wants schemas, which settings it refuses) is still known by pydantic-ai: tools and
schemas are put into its hands once, and what it made of them is remembered. A request that asks for more than words,
tools and sampling, such as a tool that must be called, goes by `PydanticWire`.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Protocol

import orjson
from pydantic_ai.models import Model as WireModel
from pydantic_ai.tools import ToolDefinition

from circumspect.bounded_cache import BoundedCache
from circumspect.models import chat_wire, messages_wire, translate
from circumspect.models.lean_http import LeanClient, StatusError
from circumspect.models.provider_settings import ProviderSettings
from circumspect.models.traits import ModelTraits
from circumspect.models.turns import list_turns
from circumspect.models.wire import WireAnswer
from circumspect.models.wire_text import clean
from circumspect.values import ModelRequest

_STREAM_STATUS = {"rate_limit_error": 429, "invalid_request_error": 400, "authentication_error": 401}
"""An error in the middle of a stream comes after the status was sent; those not named here may pass."""


class EventReader(Protocol):
    def take(self, event: Any) -> Iterator[str]: ...

    def finish(self) -> WireAnswer: ...


class LeanWire(ABC):
    """One of the two formats; which one, its subclasses know."""

    end_of_stream = b""

    def __init__(
        self,
        model: WireModel[Any],
        path: str,
        headers: Mapping[str, str],
        facts: ModelTraits,
        settings: ProviderSettings,
    ) -> None:
        self._pydantic, self._facts = model, facts
        self._profile: Mapping[str, Any] = model.profile
        self.provider, self.url, self.model = model.system, model.base_url or "", model.model_name
        self._client = LeanClient(f"{self.url.rstrip('/')}/{path}", headers, settings)
        self._around: BoundedCache[dict[str, Any]] = BoundedCache(most=500, heaviest=4_000_000)

    def takes(self, request: ModelRequest) -> bool:
        asked = request.options
        plain = (
            asked.effort is asked.verbosity is None and not asked.must_call and not asked.choices and not asked.one_call
        )
        return plain and (request.schema is None or self.is_native(request))

    @abstractmethod
    def is_native(self, request: ModelRequest) -> bool: ...

    async def ask(self, request: ModelRequest, seconds: float) -> WireAnswer:
        return self.read(_parse(await self._client.post(orjson.dumps(self.write(request)), seconds)))

    async def stream(self, request: ModelRequest, seconds: float) -> AsyncGenerator[str | WireAnswer, None]:
        reader = self.open_reader()
        body = orjson.dumps({**self.write(request), **self.write_streaming()})
        async with aclosing(self._client.events(body, seconds)) as events:
            async for data in events:
                if data == self.end_of_stream:
                    break
                event = _parse(data)
                if problem := event.get("error"):
                    kind = problem.get("type") if isinstance(problem, dict) else ""
                    raise StatusError(_STREAM_STATUS.get(kind or "", 500), data, {})
                for piece in reader.take(event):
                    yield piece
        yield reader.finish()

    async def close(self) -> None:
        await self._client.close()

    def surround(self, request: ModelRequest) -> dict[str, Any]:
        """Tools and output format, as the provider wants them for this model."""
        if not request.tools and request.schema is None:
            return {}
        schema = orjson.dumps(translate.mark_open(request.schema)) if request.schema else b""
        tools = [[tool.name, clean(tool.description), tool.version] for tool in request.tools]
        key = orjson.dumps([tools, request.purpose, schema.decode()]).decode()
        found = self._around.get(key)
        if found is None:
            parameters = translate.parameters(request, self._facts, any_schema=True)
            _, prepared = self._pydantic.prepare_request({}, parameters)
            found = self.write_tools(prepared.function_tools) if request.tools else {}
            if prepared.output_object is not None:
                found |= self.write_output(prepared.output_object)
            self._around.put(key, found, 2 * len(orjson.dumps(found)))
        return found

    # --- of each format ---------------------------------------------------------------------------------------------

    @abstractmethod
    def write(self, request: ModelRequest) -> dict[str, Any]: ...

    def write_streaming(self) -> dict[str, Any]:
        return {"stream": True}

    @abstractmethod
    def write_tools(self, tools: list[ToolDefinition]) -> dict[str, Any]: ...

    @abstractmethod
    def write_output(self, output: Any) -> dict[str, Any]: ...

    @abstractmethod
    def read(self, body: Any) -> WireAnswer: ...

    @abstractmethod
    def open_reader(self) -> EventReader: ...


class OpenAIWire(LeanWire):
    end_of_stream = chat_wire.END

    def __init__(self, model: WireModel[Any], key: str, facts: ModelTraits, settings: ProviderSettings) -> None:
        super().__init__(model, chat_wire.PATH, {"authorization": f"Bearer {key}"}, facts, settings)
        reasons, off = (self._profile.get(f"openai_supports_{name}") for name in ("reasoning", "reasoning_effort_none"))
        self._samples = not reasons or (bool(off) and not self._profile.get("thinking_enabled_by_default"))
        whole = self._profile.get("openai_chat_supports_max_completion_tokens", True)
        self._length = "max_completion_tokens" if whole else "max_tokens"

    def takes(self, request: ModelRequest) -> bool:
        return super().takes(request) and not self._profile.get("openai_system_prompt_role")

    def is_native(self, request: ModelRequest) -> bool:
        return self._facts.schema == "native"

    def write(self, request: ModelRequest) -> dict[str, Any]:
        asked = request.options
        sampling = {
            "temperature": request.temperature,
            "top_p": asked.top_p,
            "frequency_penalty": asked.frequency_penalty,
            "presence_penalty": asked.presence_penalty,
            "logit_bias": dict(asked.logit_bias) or None,
        }
        said = {
            self._length: request.max_tokens,
            "stop": list(asked.stop) or None,
            "seed": asked.seed,
            **(sampling if self._samples else {}),
        }
        return {
            "model": self.model,
            "messages": chat_wire.write_messages(
                clean(request.system).strip() and clean(request.system), list_turns(request)
            ),
            **{name: value for name, value in said.items() if value is not None},
            **self.surround(request),
        }

    def write_streaming(self) -> dict[str, Any]:
        return {"stream": True, "stream_options": {"include_usage": True}}

    def write_tools(self, tools: list[ToolDefinition]) -> dict[str, Any]:
        written = [
            {
                "type": "function",
                "function": {
                    "name": one.name,
                    "description": one.description or "",
                    "parameters": one.parameters_json_schema,
                },
            }
            for one in tools
        ]
        return {"tools": written, "tool_choice": "auto"}

    def write_output(self, output: Any) -> dict[str, Any]:
        form = {"name": output.name, "schema": output.json_schema, "strict": output.strict}
        return {"response_format": {"type": "json_schema", "json_schema": form}}

    def read(self, body: Any) -> WireAnswer:
        return chat_wire.read_body(body)

    def open_reader(self) -> EventReader:
        return chat_wire.ChatEventReader()


class AnthropicWire(LeanWire):
    def __init__(self, model: WireModel[Any], key: str, facts: ModelTraits, settings: ProviderSettings) -> None:
        headers = {"authorization": f"Bearer {key}", "anthropic-version": messages_wire.VERSION}
        super().__init__(model, messages_wire.PATH, headers, facts, settings)
        self._samples = not self._profile.get("anthropic_disallows_sampling_settings")

    def takes(self, request: ModelRequest) -> bool:
        """Where a note of ours may stand in a conversation differs from model to model."""
        noted = any(one.role == "system" for one in request.messages)
        return super().takes(request) and not noted and request.max_tokens is not None

    def is_native(self, request: ModelRequest) -> bool:
        return self._facts.schema == "native" and translate.is_closed(request.schema)

    def write(self, request: ModelRequest) -> dict[str, Any]:
        asked, system = request.options, clean(request.system)
        sampling = {"temperature": request.temperature, "top_p": asked.top_p} if self._samples else {}
        said = {
            "system": [{"type": "text", "text": system}] if system.strip() else None,
            "stop_sequences": list(asked.stop) or None,
            **sampling,
        }
        return {
            "model": self.model,
            "max_tokens": request.max_tokens,
            "messages": messages_wire.write_messages(list_turns(request)),
            **{name: value for name, value in said.items() if value is not None},
            **self.surround(request),
        }

    def write_tools(self, tools: list[ToolDefinition]) -> dict[str, Any]:
        written = [
            {"name": one.name, "description": one.description or "", "input_schema": one.parameters_json_schema}
            for one in tools
        ]
        return {"tools": written, "tool_choice": {"type": "auto"}}

    def write_output(self, output: Any) -> dict[str, Any]:
        return {"output_config": {"format": {"type": "json_schema", "schema": output.json_schema}}}

    def read(self, body: Any) -> WireAnswer:
        return messages_wire.read_body(body)

    def open_reader(self) -> EventReader:
        return messages_wire.MessageEventReader()


def _parse(data: bytes) -> Any:
    """Half a letter, or half a pair of surrogates, must not cost the whole answer."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return json.loads(data.decode("utf-8", "replace"))
