"""Our words to pydantic-ai's messages, and its responses back to ours. No network, no policy.

Out: `messages` and `parameters` of a request. In: `read`, a response's text, calls and finish, or `ModelGarbled`.

The one choice that may surprise: a call is passed on only when it can be read exactly. Arguments that are not one JSON
object, and any call in a reply that was cut off at its length limit, are refused rather than repaired: a repaired
argument is a value nobody said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic_ai import messages as wire
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ToolOrOutput
from pydantic_ai.tools import ToolDefinition

from circumspect.errors import ModelGarbled, ModelUnavailable
from circumspect.forms.reading import read_form
from circumspect.models.traits import ModelTraits
from circumspect.models.wire_text import Unreadable, clean, clean_json, compact, read_object
from circumspect.values import ChatMessage, JsonObject, ModelReply, ModelRequest, ToolCall, ToolSpec

Finish = Literal["stop", "length", "tool_calls", "filtered"]

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_EARLIER = "(The conversation began earlier.)"
_GO_ON = "(Go on: answer my last message.)"
"""Providers want a conversation to begin with the user; a shortened history may begin with a reply, or be empty."""


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
        native = facts.schema == "native" and (any_schema or _is_closed(request.schema))
        output = {
            "output_mode": "native" if native else "prompted",
            "output_object": OutputObjectDefinition(json_schema=_mark_open(request.schema), name=request.purpose),
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
    """The conversation. Every call has its result right behind it: providers refuse anything else.

    A call that got no result is left out, a result without a call is told as a message of the user's side. A request
    that offers no tools tells calls and results as text: some providers refuse tool parts where no tool is defined.
    """
    found: list[wire.ModelMessage] = []
    for exchange in _exchanges(request.messages if request.tools else _as_text(request.messages)):
        said = exchange.said
        if said.role == "assistant":
            parts: list[wire.ModelResponsePart] = [wire.TextPart(clean(said.text))] if said.text.strip() else []
            for id_, call, _ in exchange.answered:
                parts.append(wire.ToolCallPart(call.tool, _plain(call.arguments), tool_call_id=id_))
            _append(found, wire.ModelResponse, parts)
        else:
            _append(found, wire.ModelRequest, _to_user_parts(said))
        for id_, call, result in exchange.answered:
            answer = wire.ToolReturnPart(call.tool, clean(result.text), tool_call_id=id_)
            _append(found, wire.ModelRequest, [answer])
        for result in exchange.orphans:
            _append(found, wire.ModelRequest, _to_user_parts(result))
    if not found or isinstance(found[0], wire.ModelResponse):
        found.insert(0, wire.ModelRequest([wire.UserPromptPart(_EARLIER)]))
    if isinstance(found[-1], wire.ModelResponse):
        # Left as the last one, some providers would take it for the beginning of the reply, and some refuse it.
        found.append(wire.ModelRequest([wire.UserPromptPart(_GO_ON)]))
    return found


def _as_text(messages: Sequence[ChatMessage]) -> Iterator[ChatMessage]:
    for said in messages:
        if not said.calls:
            yield said
            continue
        calls = "\n".join(f"[call of {call.tool}] {compact(_plain(call.arguments))}" for call in said.calls)
        yield ChatMessage("assistant", f"{said.text}\n{calls}".strip())


def _to_user_parts(said: ChatMessage) -> list[wire.UserPromptPart | wire.SystemPromptPart]:
    if not said.text.strip():
        return []
    if said.role == "system":
        return [wire.SystemPromptPart(clean(said.text))]
    text = f"[result of {said.tool or 'a tool'}]\n{said.text}" if said.role == "tool" else said.text
    return [wire.UserPromptPart(clean(text))]


def _append(found: list[wire.ModelMessage], kind: type[wire.ModelMessage], parts: Sequence[Any]) -> None:
    if not parts:
        return
    if found and isinstance(found[-1], kind):
        found[-1].parts = [*found[-1].parts, *parts]
    else:
        found.append(kind(parts=list(parts)))


@dataclass(slots=True)
class _Exchange:
    """A message and the tool results that follow it."""

    said: ChatMessage
    answered: list[tuple[str, ToolCall, ChatMessage]]
    orphans: list[ChatMessage]


def _exchanges(said: Iterable[ChatMessage]) -> Iterator[_Exchange]:
    """Results are matched with the calls right before them. An id is kept when a provider would take it and it is the
    first of its kind; else the call's position takes its place."""
    used: set[str] = set()
    waiting: list[tuple[str, ToolCall]] = []
    current = _Exchange(ChatMessage("user", ""), [], [])
    for index, message in enumerate(said):
        if message.role == "tool":
            match = next((pair for pair in waiting if _answers(message, pair[1])), None)
            if match is None:
                current.orphans.append(message)
            else:
                waiting.remove(match)
                current.answered.append((*match, message))
            continue
        yield current
        current, waiting = _Exchange(message, [], []), []
        for position, call in enumerate(message.calls):
            kept = _ID.fullmatch(call.id) and call.id not in used
            id_ = call.id if kept else f"call_{index}_{position}"
            used.add(id_)
            waiting.append((id_, call))
    yield current


