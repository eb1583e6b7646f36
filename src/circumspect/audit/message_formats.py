"""One message of a foreign conversation, whoever wrote it down, as the few things that can happen in one.

Read as they are: OpenAI chat messages, OpenAI Agents / Responses items, Anthropic content blocks, LangChain messages
(`messages_to_dict`, `dumpd`, `model_dump`), tau-bench and tau2-bench messages. Out come `TranscriptText`,
`TranscriptCall` and `TranscriptResult`, in order; a message of no known kind raises `Unknown`, and the caller says so
and goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import orjson

from circumspect.policy.grounding.words import bag
from circumspect.values import Json, ToolCall


class Unknown(ValueError):
    """The message is of no kind that we can read."""


@dataclass(frozen=True, slots=True)
class TranscriptText:
    speaker: Literal["user", "assistant", "system"]
    text: str


@dataclass(frozen=True, slots=True)
class TranscriptCall:
    call: ToolCall
    problem: str = ""
    """Why the arguments could not be read; they are empty then."""


@dataclass(frozen=True, slots=True)
class TranscriptResult:
    call_id: str
    tool: str
    content: str
    failed: bool


TranscriptStep = TranscriptText | TranscriptCall | TranscriptResult

_ROLES: Mapping[str, Literal["user", "assistant", "system"]] = {
    "user": "user",
    "human": "user",
    "HumanMessage": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "SystemMessage": "system",
}
_RESULT_ROLES = frozenset(("tool", "function", "ToolMessage", "FunctionMessage"))
_SILENT = bag(
    "reasoning item_reference web_search_call file_search_call computer_call computer_call_output "
    "code_interpreter_call "
    "image_generation_call mcp_list_tools mcp_approval_request mcp_approval_response handoff_call handoff_output "
    "compaction "
    "thinking redacted_thinking remove"
)
"""Items that say nothing to the user and call none of the agent's own tools."""


def steps(message: Any) -> Sequence[TranscriptStep]:
    """What happens in one message. The chat format, by far the commonest, takes the short way."""
    if type(message) is dict:
        role, content = message.get("role"), message.get("content")
        if type(content) is str:
            if role == "user":
                return (TranscriptText("user", content),) if content else ()
            if role == "tool" and type(key := message.get("tool_call_id")) is str and "error" not in message:
                return (TranscriptResult(key, "", content, message.get("status") == "error"),)
            if role == "assistant" and not message.get("tool_calls") and "function_call" not in message:
                return (TranscriptText("assistant", content),) if content else ()
        elif content is None and role == "assistant" and type(calls := message.get("tool_calls")) is list:
            return tuple(_calls(message)) if calls else ()
    return tuple(_steps(message))


def _steps(message: Any) -> Iterator[TranscriptStep]:
    if not isinstance(message, Mapping):
        raise Unknown(f"a message must be an object, not {type(message).__name__}")
    role, kind = message.get("role"), message.get("type")
    if isinstance(role, str):
        yield from _by_role(role, message)
    elif kind == "constructor" and isinstance(message.get("kwargs"), Mapping):
        path = message.get("id")
        yield from _by_role(str(path[-1]) if isinstance(path, list) and path else "", message["kwargs"])
    elif isinstance(message.get("data"), Mapping) and isinstance(kind, str):
        yield from _by_role(kind, message["data"])
    elif kind == "function_call":
        yield read_call(message.get("name"), message.get("arguments"), message.get("call_id") or message.get("id"))
    elif kind == "mcp_call":
        yield read_call(message.get("name"), message.get("arguments"), message.get("id"))
        if message.get("output") is not None or message.get("error"):
            yield _read_result(
                message.get("id"), message.get("name"), message.get("output"), bool(message.get("error"))
            )
    elif kind == "function_call_output":
        yield _read_result(message.get("call_id"), message.get("name"), message.get("output"), False)
    elif isinstance(kind, str) and (kind in _ROLES or kind in _RESULT_ROLES):
        yield from _by_role(kind, message)
    elif isinstance(kind, str) and kind in _SILENT:
        return
    else:
        raise Unknown(f"unknown kind of message: {str(kind or role)[:40]!r}")


