"""How OpenAI's Chat Completions and Anthropic's Messages look on the wire: one `Answer` in, bytes of either out.

The checks are the ones of the real services that our code could run into: a request that they would refuse is refused
here too, with a body of the same shape.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True)
class Call:
    """A tool call. `arguments` is the text the model wrote, JSON or not."""

    tool: str
    arguments: str = "{}"
    id: str = "call_abc123"


@dataclass(frozen=True)
class Answer:
    """What the model says, in no provider's format yet. `usage` is (in, out) tokens, or None: not counted."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    finish: str | None = None
    """`stop`, `length`, `tool_calls` or `filtered`; by default what fits."""
    usage: tuple[int, int] | None = (10, 5)
    cached: int = 0
    refusal: str | None = None
    model: str | None = None
    pieces: int = field(default=3)
    """Into how many pieces a stream cuts the text."""

    @property
    def why(self) -> str:
        return self.finish or ("tool_calls" if self.calls else "stop")

    def cut(self) -> list[str]:
        size = max(1, -(-len(self.text) // self.pieces))
        return [self.text[start : start + size] for start in range(0, len(self.text), size)]


class OpenAIWire:
    """POST /v1/chat/completions"""

    finishes: ClassVar = {"stop": "stop", "length": "length", "tool_calls": "tool_calls", "filtered": "content_filter"}

    def key(self, headers: dict[str, str]) -> str | None:
        scheme, _, key = headers.get("authorization", "").partition(" ")
        return key if scheme == "Bearer" and key else None

    def error(self, status: int, message: str, code: str | None = None) -> dict[str, Any]:
        kinds = {401: "invalid_request_error", 429: "requests", 500: "server_error", 503: "server_error"}
        kind = kinds.get(status, "invalid_request_error")
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}

    def complaint(self, headers: dict[str, str], body: dict[str, Any]) -> str | None:
        if not isinstance(body.get("model"), str) or not body.get("messages"):
            return "you must provide a model parameter and messages"
        waiting: set[str] = set()
        for message in body["messages"]:
            role = message.get("role")
            if role == "tool":
                if message.get("tool_call_id") not in waiting:
                    return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
                waiting.discard(message["tool_call_id"])
                continue
            if waiting:
                return "An assistant message with 'tool_calls' must be followed by tool messages for each of its ids."
            if role not in ("system", "developer", "user", "assistant"):
                return f"Invalid role {role!r}."
            calls = [call["id"] for call in message.get("tool_calls") or ()]
            waiting = set(calls)
            if len(calls) > len(waiting):
                return "Duplicate value for 'tool_call_id'."
            if not isinstance(message.get("content"), str | list) and not waiting:
                return "Invalid value for 'content': expected a string, got null."
        if waiting:
            return "An assistant message with 'tool_calls' must be followed by tool messages for each of its ids."
        schema = (body.get("response_format") or {}).get("json_schema")
        if schema is not None and not (schema.get("name") and isinstance(schema.get("schema"), dict)):
            return "Missing required parameter: 'response_format.json_schema'."
        return None

    def body(self, answer: Answer, request: dict[str, Any]) -> dict[str, Any]:
        message: dict[str, Any] = {
            "role": "assistant",
            "content": answer.text or None,
            "refusal": answer.refusal,
            "annotations": [],
        }
        if answer.calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments}}
                for call in answer.calls
            ]
        found: dict[str, Any] = {
            "id": "chatcmpl-test",
            "object": "chat.completion",
            "created": 1_760_000_000,
            "model": answer.model or request["model"],
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": self.finishes[answer.why]}],
            "service_tier": "default",
            "system_fingerprint": "fp_test",
        }
        if answer.usage:
            found["usage"] = self._usage(answer)
        return found

    def _usage(self, answer: Answer) -> dict[str, Any]:
        asked, said = answer.usage or (0, 0)
        return {
            "prompt_tokens": asked,
            "completion_tokens": said,
            "total_tokens": asked + said,
            "prompt_tokens_details": {"cached_tokens": answer.cached, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        }

    def events(self, answer: Answer, request: dict[str, Any]) -> Iterator[bytes]:
        head = {
            "id": "chatcmpl-test",
            "object": "chat.completion.chunk",
            "created": 1_760_000_000,
            "model": answer.model or request["model"],
            "system_fingerprint": "fp_test",
        }
        usage = bool((request.get("stream_options") or {}).get("include_usage"))

        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            return _data({**head, "choices": [choice], **({"usage": None} if usage else {})})

        yield chunk({"role": "assistant", "content": "", "refusal": None})
        for piece in answer.cut():
            yield chunk({"content": piece})
        if answer.refusal:
            yield chunk({"refusal": answer.refusal})
        for index, call in enumerate(answer.calls):
            function = {"name": call.tool, "arguments": ""}
            yield chunk({"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]})
            half = len(call.arguments) // 2
            for part in (call.arguments[:half], call.arguments[half:]):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
        yield chunk({}, self.finishes[answer.why])
        if usage and answer.usage:
            yield _data({**head, "choices": [], "usage": self._usage(answer)})
        yield b"data: [DONE]\n\n"


class AnthropicWire:
    """POST /v1/messages"""

    finishes: ClassVar = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "filtered": "refusal"}

    def key(self, headers: dict[str, str]) -> str | None:
        return headers.get("x-api-key") or OpenAIWire().key(headers)

    def error(self, status: int, message: str, code: str | None = None) -> dict[str, Any]:
        kinds = {
            400: "invalid_request_error",
            401: "authentication_error",
            403: "permission_error",
            404: "not_found_error",
            429: "rate_limit_error",
            500: "api_error",
            529: "overloaded_error",
        }
        return {
            "type": "error",
            "error": {"type": kinds.get(status, "invalid_request_error"), "message": message},
            "request_id": "req_test",
        }

    def complaint(self, headers: dict[str, str], body: dict[str, Any]) -> str | None:
        if "anthropic-version" not in headers:
            return "anthropic-version: header is required"
        if not isinstance(body.get("max_tokens"), int):
            return "max_tokens: Field required"
        if not body.get("messages"):
            return "messages: at least one message is required"
        if body["messages"][0]["role"] != "user":
            return "messages: first message must use the user role"
        waiting: set[str] = set()
        used: set[str] = set()
        for index, message in enumerate(body["messages"]):
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            for block in blocks:
                if block["type"] == "text" and not block["text"].strip():
                    return f"messages.{index}: text content blocks must contain non-whitespace text"
            results = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
            if results != waiting:
                return f"messages.{index}: `tool_use` ids and `tool_result` blocks do not match"
            uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
            waiting = set(uses)
            if len(uses) > len(waiting) or waiting & used:
                return f"messages.{index}: `tool_use` ids must be unique"
            used |= waiting
        return "messages: `tool_use` ids were found without `tool_result` blocks" if waiting else None

    def body(self, answer: Answer, request: dict[str, Any]) -> dict[str, Any]:
        content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
        for call in answer.calls:
            try:
                value = json.loads(call.arguments)
            except ValueError:
                value = call.arguments
            content.append({"type": "tool_use", "id": call.id, "name": call.tool, "input": value})
        found: dict[str, Any] = {**self._head(answer, request), "content": content}
        found["stop_reason"] = self.finishes[answer.why]
        found["usage"] = self._usage(answer, (answer.usage or (0, 0))[1])
        return found

    def _head(self, answer: Answer, request: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": "msg_test",
            "type": "message",
            "role": "assistant",
            "model": answer.model or request["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
        }

    def _usage(self, answer: Answer, said: int) -> dict[str, Any]:
        asked = (answer.usage or (0, 0))[0]
        return {
            "input_tokens": asked - answer.cached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": answer.cached,
            "output_tokens": said,
            "service_tier": "standard",
        }

    def events(self, answer: Answer, request: dict[str, Any]) -> Iterator[bytes]:
        def event(kind: str, **fields: Any) -> bytes:
            return f"event: {kind}\n".encode() + _data({"type": kind, **fields})

        usage = self._usage(answer, 1 if answer.usage else 0)
        yield event("message_start", message={**self._head(answer, request), "usage": usage})
        yield event("ping")
        index = 0
        if answer.text:
            yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
            for piece in answer.cut():
                yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
            yield event("content_block_stop", index=0)
            index = 1
        for call in answer.calls:
            block = {"type": "tool_use", "id": call.id, "name": call.tool, "input": {}}
            yield event("content_block_start", index=index, content_block=block)
            half = len(call.arguments) // 2
            for part in (call.arguments[:half], call.arguments[half:]):
                delta = {"type": "input_json_delta", "partial_json": part}
                yield event("content_block_delta", index=index, delta=delta)
            yield event("content_block_stop", index=index)
            index += 1
        said = {"output_tokens": answer.usage[1] if answer.usage else 0}
        stop = {"stop_reason": self.finishes[answer.why], "stop_sequence": None}
        yield event("message_delta", delta=stop, usage=said)
        yield event("message_stop")


Wire = OpenAIWire | AnthropicWire
WIRES: dict[str, Wire] = {"/v1/chat/completions": OpenAIWire(), "/v1/messages": AnthropicWire()}


def _data(value: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()
