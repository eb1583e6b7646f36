"""A provider on loopback that says what a script says, over the wire protocols of OpenAI, Anthropic and Google.

For frameworks whose own client is part of what is shown: the client is pointed here, and everything else stays as it is
with the vendor. The request itself says how far the script is, by the messages of the model that it holds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from scripted import Said

MODEL_ROLES = ("assistant", "model")


@contextmanager
def serve_script(script: list[Said]) -> Iterator[str]:
    """The address of a provider that speaks its part as long as the block lasts."""

    class Handler(ProviderHandler):
        lines = script

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class ProviderHandler(BaseHTTPRequestHandler):
    lines: list[Said]

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.split("?")[0]
        if path.endswith("/chat/completions"):
            self._send(*write_openai(self._speak(request), request))
        elif path.endswith("/v1/messages"):
            self._send(*write_anthropic(self._speak(request), request))
        elif path.endswith(":generateContent"):
            self._send(*write_gemini(self._speak(request)))
        else:
            self.send_error(404)

    def _speak(self, request: dict[str, Any]) -> Said:
        messages = request.get("messages") or request.get("contents") or []
        turn = sum(message["role"] in MODEL_ROLES for message in messages)
        # Claude Code also asks for titles and the like, without tools: that is not the conversation.
        return self.lines[turn] if request.get("tools") and turn < len(self.lines) else "Fine."

    def _send(self, kind: str, body: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None: ...


def write_openai(said: Said, request: dict[str, Any]) -> tuple[str, str]:
    message: dict[str, Any] = {"role": "assistant", "content": said if isinstance(said, str) else None}
    if not isinstance(said, str):
        turn = len(request["messages"])
        message["tool_calls"] = [
            {
                "index": at,
                "id": f"call_{turn}_{at}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for at, (name, arguments) in enumerate(said)
        ]
    ended = "stop" if isinstance(said, str) else "tool_calls"
    made = {"id": "chatcmpl-1", "created": 1, "model": request["model"]}
    if not request.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": ended}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return "application/json", json.dumps(made | {"object": "chat.completion", "choices": [choice], "usage": usage})
    parts = [
        made | {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        for delta, reason in ((message, None), ({}, ended))
    ]
    return "text/event-stream", "".join(f"data: {one}\n\n" for one in (*map(json.dumps, parts), "[DONE]"))


def write_anthropic(said: Said, request: dict[str, Any]) -> tuple[str, str]:
    turn = len(request["messages"])
    content: list[dict[str, Any]] = [{"type": "text", "text": said}]
    if not isinstance(said, str):
        content = [
            {"type": "tool_use", "id": f"toolu_{turn}_{at}", "name": find_tool(name, request), "input": arguments}
            for at, (name, arguments) in enumerate(said)
        ]
    ended = {"stop_reason": "end_turn" if isinstance(said, str) else "tool_use", "stop_sequence": None}
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": f"msg_{turn}", "type": "message", "role": "assistant", "model": request["model"], "usage": usage}
    if not request.get("stream"):
        return "application/json", json.dumps(message | ended | {"content": content})
    unended = {"stop_reason": None, "stop_sequence": None}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message | unended | {"content": []}}]
    for index, block in enumerate(content):
        if block["type"] == "text":
            empty, delta = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = block | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [
            {"type": "content_block_start", "index": index, "content_block": empty},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    events += [{"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}}, {"type": "message_stop"}]
    return "text/event-stream", "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)


def find_tool(name: str, request: dict[str, Any]) -> str:
    """As the client offers it: Claude Code writes an MCP server's name before its tools."""
    return next(one["name"] for one in request["tools"] if one["name"].split("__")[-1] == name)


def write_gemini(said: Said) -> tuple[str, str]:
    parts: list[dict[str, Any]] = [{"text": said}]
    if not isinstance(said, str):
        parts = [{"functionCall": {"name": name, "args": arguments}} for name, arguments in said]
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    made = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
    return "application/json", json.dumps(made)
