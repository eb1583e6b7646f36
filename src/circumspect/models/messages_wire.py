"""Anthropic's Messages on the wire: turns in, a JSON body out; a body or events in, a `WireAnswer` out.

Nothing is repaired. A body of another shape raises whatever it trips over, and that counts as garbled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from circumspect.models.turns import Called, Returned, Said, Turn
from circumspect.models.wire import WireAnswer, WireCall, WireFinish
from circumspect.models.wire_text import require

PATH = "v1/messages"
VERSION = "2026-10-21"
_FINISHES: Mapping[str, WireFinish] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filtered",
}


def write_messages(turns: list[Turn]) -> list[dict[str, Any]]:
    return [
        {"role": "assistant" if turn.by_model else "user", "content": [_write_part(part) for part in turn.parts]}
        for turn in turns
    ]


def _write_part(part: Said | Called | Returned) -> dict[str, Any]:
    match part:
        case Called():
            return {"type": "tool_use", "id": part.id, "name": part.tool, "input": part.arguments}
        case Returned():
            content = [{"type": "text", "text": part.text}]
            return {"type": "tool_result", "tool_use_id": part.id, "content": content, "is_error": False}
        case Said():
            return {"type": "text", "text": part.text}


# --- back -----------------------------------------------------------------------------------------------------------


def read_body(body: Any) -> WireAnswer:
    blocks = body["content"]
    text = "".join(require(one["text"], str) for one in blocks if one["type"] == "text")
    calls = tuple(
        WireCall(require(one["name"], str), one["input"], require(one["id"], str))
        for one in blocks
        if one["type"] == "tool_use"
    )
    finish: WireFinish = _FINISHES.get(body.get("stop_reason") or "", "stop")
    return WireAnswer(text, calls, finish, "", *read_usage(body.get("usage")), model=require(body["model"], str))


def read_usage(usage: Any) -> tuple[int, int, int]:
    """Tokens in, out and cached. What came from the cache, or went into it, was sent as well."""
    if not isinstance(usage, dict):
        return 0, 0, 0

    def read(name: str) -> int:
        number = usage.get(name)
        return number if isinstance(number, int) else 0

    cached = read("cache_read_input_tokens")
    return read("input_tokens") + read("cache_creation_input_tokens") + cached, read("output_tokens"), cached


class MessageEventReader:
    """Events in, pieces of text out; then `finish` gives the whole answer."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._calls: dict[int, tuple[str, str, list[str]]] = {}
        self._finish: WireFinish | None = None
        self._usage: dict[str, Any] = {}
        self._model = ""

    def take(self, event: Any) -> Iterator[str]:
        match event["type"]:
            case "message_start":
                message = event["message"]
                self._model = require(message["model"], str)
                self._usage.update(message.get("usage") or {})
            case "content_block_start":
                block = event["content_block"]
                if block["type"] == "tool_use":
                    self._calls[event["index"]] = (require(block["name"], str), require(block["id"], str), [])
            case "content_block_delta":
                delta = event["delta"]
                if delta["type"] == "text_delta" and (piece := require(delta["text"], str)):
                    self._text.append(piece)
                    yield piece
                elif delta["type"] == "input_json_delta":
                    self._calls[event["index"]][2].append(require(delta["partial_json"], str))
            case "message_delta":
                self._usage.update(event.get("usage") or {})
                if why := event["delta"].get("stop_reason"):
                    self._finish = _FINISHES.get(why, "stop")

    def finish(self) -> WireAnswer:
        calls = tuple(WireCall(name, "".join(pieces), id_) for name, id_, pieces in self._calls.values())
        return WireAnswer("".join(self._text), calls, self._finish, "", *read_usage(self._usage), model=self._model)
