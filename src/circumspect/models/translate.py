"""Our words to pydantic-ai's, its responses to a `WireAnswer`, and any wire's answer to a reply of ours. No network.

The one choice that may surprise: a call is passed on only when it can be read exactly. Arguments that are not one JSON
object, and any call in a reply that was cut off at its length limit, are refused rather than repaired: a repaired
argument is a value nobody said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic_ai import messages as wire
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ToolOrOutput
from pydantic_ai.tools import ToolDefinition

from circumspect.errors import CallGarbled, ModelGarbled, ModelUnavailable
from circumspect.forms.reading import read_form
from circumspect.models.traits import ModelTraits
from circumspect.models.turns import Called, Returned, TurnPart, copy_plain, list_turns
from circumspect.models.wire import WireAnswer, WireCall, WireFinish
from circumspect.models.wire_text import Unreadable, clean, clean_json, compact, read_object
from circumspect.values import JsonObject, ModelReply, ModelRequest, ToolCall, ToolSpec

Finish = Literal["stop", "length", "tool_calls", "filtered"]
_FINISHES: Mapping[str, WireFinish] = {"length": "length", "content_filter": "filtered", "error": "failed"}


@dataclass(frozen=True, slots=True)
class Read:
    """A reply before anybody counted what it cost."""

    text: str
    calls: tuple[ToolCall, ...]
    finish: Finish


# --- out ------------------------------------------------------------------------------------------------------------


def parameters(request: ModelRequest, facts: ModelTraits, *, any_schema: bool) -> ModelRequestParameters:
    """Instructions, tools and output format of a request.

    `any_schema` says that the provider takes every schema natively. Others take closed ones only; an open one is then
    put into the instructions, because the provider would close it and so forbid what it was open for.
    """
    output: dict[str, Any] = {}
    if request.schema is not None:
        native = facts.schema == "native" and (any_schema or is_closed(request.schema))
        output = {
            "output_mode": "native" if native else "prompted",
            "output_object": OutputObjectDefinition(json_schema=mark_open(request.schema), name=request.purpose),
        }
    return ModelRequestParameters(
        function_tools=[_definition(tool) for tool in request.tools],
        instruction_parts=[wire.InstructionPart(content=clean(request.system))] if request.system.strip() else [],
        **output,
    )


def with_native_tools(request: ModelRequest) -> ModelRequest:
    """A client's tools come with their schemas: a model that takes tools gets them as the client wrote them, also where
    ours would only be named."""
    own = tuple(spec for spec in request.listed if spec.client)
    return replace(request, tools=own) if own and not request.tools else request


def options(request: ModelRequest) -> dict[str, Any]:
    """How the model is to write, in pydantic-ai's words. What nobody asked for is left out."""
    asked = request.options
    names = {tool.name for tool in request.tools}
    chosen = [name for name in asked.choices if name in names]
    choice: Any = None
    if names and asked.must_call:
        choice = chosen or "required"
    elif chosen:
        choice = ToolOrOutput(chosen)
    said = {
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_p": asked.top_p,
        "stop_sequences": list(asked.stop) or None,
        "seed": asked.seed,
        "frequency_penalty": asked.frequency_penalty,
        "presence_penalty": asked.presence_penalty,
        "logit_bias": dict(asked.logit_bias) or None,
        "thinking": None if asked.effort is None else asked.effort != "none" and asked.effort,
        "openai_text_verbosity": asked.verbosity,
        "tool_choice": choice,
        "parallel_tool_calls": False if names and asked.one_call else None,
    }
    return {name: value for name, value in said.items() if value is not None}


def messages(request: ModelRequest) -> list[wire.ModelMessage]:
    found: list[wire.ModelMessage] = []
    for turn in list_turns(request):
        parts: list[Any] = [_part(one, turn.by_model) for one in turn.parts]
        found.append(wire.ModelResponse(parts=parts) if turn.by_model else wire.ModelRequest(parts=parts))
    return found


def _part(part: TurnPart, by_model: bool) -> Any:
    match part:
        case Called():
            return wire.ToolCallPart(part.tool, part.arguments, tool_call_id=part.id)
        case Returned():
            return wire.ToolReturnPart(part.tool, part.text, tool_call_id=part.id)
    if by_model:
        return wire.TextPart(part.text)
    return wire.SystemPromptPart(part.text) if part.system else wire.UserPromptPart(part.text)