def _by_role(role: str, message: Mapping[str, Any]) -> Iterator[TranscriptStep]:
    if role in _RESULT_ROLES:
        if isinstance(message.get("tool_messages"), list):
            for one in message["tool_messages"]:
                if isinstance(one, Mapping) and "tool_messages" in one:
                    raise Unknown("tool messages inside tool messages")
                yield from _steps(one)
            return
        failed = message.get("error") is True or message.get("status") == "error"
        identity = message.get("tool_call_id") or (message.get("id") if "requestor" in message else None)
        yield _read_result(identity, message.get("name"), message.get("content"), failed)
        return
    speaker = _ROLES.get(role)
    if speaker is None:
        raise Unknown(f"unknown role {role[:40]!r}")
    content = message.get("content")
    if isinstance(content, str):
        if content:
            yield TranscriptText(speaker, content)
    elif isinstance(content, list):
        yield from _blocks(speaker, content)
    elif content is not None:
        raise Unknown(f"the content of a message must be text or a list, not {type(content).__name__}")
    if speaker == "assistant":
        yield from _calls(message)


def _blocks(speaker: Literal["user", "assistant", "system"], blocks: list[Any]) -> Iterator[TranscriptStep]:
    said: list[str] = []
    rest: list[TranscriptStep] = []
    for block in blocks:
        if isinstance(block, str):
            said.append(block)
        elif not isinstance(block, Mapping):
            raise Unknown("a piece of a message's content is neither text nor an object")
        elif isinstance(block.get("text"), str):
            said.append(block["text"])
        elif isinstance(block.get("refusal"), str):
            said.append(block["refusal"])
        elif block.get("type") in ("tool_use", "server_tool_use"):
            rest.append(read_call(block.get("name"), block.get("input"), block.get("id")))
        elif block.get("type") == "tool_result":
            rest.append(_read_result(block.get("tool_use_id"), "", block.get("content"), bool(block.get("is_error"))))
    if said:
        yield TranscriptText(speaker, "\n".join(said))
    yield from rest


def _calls(message: Mapping[str, Any]) -> Iterator[TranscriptStep]:
    calls = message.get("tool_calls") or ()
    if not isinstance(calls, list | tuple):
        raise Unknown("tool_calls must be a list")
    for call in calls:
        if not isinstance(call, Mapping):
            raise Unknown("a tool call must be an object")
        function = call.get("function")
        if isinstance(function, Mapping):
            yield read_call(function.get("name"), function.get("arguments"), call.get("id"))
        else:
            yield read_call(call.get("name"), call.get("arguments", call.get("args")), call.get("id"))
    for call in message.get("invalid_tool_calls") or ():
        if isinstance(call, Mapping):
            yield read_call(call.get("name"), call.get("args"), call.get("id"))
    old = message.get("function_call")
    if isinstance(old, Mapping):
        yield read_call(old.get("name"), old.get("arguments"), old.get("name"))


def read_call(name: Any, arguments: Any, identity: Any) -> TranscriptCall:
    """A call as it was written down, its arguments read when they are text."""
    tool, key = (name if type(name) is str else ""), (identity if type(identity) is str else "")
    if type(arguments) is dict:
        return TranscriptCall(ToolCall(tool, arguments, key))
    if type(arguments) is str and arguments:
        value = _parse_json(arguments)
        if type(value) is dict:
            return TranscriptCall(ToolCall(tool, value, key))
        return TranscriptCall(ToolCall(tool, {}, key), "the arguments are not a JSON object")
    if not arguments and (arguments is None or arguments == ""):
        return TranscriptCall(ToolCall(tool, {}, key))
    return TranscriptCall(
        ToolCall(tool, {}, key), f"the arguments are of type {type(arguments).__name__}, not an object"
    )


def _read_result(identity: Any, name: Any, content: Any, failed: bool) -> TranscriptResult:
    if isinstance(content, list):
        content = "\n".join(
            block if isinstance(block, str) else str(block.get("text", "")) if isinstance(block, Mapping) else ""
            for block in content
        )
    elif content is not None and not isinstance(content, str):
        content = orjson.dumps(content, default=str).decode()
    return TranscriptResult(
        identity if isinstance(identity, str) else "", name if isinstance(name, str) else "", content or "", failed
    )


@lru_cache(maxsize=512)
def _parse_short_json(text: str) -> Json:
    value: Json = orjson.loads(text)
    return value


def _parse_json(text: str) -> Json:
    """The JSON value of a text; the text itself when it is none."""
    try:
        return _parse_short_json(text) if len(text) <= 65_536 else orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def result_value(content: str) -> Json:
    """A tool result as a value: parsed when it is a JSON object or array, as it is otherwise."""
    return _parse_json(content) if content[:1] in ("{", "[") else content


def has_failed(content: str, value: Json) -> bool:
    """The tool said no: an error text, or an object whose `error` is set."""
    if type(value) is dict:
        return bool(value.get("error")) or value.get("success") is False
    return content[:5].lower() == "error"
