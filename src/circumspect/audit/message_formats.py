"""One message of a foreign conversation, whoever wrote it down, as the few things that can happen in one.

Read as they are: OpenAI chat messages, OpenAI Agents / Responses items, Anthropic content blocks, LangChain messages
(`messages_to_dict`, `dumpd`, `model_dump`), tau-bench and tau2-bench messages, and messages in `parts`, whose writers
each have a module in `readers`. Out come `TranscriptText`, `TranscriptCall` and `TranscriptResult`, in order; a message
of no known kind raises `Unknown`, and the caller says so and goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from circumspect.audit.readers import bedrock_blocks, gemini_parts, genai_parts, pydantic_ai_parts, vercel_parts
from circumspect.audit.transcript_steps import (
    CALL_ARGUMENTS,
    CALL_IDS,
    CALL_NAMES,
    ROLES,
    Speaker,
    TranscriptGap,
    TranscriptResult,
    TranscriptStep,
    TranscriptText,
    Unknown,
    first_of,
    read_call,
    read_named_call,
    read_result,
    read_speaker,
)
from circumspect.policy.grounding.words import bag

_RESULT_ROLES = frozenset(
    ("tool", "function", "ToolMessage", "FunctionMessage", "tool_result", "toolResult", "tool_response", "TOOL")
)
_RUN_ITEMS = bag(
    "tool_call_item tool_call_output_item message_output_item reasoning_item handoff_call_item handoff_output_item"
)
_SILENT = bag(
    "reasoning item_reference web_search_call file_search_call code_interpreter_call "
    "image_generation_call mcp_list_tools mcp_approval_response handoff_call handoff_output compaction "
    "thinking redacted_thinking remove"
)
"""Items that say nothing to the user and call none of the agent's own tools."""

_ReadsParts = Callable[[Mapping[str, Any]], Iterator[TranscriptStep]]
_IN_PARTS: Sequence[tuple[Callable[[Mapping[str, Any]], bool], _ReadsParts]] = (
    (pydantic_ai_parts.is_message, pydantic_ai_parts.read_message),
    (genai_parts.is_message, genai_parts.read_message),
    (vercel_parts.is_message, vercel_parts.read_message),
    (gemini_parts.is_message, gemini_parts.read_message),
)


def steps(message: Any) -> Sequence[TranscriptStep]:
    """What happens in one message. The chat format, by far the commonest, takes the short way."""
    if type(message) is dict:
        role, content = message.get("role"), message.get("content")
        if type(content) is str and "parts" not in message:
            if role == "user":
                return (TranscriptText("user", content, _read_name(message)),) if content else ()
            if role == "tool" and type(key := message.get("tool_call_id")) is str and "error" not in message:
                return (TranscriptResult(key, "", content, message.get("status") == "error"),)
            if role == "assistant" and not message.get("tool_calls") and not _OTHER_CALLS & message.keys():
                return (TranscriptText("assistant", content),) if content else ()
            if role == "assistant" and not content:
                return _plain_calls(message) or tuple(_calls(message))
        elif content is None and role == "assistant" and type(calls := message.get("tool_calls")) is list:
            return (_plain_calls(message) or tuple(_calls(message))) if calls else ()
    return tuple(_steps(message))


_CALL_LISTS = ("tool_calls", "toolCalls", "tool_call", "toolCall")
_OTHER_CALLS = frozenset(("function_call", "functionCall", "toolInvocations", *_CALL_LISTS[1:], "calls"))


def _read_name(message: Mapping[str, Any]) -> str:
    return name if isinstance(name := message.get("name"), str) else ""


def _steps(message: Any) -> Iterator[TranscriptStep]:
    if not isinstance(message, Mapping):
        raise Unknown(f"a message must be an object, not {type(message).__name__}")
    role, kind = message.get("role"), message.get("type")
    if isinstance(message.get("parts"), list):
        for fits, read in _IN_PARTS:
            if fits(message):
                yield from read(message)
                return
    if isinstance(role, str):
        yield from _by_role(role, message)
    elif kind == "constructor" and isinstance(message.get("kwargs"), Mapping):
        path = message.get("id")
        yield from _by_role(str(path[-1]) if isinstance(path, list) and path else "", message["kwargs"])
    elif isinstance(message.get("data"), Mapping) and isinstance(kind, str):
        yield from _by_role(kind, message["data"])
    elif isinstance(kind, str) and kind in _RUN_ITEMS and isinstance(message.get("raw_item"), Mapping):
        yield from _run_item(message)
    elif kind == "function_call":
        yield read_call(message.get("name"), message.get("arguments"), message.get("call_id") or message.get("id"))
    elif kind == "custom_tool_call":
        yield read_call(message.get("name"), {"input": message.get("input")}, message.get("call_id"))
    elif kind == "mcp_call":
        # One that somebody approved was read where approval was asked for.
        key = message.get("approval_request_id") or message.get("id")
        if key == message.get("id"):
            yield read_call(message.get("name"), message.get("arguments"), key)
        if message.get("output") is not None or message.get("error"):
            yield read_result(key, message.get("name"), message.get("output"), bool(message.get("error")))
    elif kind in ("function_call_output", "custom_tool_call_output"):
        yield read_result(message.get("call_id"), message.get("name"), message.get("output"), False)
    elif isinstance(kind, str) and (kind in ROLES or kind in _RESULT_ROLES):
        yield from _by_role(kind, message)
    elif isinstance(kind, str) and kind in _SILENT:
        return
    elif isinstance(name := message.get("name"), str) and (given := _find_given(message)) is not None:
        # A call, whatever its vendor calls it: `mcp_approval_request`, and those to come.
        yield read_call(name, given, message.get("call_id") or message.get("id"))
        if message.get("output") is not None:
            yield read_result(message.get("call_id") or message.get("id"), name, message["output"], False)
    else:
        raise Unknown(f"unknown kind of message: {str(kind or role)[:40]!r}")


