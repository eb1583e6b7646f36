"""Answers of `POST /v1/messages`: a turn's result -> a message, whole or as its events, and errors as Anthropic's
clients read them.

Blocks are opened, filled and closed one after the other. Words are sent as they come; a call is a block that comes
whole, after the verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from circumspect.server.openai_format import extension
from circumspect.server.responses import encode_json
from circumspect.stores.codec import dumps
from circumspect.values import ToolCall, TurnId, TurnResult

ERROR_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
}


def with_anthropic_error(body: Mapping[str, Any], status: int) -> dict[str, Any]:
    """A problem as we say it, and once more where Anthropic's clients look for words."""
    kind = ERROR_TYPES.get(status) or ("api_error" if status >= 500 else "invalid_request_error")
    return {**body, "type": "error", "error": {"type": kind, "message": f"{body['problem']} {body['fix']}".strip()}}


def write_anthropic_message(result: TurnResult, model: str) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if result.reply or not result.calls:
        content.append({"type": "text", "text": result.reply, "citations": None})
    content.extend(_write_call(call, call.arguments) for call in result.calls)
    return {
        **_begin_message(result.turn, model),
        "content": content,
        "stop_reason": _name_end(result),
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


def _name_end(result: TurnResult) -> str:
    return "tool_use" if result.calls else "end_turn"


def _write_usage(result: TurnResult) -> dict[str, int]:
    return {"input_tokens": result.usage.input_tokens, "output_tokens": result.usage.output_tokens}


class AnthropicEvents:
    """The `StreamFormat` of the Messages API."""

    def __init__(self, turn: TurnId, model: str) -> None:
        self._turn, self._model = turn, model
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
        delta = {"stop_reason": _name_end(result), "stop_sequence": None}
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