def _answers(result: ChatMessage, call: ToolCall) -> bool:
    return result.call_id == call.id if result.call_id or call.id else result.tool == call.tool


def _definition(tool: ToolSpec) -> ToolDefinition:
    """Never strict: a provider that enforces required arguments makes a model that was not told one invent it."""
    schema = _plain(tool.parameters) or {"type": "object", "properties": {}}
    return ToolDefinition(
        name=tool.name, description=clean(tool.description), parameters_json_schema=schema, strict=False
    )


def _plain(value: JsonObject) -> dict[str, Any]:
    """A deep copy in plain dicts and lists, which is all that the SDKs can write and are free to change."""
    return {clean(key): clean_json(item) for key, item in value.items()}


def _is_closed(schema: Any) -> bool:
    """Every object in it lists its properties and allows no others, and every type is one name."""
    match schema:
        case {"type": "object", **rest} if not rest.get("properties") or rest.get("additionalProperties"):
            return False
        case {"type": Sequence() as kinds} if not isinstance(kinds, str):
            return False
        case Mapping():
            return all(_is_closed(item) for item in schema.values())
        case Sequence() if not isinstance(schema, str):
            return all(_is_closed(item) for item in schema)
    return True


def _mark_open(schema: Any) -> Any:
    """The schema with what is open by silence said to be open: pydantic-ai would close it for OpenAI."""
    match schema:
        case Mapping():
            said = {clean(key): _mark_open(item) for key, item in schema.items()}
            if said.get("type") == "object" and "properties" not in said:
                said.setdefault("additionalProperties", True)
            return said
        case Sequence() if not isinstance(schema, str):
            return [_mark_open(item) for item in schema]
    return clean_json(schema)


# --- back -----------------------------------------------------------------------------------------------------------


def read(response: wire.ModelResponse) -> Read:
    """Text, calls and finish of a response. Raises `ModelGarbled` for a call that cannot be read exactly."""
    finish = _finish(response)
    text = clean("".join(part.content for part in response.parts if isinstance(part, wire.TextPart)))
    asked = [part for part in response.parts if isinstance(part, wire.ToolCallPart)]
    if finish == "filtered":
        refusal = (response.provider_details or {}).get("refusal")
        return Read(text or (clean(refusal) if isinstance(refusal, str) else ""), (), finish)
    if asked and finish == "length":
        raise ModelGarbled(
            "The model's answer was cut off in the middle of a tool call.", fix="Allow more tokens for the answer."
        )
    calls = tuple(ToolCall(part.tool_name, _arguments(part), part.tool_call_id) for part in asked)
    return Read(text, calls, "tool_calls" if calls else finish)


def _arguments(part: wire.ToolCallPart[Any]) -> JsonObject:
    try:
        if not part.args:
            return {}
        if isinstance(part.args, str):
            return read_object(part.args)
        return {clean(key): clean_json(item) for key, item in part.args.items()}
    except Unreadable as why:
        raise ModelGarbled(f"The arguments of a call to {clean(part.tool_name)!r} cannot be used: {why}.") from None


def _finish(response: wire.ModelResponse) -> Finish:
    match response.finish_reason:
        case "length":
            return "length"
        case "content_filter":
            return "filtered"
        case "error":
            raise ModelUnavailable("The provider gave up in the middle of its answer.")
    return "stop"


def was_cut_off(response: wire.ModelResponse) -> bool:
    """A stream that ended without saying why it ended did not end, it broke."""
    return response.finish_reason is None and not (response.provider_details or {}).get("finish_reason")


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