def _find_given(message: Mapping[str, Any]) -> Any:
    """What a call of some kind is given: JSON as a rule, and a text of any kind where it is the whole input."""
    if (given := message.get("arguments")) is not None:
        return given
    given = message.get("input")
    return {"input": given} if isinstance(given, str) and given.lstrip()[:1] != "{" else given


def _run_item(item: Mapping[str, Any]) -> Iterator[TranscriptStep]:
    """An item of an OpenAI Agents run. Its own `output` is the value that the raw item holds as a text."""
    raw = item["raw_item"]
    if item.get("type") == "tool_call_output_item" and item.get("output") is not None:
        yield read_result(raw.get("call_id"), raw.get("name"), item["output"], False)
    elif "raw_item" not in raw:
        yield from _steps(raw)


def _by_role(role: str, message: Mapping[str, Any]) -> Iterator[TranscriptStep]:
    content = message.get("content")
    if role in _RESULT_ROLES:
        if isinstance(message.get("tool_messages"), list):
            for one in message["tool_messages"]:
                if isinstance(one, Mapping) and "tool_messages" in one:
                    raise Unknown("tool messages inside tool messages")
                yield from _steps(one)
        elif isinstance(content, list) and any(vercel_parts.is_tool_block(block) for block in content):
            yield from _blocks("assistant", content)
        else:
            failed = bool(message.get("error") or message.get("is_error")) or message.get("status") == "error"
            if content is None:
                content = first_of(message, ("output", "result"))
            # A message of its own has an `id` that no call knows, beside the one of the call.
            ids = CALL_IDS if "requestor" in message else CALL_IDS[:-1]
            yield read_result(first_of(message, ids), first_of(message, CALL_NAMES), content, failed)
        return
    speaker = read_speaker(role)
    if isinstance(content, str):
        if content:
            yield TranscriptText(speaker, content, _read_name(message) if speaker == "user" else "")
    elif isinstance(content, list):
        yield from _blocks(speaker, content, _read_name(message) if speaker == "user" else "")
    elif content is not None:
        raise Unknown(f"the content of a message must be text or a list, not {type(content).__name__}")
    if speaker == "assistant":
        yield from _calls(message)


def _blocks(speaker: Speaker, blocks: list[Any], name: str = "") -> Iterator[TranscriptStep]:
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
        else:
            rest += _block(block)
    if said:
        yield TranscriptText(speaker, "\n".join(said), name)
    yield from rest


def _block(block: Mapping[str, Any]) -> Iterator[TranscriptStep]:
    kind = str(block.get("type") or "")
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use", "toolUse"):
        yield read_named_call(block)
    elif kind.endswith(("tool_result", "toolResult")):
        yield read_result(first_of(block, CALL_IDS), "", block.get("content"), bool(block.get("is_error")))
    elif vercel_parts.is_tool_block(block):
        yield from vercel_parts.read_block(block)
    elif bedrock_blocks.is_block(block):
        yield from bedrock_blocks.read_block(block)
    elif "tool" in kind or "call" in kind:
        yield TranscriptGap(kind[:40])


_PLAIN_MESSAGE = frozenset(("role", "content", "tool_calls", "id", "name", "refusal"))


def _plain_calls(message: dict[str, Any]) -> tuple[TranscriptStep, ...]:
    """The calls of a message that has nothing beside them, as OpenAI writes them; none where one is written
    otherwise."""
    calls = message.get("tool_calls")
    if type(calls) is not list or not message.keys() <= _PLAIN_MESSAGE:
        return ()
    found: list[TranscriptStep] = []
    for call in calls:
        if type(call) is not dict or type(function := call.get("function")) is not dict:
            return ()
        name, given, identity = function.get("name"), function.get("arguments"), call.get("id")
        if given is None or type(identity) is not str:
            return ()
        found.append(read_call(name, given, identity))
    return tuple(found)


def _calls(message: Mapping[str, Any]) -> Iterator[TranscriptStep]:
    for key in _CALL_LISTS:
        calls = message.get(key) or ()
        for call in (calls,) if isinstance(calls, Mapping) else calls if isinstance(calls, list | tuple) else (None,):
            if not isinstance(call, Mapping):
                raise Unknown(f"{key} must be a list of objects")
            yield _call(call)
    if message.get("calls"):
        yield TranscriptGap("calls")
    invalid = message.get("invalid_tool_calls")
    for call in invalid if isinstance(invalid, list) else ():
        if isinstance(call, Mapping):
            yield read_call(call.get("name"), call.get("args"), call.get("id"))
    for key in ("function_call", "functionCall"):
        if isinstance(old := message.get(key), Mapping):
            yield read_call(old.get("name"), first_of(old, CALL_ARGUMENTS), old.get("name"))
    if isinstance(message.get("toolInvocations"), list):
        for one in message["toolInvocations"]:
            yield from vercel_parts.read_invocation(one)


def _call(call: Mapping[str, Any]) -> TranscriptStep:
    function, identity = call.get("function"), first_of(call, ("id", *CALL_IDS))
    if isinstance(function, Mapping):
        return read_call(function.get("name"), first_of(function, CALL_ARGUMENTS), identity)
    if isinstance(custom := call.get("custom"), Mapping):
        return read_call(custom.get("name"), {"input": custom.get("input")}, identity)
    # Inspect writes the tool's name where OpenAI writes an object.
    return read_named_call(call, function)
