"""Answers of `POST /v1/messages`: a turn's result -> a message, whole or as its events.

Blocks are opened, filled and closed one after the other. Words are sent as they come; a call is a block that comes
whole, after the verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from circumspect.server.openai_format import extension, is_cut_off
from circumspect.server.problems import with_anthropic_error
from circumspect.server.reply_forms import ReplyForm
from circumspect.server.responses import encode_json
from circumspect.stores.codec import dumps
from circumspect.values import ToolCall, TurnId, TurnResult


def write_anthropic_message(result: TurnResult, model: str, form: ReplyForm | None = None) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if result.reply or not result.calls:
        content.append({"type": "text", "text": result.reply, "citations": None})
    content.extend(_write_call(call, call.arguments) for call in result.calls)
    return {
        **_begin_message(result.turn, model),
        "content": content,
        "stop_reason": _name_end(result, form),
        "usage": _write_usage(result),
        "circumspect": extension(result),
    }


def _begin_message(turn: TurnId, model: str) -> dict[str, Any]:
    return {
        "id": f"msg_{turn}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


def _write_call(call: ToolCall, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.tool, "input": arguments}


def _name_end(result: TurnResult, form: ReplyForm | None) -> str:
    """Words where data was asked for are a refusal."""
    if result.calls:
        return "tool_use"
    if is_cut_off(result):
        return "max_tokens"
    return "refusal" if form and not form.fits(result.reply) else "end_turn"


def _write_usage(result: TurnResult) -> dict[str, int]:
    return {"input_tokens": result.usage.input_tokens, "output_tokens": result.usage.output_tokens}


class AnthropicEvents:
    """The `StreamFormat` of the Messages API."""

    def __init__(self, turn: TurnId, model: str, form: ReplyForm | None = None) -> None:
        self._turn, self._model, self._form = turn, model, form
        self._place, self._is_open = 0, False

    def begin(self) -> Iterator[bytes]:
        yield _write("message_start", message=_begin_message(self._turn, self._model))
        yield _write("ping")

    def add_text(self, piece: str) -> Iterator[bytes]:
        if not self._is_open:
            yield self._open({"type": "text", "text": ""})
        yield self._add({"type": "text_delta", "text": piece})

    def finish(self, result: TurnResult) -> Iterator[bytes]:
        if not self._is_open and not result.calls:
            yield self._open({"type": "text", "text": ""})
        if self._is_open:
            yield self._close()
        for call in result.calls:
            yield self._open(_write_call(call, {}))
            yield self._add({"type": "input_json_delta", "partial_json": dumps(call.arguments).strip()})
            yield self._close()
        delta = {"stop_reason": _name_end(result, self._form), "stop_sequence": None}
        yield _write("message_delta", delta=delta, usage=_write_usage(result), circumspect=extension(result))
        yield _write("message_stop")

    def fail(self, problem: Mapping[str, Any]) -> Iterator[bytes]:
        told = with_anthropic_error(problem, 503)
        yield _write("error", error=told["error"], circumspect=problem)

    def _open(self, block: Mapping[str, Any]) -> bytes:
        self._is_open = True
        return _write("content_block_start", index=self._place, content_block=block)

    def _add(self, delta: Mapping[str, Any]) -> bytes:
        return _write("content_block_delta", index=self._place, delta=delta)

    def _close(self) -> bytes:
        self._is_open = False
        self._place += 1
        return _write("content_block_stop", index=self._place - 1)


def _write(kind: str, **fields: Any) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + encode_json({"type": kind, **fields}).strip() + b"\n\n"


def write_models(names: Sequence[str]) -> dict[str, Any]:
    """What `GET /v1/models` says to Anthropic's clients."""
    shown = [describe_model(name) for name in names]
    return {"data": shown, "has_more": False, "first_id": names[0], "last_id": names[-1]}


def describe_model(name: str) -> dict[str, Any]:
    since = "1970-01-01T00:00:00Z"
    return {"type": "model", "id": name, "display_name": name, "created_at": since, "lifecycle": "active"}
