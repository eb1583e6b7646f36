"""Amazon Bedrock Converse: `toolUse` and `toolResult` blocks in a message's content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from circumspect.audit.transcript_steps import TranscriptStep, read_call, read_result


def is_block(block: Mapping[str, Any]) -> bool:
    return isinstance(block.get("toolUse"), Mapping) or isinstance(block.get("toolResult"), Mapping)


def read_block(block: Mapping[str, Any]) -> Iterator[TranscriptStep]:
    if isinstance(use := block.get("toolUse"), Mapping):
        yield read_call(use.get("name"), use.get("input"), use.get("toolUseId"))
    if isinstance(result := block.get("toolResult"), Mapping):
        content = result.get("content")
        if isinstance(content, list) and len(content) == 1 and isinstance(content[0], Mapping) and "json" in content[0]:
            content = content[0]["json"]
        yield read_result(result.get("toolUseId"), "", content, result.get("status") == "error")
