"""Messages as OpenTelemetry's GenAI conventions write them: `parts` of type text, tool_call, tool_call_response."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from circumspect.audit.transcript_steps import (
    ROLES,
    Speaker,
    TranscriptGap,
    TranscriptStep,
    TranscriptText,
    read_call,
    read_result,
)

_OWN = ("tool_call", "tool_call_response", "server_tool_call", "server_tool_call_response")


def is_message(message: Mapping[str, Any]) -> bool:
    parts = message["parts"]
    return bool(parts) and all(
        isinstance(part, Mapping)
        and (part.get("type") in _OWN or (isinstance(part.get("type"), str) and "content" in part))
        for part in parts
    )


def read_message(message: Mapping[str, Any]) -> Iterator[TranscriptStep]:
    role = message.get("role")
    speaker: Speaker = ROLES.get(role, "user") if isinstance(role, str) else "user"
    for part in message["parts"]:
        kind = part["type"]
        if kind == "text":
            if isinstance(part["content"], str) and part["content"]:
                yield TranscriptText(speaker, part["content"])
        elif kind in ("tool_call", "server_tool_call"):
            yield read_call(part.get("name"), part.get("arguments"), part.get("id"))
        elif kind in ("tool_call_response", "server_tool_call_response"):
            content = next((part[key] for key in ("response", "result", "content") if key in part), None)
            yield read_result(part.get("id"), part.get("name"), content, False)
        elif "tool" in kind:
            yield TranscriptGap(kind[:40])