def _definition(tool: ToolSpec) -> ToolDefinition:
    """Never strict: a provider that enforces required arguments makes a model that was not told one invent it."""
    schema = copy_plain(tool.parameters) or {"type": "object", "properties": {}}
    return ToolDefinition(
        name=tool.name, description=clean(tool.description), parameters_json_schema=schema, strict=False
    )


def is_closed(schema: Any) -> bool:
    """Every object in it lists its properties and allows no others, and every type is one name."""
    match schema:
        case {"type": "object", **rest} if not rest.get("properties") or rest.get("additionalProperties"):
            return False
        case {"type": Sequence() as kinds} if not isinstance(kinds, str):
            return False
        case Mapping():
            return all(is_closed(item) for item in schema.values())
        case Sequence() if not isinstance(schema, str):
            return all(is_closed(item) for item in schema)
    return True


def mark_open(schema: Any) -> Any:
    """The schema with what is open by silence said to be open: pydantic-ai would close it for OpenAI."""
    match schema:
        case Mapping():
            said = {clean(key): mark_open(item) for key, item in schema.items()}
            if said.get("type") == "object" and "properties" not in said:
                said.setdefault("additionalProperties", True)
            return said
        case Sequence() if not isinstance(schema, str):
            return [mark_open(item) for item in schema]
    return clean_json(schema)


# --- back -----------------------------------------------------------------------------------------------------------


def read_response(response: wire.ModelResponse, *, streamed: bool = False) -> WireAnswer:
    """pydantic-ai's response. A stream that ended without saying why it ended did not end, it broke."""
    details = response.provider_details or {}
    refusal = details.get("refusal")
    broke = streamed and response.finish_reason is None and not details.get("finish_reason")
    counted = response.usage
    return WireAnswer(
        "".join(part.content for part in response.parts if isinstance(part, wire.TextPart)),
        tuple(
            WireCall(part.tool_name, part.args, part.tool_call_id)
            for part in response.parts
            if isinstance(part, wire.ToolCallPart)
        ),
        None if broke else _FINISHES.get(response.finish_reason or "", "stop"),
        refusal if isinstance(refusal, str) else "",
        counted.input_tokens,
        counted.output_tokens,
        counted.cache_read_tokens,
        response.model_name or "",
    )


def read(answer: WireAnswer) -> Read:
    """Text, calls and finish. Raises `CallGarbled` for a call that cannot be read exactly."""
    text = clean(answer.text)
    match answer.finish:
        case "filtered":
            return Read(text or clean(answer.refusal), (), "filtered")
        case "failed":
            raise ModelUnavailable("The provider gave up in the middle of its answer.")
        case "length" if answer.calls:
            raise CallGarbled(
                "The model's answer was cut off in the middle of a tool call.", fix="Allow more tokens for the answer."
            )
    calls = tuple(ToolCall(clean(one.tool), _arguments(one), one.id) for one in answer.calls)
    return Read(text, calls, "tool_calls" if calls else "length" if answer.finish == "length" else "stop")


def _arguments(call: WireCall) -> JsonObject:
    try:
        if not call.arguments:
            return {}
        if isinstance(call.arguments, str):
            return read_object(call.arguments)
        if not isinstance(call.arguments, Mapping):
            raise Unreadable("it is not a JSON object")
        return {clean(key): clean_json(item) for key, item in call.arguments.items()}
    except Unreadable as why:
        raise CallGarbled(f"The arguments of a call to {clean(call.tool)!r} cannot be used: {why}.") from None


def check_reply(reply: ModelReply, request: ModelRequest) -> ModelReply:
    """The reply of a request with a form, mended into one JSON object. Raises `ModelGarbled` without what decides."""
    if request.schema is None or request.reading.unread or reply.finish == "filtered" or reply.calls:
        return reply
    filled = read_form(reply, request.schema, request.reading)
    required = request.schema.get("required")
    everything = required if isinstance(required, Sequence) else ()
    decides = everything if request.reading.decides is None else request.reading.decides
    lacking = [name for name in decides if name not in filled.fields]
    if not filled.fields or lacking:
        if reply.finish == "length":
            raise ModelGarbled("The model's JSON was cut off.", fix="Allow more tokens for the answer.")
        why = f"{', '.join(map(str, lacking))} cannot be read" if filled.fields else "nothing in it can be read"
        raise ModelGarbled(f"The model was asked to fill in a form: {why}.")
    return replace(reply, text=compact(clean_json(filled.fields)), mendings=filled.mendings)
