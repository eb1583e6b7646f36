"""Tool choice through a JSON schema, for servers that ignore `tools`: request -> request, and reply -> reply.

The model is shown the tools in its instructions and made to answer with one object,
`{"reply": …, "tool": a name or null, "arguments": {…}}`, which is then read back into text and a call. Tool calls and
results of the conversation so far are written as plain messages of the same shape, for chat templates that know no
tool roles.

Such models are small, and small models forget the self-assessment that some instructions ask for at the end of a reply.
So that goes through a schema too, `{"reply": …, "assessment": {…}}`, and is read back into words and a block.

The one choice that may surprise: `arguments` is any object, not the tool's own schema. A grammar that makes a required
argument mandatory makes a model that does not know it invent one; left free, it leaves it out, and code asks the user.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from circumspect.errors import CallGarbled
from circumspect.forms import make_form
from circumspect.forms.answers import find_answers
from circumspect.forms.fitting import fold_key
from circumspect.forms.loose_json import parse_exact
from circumspect.models.wire_text import compact, strip_fence
from circumspect.prompts import prompt
from circumspect.values import ChatMessage, Json, JsonObject, ModelReply, ModelRequest, ToolCall, ToolSpec

_NAMED = {
    **dict.fromkeys(("reply", "response", "message", "answer", "text", "content"), "reply"),
    **dict.fromkeys(("tool", "name", "tool_name", "function", "tool_call"), "tool"),
    **dict.fromkeys(("arguments", "args", "parameters", "params", "tool_params", "tool_input"), "arguments"),
}
_OPEN, _CLOSE = "<assessment>", "</assessment>"
_NAMES: Mapping[str, Json] = {"type": "array", "items": {"type": "string"}, "maxItems": 10}
_ASSESSMENT: Mapping[str, Json] = {
    "confidence": {"type": "integer", "minimum": 1, "maximum": 10},
    "tool_call": {"type": ["string", "null"]},
    "tool_params": {"type": "object"},
    "missing_params": _NAMES,
    "is_destructive": {"type": "boolean"},
    "needs_confirmation": {"type": "boolean"},
    "needs_more_context": _NAMES,
}
_FEW = 6
_FORMS: Mapping[str, str] = {"date": "YYYY-MM-DD", "time": "HH:MM", "number": "(number)", "integer": "(number)"}
_SIGNATURE = re.compile(r"^(?:- )?([\w.-]+)\(([^()]*)\)", re.MULTILINE)
"""A tool in the block that a draft without schemas shows: `cancel_order(order_id)`."""


def is_driven(request: ModelRequest) -> bool:
    """Whether what the model answers is an object of ours rather than what was asked for."""
    return bool(request.tools) or _is_assessed(request)


def rewrite_request(request: ModelRequest) -> ModelRequest:
    """The same request for a server that takes no tools: they are in the instructions, the choice is in the schema."""
    messages = tuple(_plain(said) for said in request.messages)
    if _is_assessed(request):
        tools = _SIGNATURE.findall(next((one.text for one in request.blocks if one.key == "tools"), ""))
        known = {spec.name: spec for spec in request.listed}
        examples = (_show_example(name, listed, known.get(name)) for name, listed in tools)
        how = "\n".join((prompt("wire_assessment").text, *examples))
        return replace(request, instructions=_with(request, how), messages=messages, schema=_assessed([*dict(tools)]))
    if not request.tools:
        return replace(request, instructions=_with(request, _describe_form(request.schema)), messages=messages)
    how = prompt("wire_tools").render(tools="\n".join(_describe_tool(tool) for tool in request.tools))
    schema = choice_schema(request)
    return replace(request, instructions=_with(request, how), messages=messages, tools=(), schema=schema)


def _assessed(tools: Sequence[str]) -> Mapping[str, Json]:
    """The form of an assessed reply. Where the tools are known, no other can be named."""
    named: Json = {"enum": [*tools, None]} if tools else _ASSESSMENT["tool_call"]
    return make_form({"reply": {"type": "string"}, "assessment": make_form({**_ASSESSMENT, "tool_call": named})})


def _show_example(tool: str, parameters: str, spec: ToolSpec | None) -> str:
    """Small models write what they see: the call as it stands in the form, with a gap for each value."""
    names = [name.strip() for name in parameters.split(",") if name.strip()]
    gaps = {name: _show_gap(spec.properties.get(name, {}) if spec else {}) for name in names}
    return f'"tool_call": "{tool}", "tool_params": {compact(gaps)}'


def _show_gap(schema: JsonObject) -> str:
    """What kind of value goes there: one of its choices, a form, or anything."""
    choices = schema.get("enum")
    if isinstance(choices, Sequence) and not isinstance(choices, str) and len(choices) <= _FEW:
        return " | ".join(str(one) for one in choices)
    return _FORMS.get(str(schema.get("format"))) or _FORMS.get(str(schema.get("type"))) or "…"


def _with(request: ModelRequest, more: str) -> str:
    return f"{request.instructions}\n\n{more}" if more else request.instructions


def choice_schema(request: ModelRequest) -> Mapping[str, Json]:
    """The one object such a model answers with. A schema that the request itself asks for goes where the reply is."""
    return make_form(
        {
            "reply": request.schema or {"type": "string"},
            "tool": {"enum": [*(tool.name for tool in request.tools), None]},
            "arguments": {"type": "object"},
        }
    )


def restore_reply(reply: ModelReply, request: ModelRequest) -> ModelReply:
    """The reply as a server with tools would have given it. `request` is the one before `driven`.

    A tool's name is passed on as it is, known or not: saying no to it is policy's work.
    """
    if not is_driven(request) or reply.finish == "filtered":
        return reply
    if _is_assessed(request):
        return _with_block(reply)
    if reply.text.strip() and "{" not in reply.text and "[" not in reply.text:
        # Words where a choice was asked for: a reply, and nothing to be called.
        return reply
    answer = _read_choice(reply)
    words, tool, arguments = (answer.get(name) for name in ("reply", "tool", "arguments"))
    if tool is not None and not isinstance(tool, str):
        raise CallGarbled("The model's answer cannot be read: its tool is not a name.")
    text = words if isinstance(words, str) else compact(words) if words else ""
    if not tool or fold_key(tool) in ("none", "null", ""):
        return replace(reply, text=text)
    call = ToolCall(tool, _read_arguments(arguments), id=f"call_{len(request.messages)}")
    return replace(reply, text=text, calls=(call,), finish="tool_calls")


def _read_choice(reply: ModelReply) -> dict[str, Json]:
    """The one object, wherever it stands, by our names for its keys. It is what will be called: nothing is guessed."""
    found = find_answers(reply.text)
    if reply.finish == "length" or any(one.form in ("cut", "guessed") for one in found):
        raise CallGarbled("The model's answer was cut off, or is broken.", fix="Allow more tokens for the answer.")
    names = [{_NAMED.get(fold_key(key), key): value for key, value in one.members.items()} for one in found]
    choices = [one for one in names if one.keys() & {"reply", "tool"}]
    if len(choices) != 1 or any(one.doubted for one in found):
        raise CallGarbled("The model's answer cannot be read: it is not one choice.")
    return choices[0]


def _read_arguments(said: Json) -> JsonObject:
    """None are an empty object: what the tool requires is then asked for."""
    if isinstance(said, str):
        said = parse_exact(said)
        if said is None:
            raise CallGarbled("The model's answer cannot be read: its arguments are not an object.")
    if said is not None and not isinstance(said, Mapping):
        raise CallGarbled("The model's answer cannot be read: its arguments are not an object.")
    return said or {}


def _is_assessed(request: ModelRequest) -> bool:
    return request.schema is None and not request.tools and _OPEN in request.instructions


def _describe_form(schema: Mapping[str, Json] | None) -> str:
    """What a form says about its fields. Such servers make a grammar of a schema and show the model none of it."""
    fields = schema.get("properties") if schema else None
    if not isinstance(fields, Mapping):
        return ""
    said = {name: one.get("description") for name, one in fields.items() if isinstance(one, Mapping)}
    told = "\n".join(f"- {name}: {text}" for name, text in said.items() if text)
    return prompt("wire_form").render(fields=told) if told else ""


def _with_block(reply: ModelReply) -> ModelReply:
    """Words with an assessment behind them. Words alone are passed on as they are: whoever reads them copes."""
    text = strip_fence(reply.text).strip()
    if not text.startswith("{"):
        return reply
    answer = parse_exact(text)
    if answer is None:
        raise CallGarbled("The model's answer cannot be read: it is not one JSON object.")
    words = answer.get("reply", "")
    block = f"{_OPEN}\n{compact(answer.get('assessment'))}\n{_CLOSE}" if "assessment" in answer else ""
    return replace(reply, text=f"{words if isinstance(words, str) else compact(words)}\n\n{block}".strip())


def _plain(said: ChatMessage) -> ChatMessage:
    """A message without tool roles. A call looks like the answers the model itself is to give."""
    match said.role:
        case "assistant" if said.calls:
            answers: list[Json] = [
                {"reply": "" if index else said.text, "tool": call.tool, "arguments": call.arguments}
                for index, call in enumerate(said.calls)
            ]
            return ChatMessage("assistant", "\n".join(compact(answer) for answer in answers))
        case "tool":
            return ChatMessage("user", prompt("wire_result").render(tool=said.tool or "the tool", result=said.text))
    return said


def _describe_tool(tool: ToolSpec) -> str:
    return f"- {tool.name}: {tool.description or 'no description'}\n  arguments: {compact(tool.parameters)}"
