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

from collections.abc import Mapping
from dataclasses import replace

from circumspect.errors import ModelGarbled
from circumspect.forms import make_form
from circumspect.models.wire_text import Unreadable, compact, read_object, strip_fence
from circumspect.prompts import prompt
from circumspect.values import ChatMessage, Json, ModelReply, ModelRequest, ToolCall, ToolSpec

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
_ASSESSED = make_form({"reply": {"type": "string"}, "assessment": make_form(_ASSESSMENT)})


def is_driven(request: ModelRequest) -> bool:
    """Whether what the model answers is an object of ours rather than what was asked for."""
    return bool(request.tools) or _is_assessed(request)


def rewrite_request(request: ModelRequest) -> ModelRequest:
    """The same request for a server that takes no tools: they are in the instructions, the choice is in the schema."""
    messages = tuple(_plain(said) for said in request.messages)
    if _is_assessed(request):
        how = prompt("wire_assessment").text
        return replace(request, instructions=_with(request, how), messages=messages, schema=_ASSESSED)
    if not request.tools:
        return replace(request, instructions=_with(request, _describe_form(request.schema)), messages=messages)
    how = prompt("wire_tools").render(tools="\n".join(_describe_tool(tool) for tool in request.tools))
    schema = choice_schema(request)
    return replace(request, instructions=_with(request, how), messages=messages, tools=(), schema=schema)


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
    try:
        answer = read_object(strip_fence(reply.text))
    except Unreadable as why:
        if reply.finish == "length":
            raise ModelGarbled("The model's answer was cut off.", fix="Allow more tokens for the answer.") from None
        raise ModelGarbled(f"The model's answer cannot be read: {why}.") from None
    words, tool, arguments = answer.get("reply", ""), answer.get("tool"), answer.get("arguments")
    if tool is not None and not isinstance(tool, str):
        raise ModelGarbled("The model's answer cannot be read: its tool is not a name.")
    if tool and not isinstance(arguments, Mapping):
        raise ModelGarbled("The model's answer cannot be read: its arguments are not an object.")
    text = words if isinstance(words, str) else compact(words)
    if not tool or not isinstance(arguments, Mapping):
        return replace(reply, text=text)
    call = ToolCall(tool, arguments, id=f"call_{len(request.messages)}")
    return replace(reply, text=text, calls=(call,), finish="tool_calls")


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
    try:
        answer = read_object(text)
    except Unreadable as why:
        raise ModelGarbled(f"The model's answer cannot be read: {why}.") from None
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
