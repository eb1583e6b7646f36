"""Gemini `generateContent`: messages whose `parts` hold `text`, `functionCall` and `functionResponse`.

Gemini writes an id to a call only where the model gave one; without it a response answers the oldest open call.
"""

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
from circumspect.policy.grounding.words import bag

_SILENT = bag(
    "thought thoughtSignature thought_signature inlineData inline_data fileData file_data videoMetadata video_metadata "
    "executableCode executable_code codeExecutionResult code_execution_result partMetadata part_metadata "
    "mediaResolution media_resolution"
)


def is_message(message: Mapping[str, Any]) -> bool:
    return all(isinstance(part, Mapping) and "type" not in part for part in message["parts"])


def read_message(message: Mapping[str, Any]) -> Iterator[TranscriptStep]:
    role = message.get("role")
    speaker: Speaker = ROLES.get(role, "user") if isinstance(role, str) else "user"
    for part in message["parts"]:
        if isinstance(call := part.get("functionCall") or part.get("function_call"), Mapping):
            yield read_call(call.get("name"), call.get("args"), call.get("id"))
        elif isinstance(back := part.get("functionResponse") or part.get("function_response"), Mapping):
            response = back.get("response")
            failed = isinstance(response, Mapping) and bool(response.get("error"))
            yield read_result(back.get("id"), back.get("name"), _unwrap(response), failed)
        elif isinstance(part.get("text"), str):
            if part["text"] and not part.get("thought"):
                yield TranscriptText(speaker, part["text"])
        elif unknown := next((key for key in part if key not in _SILENT), ""):
            yield TranscriptGap(unknown[:40])


def _unwrap(response: Any) -> Any:
    """A function that returned no object has its value put under `output` or `result`."""
    if isinstance(response, Mapping) and len(response) == 1:
        return next((response[key] for key in ("output", "result") if key in response), response)
    return response
