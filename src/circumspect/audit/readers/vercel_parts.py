"""Vercel AI SDK: UI messages (`parts` with the tool's state in them) and model messages (`tool-call` blocks).

A part of a UI message is a call and, once it has run, its result. Older versions have a `tool-invocation` part, or a
list `toolInvocations` beside the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from circumspect.audit.transcript_steps import (
    TranscriptGap,
    TranscriptStep,
    TranscriptText,
    read_call,
    read_result,
    read_speaker,
)

_BLOCKS = ("tool-call", "tool-result", "tool-error")


def is_message(message: Mapping[str, Any]) -> bool:
    return all(isinstance(part, Mapping) and isinstance(part.get("type"), str) for part in message["parts"])


def read_message(message: Mapping[str, Any]) -> Iterator[TranscriptStep]:
    speaker = read_speaker(message.get("role"))
    for part in message["parts"]:
        kind = part["type"]
        if kind == "text":
            if isinstance(part.get("text"), str) and part["text"]:
                yield TranscriptText(speaker, part["text"])
        elif kind == "tool-invocation":
            yield from read_invocation(part.get("toolInvocation"))
        elif is_tool_block(part):
            yield from read_block(part)
        elif "toolCallId" in part:
            name = part.get("toolName") or kind.removeprefix("tool-")
            yield from _read_state(name, part, part.get("input", part.get("args")), part.get("output"))
        elif "tool" in kind and not kind.startswith("data-"):
            yield TranscriptGap(kind[:40])


def read_invocation(found: Any) -> Iterator[TranscriptStep]:
    if not isinstance(found, Mapping):
        yield TranscriptGap("tool-invocation")
        return
    yield from _read_state(found.get("toolName"), found, found.get("args"), found.get("result"))


def _read_state(name: Any, part: Mapping[str, Any], given: Any, returned: Any) -> Iterator[TranscriptStep]:
    state, key = part.get("state"), part.get("toolCallId")
    if state in ("input-streaming", "partial-call"):
        return
    yield read_call(name, given if given is not None else part.get("rawInput"), key)
    if state in ("output-available", "result"):
        yield read_result(key, name, returned, False)
    elif state in ("output-error", "output-denied"):
        yield read_result(key, name, part.get("errorText") or state, True)


def is_tool_block(block: Any) -> bool:
    """A call or a result in a model message."""
    return isinstance(block, Mapping) and block.get("type") in _BLOCKS and "toolCallId" in block


def read_block(block: Mapping[str, Any]) -> Iterator[TranscriptStep]:
    key, name = block.get("toolCallId"), block.get("toolName")
    if block["type"] == "tool-call":
        yield read_call(name, block.get("input", block.get("args")), key)
        return
    output, failed = block.get("output", block.get("result")), block["type"] == "tool-error"
    if isinstance(output, Mapping) and isinstance(output.get("type"), str) and "value" in output:
        failed = failed or output["type"].startswith("error")
        output = output["value"]
    yield read_result(key, name, output, failed or block.get("isError") is True)
