"""pydantic-ai messages (`all_messages_json`): requests and responses, made of parts with a `part_kind`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from circumspect.audit.transcript_steps import TranscriptGap, TranscriptStep, TranscriptText, read_call, read_result

_CALLS = frozenset(("tool-call", "builtin-tool-call", "native-tool-call"))
_RESULTS = frozenset(("tool-return", "builtin-tool-return", "native-tool-return"))


def is_message(message: Mapping[str, Any]) -> bool:
    return message.get("kind") in ("request", "response") and all(
        isinstance(part, Mapping) and "part_kind" in part for part in message["parts"]
    )


def read_message(message: Mapping[str, Any]) -> Iterator[TranscriptStep]:
    if isinstance(instructions := message.get("instructions"), str) and instructions:
        yield TranscriptText("system", instructions)
    for part in message["parts"]:
        yield from _read_part(str(part["part_kind"]), part)


def _read_part(kind: str, part: Mapping[str, Any]) -> Iterator[TranscriptStep]:
    content = part.get("content")
    if kind == "user-prompt":
        pieces = content if isinstance(content, list) else [content]
        if said := "\n".join(text for piece in pieces if (text := _find_text(piece))):
            yield TranscriptText("user", said)
    elif kind in ("system-prompt", "text"):
        if isinstance(content, str) and content:
            yield TranscriptText("assistant" if kind == "text" else "system", content)
    elif kind in _CALLS:
        yield read_call(part.get("tool_name"), part.get("args"), part.get("tool_call_id"))
    elif kind in _RESULTS:
        failed = part.get("outcome") not in (None, "success")
        yield read_result(part.get("tool_call_id"), part.get("tool_name"), content, failed)
    elif kind == "retry-prompt":
        if part.get("tool_name"):
            yield read_result(part.get("tool_call_id"), part.get("tool_name"), content, True)
    elif "tool" in kind or "call" in kind:
        yield TranscriptGap(kind[:40])


def _find_text(piece: Any) -> str:
    found = piece.get("content", piece.get("text")) if isinstance(piece, Mapping) else piece
    return found if isinstance(found, str) else ""
