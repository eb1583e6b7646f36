"""OpenTelemetry: spans by the GenAI semantic conventions, for those who have an SDK configured; nothing otherwise.

    invoke_agent  one turn          chat  one model call          execute_tool  one tool call

The model and the tools are wrapped, so that a span is as long as the call it stands for and is a child of its turn.
Spans carry ids, names, counts and codes; what was said and what tools were given or returned stays in the store.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from circumspect.errors import CircumspectError
from circumspect.ports import Model, Tools
from circumspect.setup import TurnSetup
from circumspect.values import Incoming, Json, ModelReply, ModelRequest, ToolSpec, TurnOutcome, TurnResult

_PROVIDERS = {"openai": "openai", "anthropic": "anthropic", "offline": "circumspect"}
VERDICTS: Mapping[TurnOutcome, tuple[str, StatusCode]] = {
    "answered": ("allow", StatusCode.UNSET),
    "acted": ("allow", StatusCode.UNSET),
    "asked": ("ask", StatusCode.UNSET),
    "blocked": ("deny", StatusCode.UNSET),
    "escalated": ("escalate", StatusCode.UNSET),
    "failed": ("deny", StatusCode.ERROR),
}
"""What a turn's outcome is called in a span. A held call is no error: that is what we are for."""


def is_on() -> bool:
    """Somebody set a tracer provider that keeps spans."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider | trace.NoOpTracerProvider)


def configure() -> bool:
    """Send spans to the OTLP endpoint of the environment, if it names one. False when it does not."""
    if not (os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")):
        return False
    if is_on():
        return True
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        return False
    name = os.environ.get("OTEL_SERVICE_NAME", "circumspect")
    provider = TracerProvider(resource=Resource.create({"service.name": name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return True


def trace_setup(setup: TurnSetup) -> TurnSetup:
    """The same setup with its model and tools watched; the very same one when nobody keeps spans."""
    if not is_on():
        return setup
    ports = setup.ports
    return replace(setup, ports=replace(ports, model=trace_model(ports.model), tools=trace_tools(ports.tools)))


@contextmanager
def turn_span(incoming: Incoming, setup: TurnSetup) -> Iterator[Span]:
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "circumspect",
        "gen_ai.agent.id": setup.tenant.id,
        "gen_ai.agent.name": setup.tenant.business.name,
        "gen_ai.conversation.id": incoming.conversation,
        "circumspect.turn.id": incoming.turn,
    }
    with _tracer().start_as_current_span(
        f"invoke_agent {setup.tenant.id}", kind=SpanKind.SERVER, attributes=attributes, record_exception=False
    ) as span:
        yield span


def describe(span: Span, result: TurnResult) -> None:
    """What the turn came to."""
    if not span.is_recording():
        return
    verdict, status = VERDICTS[result.outcome]
    span.set_attributes(
        {
            "gen_ai.usage.input_tokens": result.usage.input_tokens,
            "gen_ai.usage.output_tokens": result.usage.output_tokens,
            "circumspect.mode": result.usage.mode,
            "circumspect.outcome": result.outcome,
            "circumspect.verdict": verdict,
            "circumspect.reason_codes": [code.value for code in result.reason_codes],
            "circumspect.critiques": result.usage.critiques,
            "circumspect.context_rounds": result.usage.context_rounds,
        }
    )
    span.set_status(Status(status))


# --- models ---------------------------------------------------------------------------------------------------------


def trace_model(model: Model) -> Model:
    return _TracedModel(model) if is_on() and not isinstance(model, _TracedModel) else model


class _TracedModel:
    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ModelRequest) -> ModelReply:
        with self._span(request) as span:
            reply = await self._model.complete(request)
            _record_reply(span, reply)
            return reply

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        # Not the current span: a generator's context is its consumer's, who may be elsewhere when it ends.
        with self._span(request, current=False) as span:
            async for piece in self._model.stream(request):
                if isinstance(piece, ModelReply):
                    _record_reply(span, piece)
                yield piece

    @contextmanager
    def _span(self, request: ModelRequest, *, current: bool = True) -> Iterator[Span]:
        name = self._model.name
        provider, _, model = name.partition(":")
        attributes: dict[str, str | int | float] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
            "gen_ai.request.model": model or name,
            "circumspect.purpose": request.purpose,
            "circumspect.prompt": request.prompt_id,
        }
        if request.max_tokens is not None:
            attributes["gen_ai.request.max_tokens"] = request.max_tokens
        if request.temperature is not None:
            attributes["gen_ai.request.temperature"] = request.temperature
        with _span(f"chat {model or name}", SpanKind.CLIENT, attributes, current) as span:
            yield span


def _record_reply(span: Span, reply: ModelReply) -> None:
    usage = reply.usage
    span.set_attributes(
        {
            "gen_ai.response.model": usage.model,
            "gen_ai.response.finish_reasons": [reply.finish],
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
            "circumspect.attempts": usage.attempts,
        }
    )


# --- tools ----------------------------------------------------------------------------------------------------------


def trace_tools(tools: Tools) -> Tools:
    return _TracedTools(tools) if is_on() and not isinstance(tools, _TracedTools) else tools


class _TracedTools:
    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def specs(self) -> Mapping[str, ToolSpec]:
        return self._tools.specs()

    async def call(self, name: str, arguments: Mapping[str, Json], key: str) -> Json:
        with self._span(name, key, "call"):
            return await self._tools.call(name, arguments, key)

    async def lookup(self, name: str, arguments: Mapping[str, Json], key: str) -> Json | None:
        with self._span(name, key, "lookup"):
            return await self._tools.lookup(name, arguments, key)

    @contextmanager
    def _span(self, name: str, key: str, way: str) -> Iterator[None]:
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": key,
            "gen_ai.tool.type": "function",
            "circumspect.way": way,
        }
        with _span(f"execute_tool {name}", SpanKind.INTERNAL, attributes, True):
            yield


@contextmanager
def _span(name: str, kind: SpanKind, attributes: Mapping[str, str | int | float], current: bool) -> Iterator[Span]:
    """Errors are told by their code: their text may quote what somebody said."""
    span = _tracer().start_span(name, kind=kind, attributes=attributes)
    try:
        if current:
            with trace.use_span(span, record_exception=False, set_status_on_exception=False):
                yield span
        else:
            yield span
    except BaseException as error:
        code = error.code if isinstance(error, CircumspectError) else type(error).__name__
        span.set_attribute("error.type", code)
        span.set_status(Status(StatusCode.ERROR))
        raise
    finally:
        span.end()


def _tracer() -> trace.Tracer:
    return trace.get_tracer("circumspect")
