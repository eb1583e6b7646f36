"""Logs of the Model Context Protocol: JSON-RPC messages, bare or wrapped by a logger, `tools/call` and its answers.

Only what tools were asked and returned is in them, no words of the user. A log without session ids is one session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from circumspect.audit.readers.talk_pieces import RecordFormat, TalkPiece, find_mapping, find_text

_WRAPPED = ("message", "msg", "payload", "data")
_NAMES = ("sessionId", "session_id", "mcp-session-id", "session", "server")


def recognises(record: Mapping[str, Any]) -> bool:
    return bool(_find_message(record))


def _find_message(record: Mapping[str, Any]) -> Mapping[str, Any]:
    for one in (record, *(find_mapping(record, name) for name in _WRAPPED)):
        if one.get("jsonrpc") == "2.0" or one.get("method") == "tools/call":
            return one
    return {}


def read(record: Mapping[str, Any]) -> Iterator[TalkPiece]:
    message = _find_message(record)
    thread, key = f"mcp {find_text(record, *_NAMES)}", f"rpc {message.get('id')}"
    params, result = find_mapping(message, "params"), find_mapping(message, "result")
    if message.get("method") == "tools/call":
        call = {"id": key, "function": {"name": params.get("name"), "arguments": params.get("arguments")}}
        yield TalkPiece([{"role": "assistant", "content": None, "tool_calls": [call]}], None, thread, "next")
    elif isinstance(result.get("tools"), list):
        yield TalkPiece([], result["tools"], thread, "next")
    elif "content" in result or "structuredContent" in result:
        content = result.get("structuredContent") or result.get("content")
        status = "error" if result.get("isError") else "success"
        answer = {"role": "tool", "tool_call_id": key, "content": content, "status": status}
        yield TalkPiece([answer], None, thread, "next")
    elif message.get("error") and "method" not in message:
        problem = find_text(find_mapping(message, "error"), "message") or "error"
        answer = {"role": "tool", "tool_call_id": key, "content": problem, "status": "error"}
        yield TalkPiece([answer], None, thread, "next")


MCP = RecordFormat("mcp", recognises, read)
