"""One message a record: a line of JSON, or a row of a CSV file. Those that name a conversation are sorted into it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from circumspect.audit.readers.talk_pieces import RecordFormat, TalkPiece, find_text, open_json

_CONVERSATION = ("conversation", "conversation_id", "session_id", "session", "thread_id", "chat_id", "sessionId")
_ROLE = ("role", "speaker", "sender", "author", "from")
_CONTENT = ("content", "text", "message", "body")
_TOOL = ("tool", "tool_name", "function", "name")
_ARGUMENTS = ("arguments", "args", "tool_input", "input", "parameters")
_CALL_ID = ("tool_call_id", "call_id", "tool_use_id")
_RESULT = ("result", "output", "tool_output")
_SPEAKERS = {"customer": "user", "client": "user", "bot": "assistant", "agent": "assistant", "tool_result": "tool"}
_ITEMS = (
    "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
    "tool_call_item", "tool_call_output_item",
)  # fmt: skip


def recognises(record: Mapping[str, Any]) -> bool:
    if record.get("type") == "response_item" and isinstance(item := record.get("payload"), Mapping):
        return recognises(item)  # a line of Codex's sessions
    if isinstance(message := record.get("message"), Mapping):
        return isinstance(message.get("role"), str) and "content" in message
    return (
        (isinstance(record.get("role"), str) and any(key in record for key in ("content", "parts", "tool_calls")))
        or record.get("type") in _ITEMS
        or (record.get("kind") in ("request", "response") and isinstance(record.get("parts"), list))
    )


def read(record: Mapping[str, Any]) -> Iterator[TalkPiece]:
    inner = record.get("payload") if record.get("type") == "response_item" else record.get("message")
    message = inner if isinstance(inner, Mapping) else record
    yield TalkPiece([message], None, f"rows {find_text(record, *_CONVERSATION)}", "next")


MESSAGES = RecordFormat("messages", recognises, read)


def is_header(names: list[str]) -> bool:
    """A row of column names: there is one for who speaks and one for what is said or called."""
    known = {name.strip().lower() for name in names}
    return is_export(names) or (bool(known & {*_ROLE}) and bool(known & {*_CONTENT, *_TOOL}))


def is_export(names: Iterable[str]) -> bool:
    """The columns of a table of traces: its rows are records of another format, with JSON in their cells."""
    known = {name.strip() for name in names if isinstance(name, str)}
    return {"input", "output"} <= known and not known.isdisjoint(("traceId", "trace_id", "sessionId"))


def read_row(row: Mapping[str, str]) -> TalkPiece:
    """A row by its column names. A row with a tool and arguments is a call; one of a tool's own role is its result."""
    record = {key.strip().lower(): value for key, value in row.items() if isinstance(key, str) and value}
    role = find_text(record, *_ROLE).strip().lower()
    role = _SPEAKERS.get(role, role)
    tool, key = find_text(record, *_TOOL), find_text(record, *_CALL_ID)
    content = find_text(record, *_CONTENT)
    result = find_text(record, *_RESULT)
    messages: list[Any] = []
    if role in ("tool", "function"):
        messages = [{"role": "tool", "tool_call_id": key, "name": tool, "content": content or result}]
    else:
        message: dict[str, Any] = {"role": role, "content": content}
        calls = open_json(record.get("tool_calls"))
        if isinstance(calls, list):
            message["tool_calls"] = calls
        elif tool and role == "assistant":
            given = find_text(record, *_ARGUMENTS)
            message["tool_calls"] = [{"id": key, "function": {"name": tool, "arguments": given}}]
        messages.append(message)
        if result and "tool_calls" in message:
            messages.append({"role": "tool", "tool_call_id": key, "content": result})
    return TalkPiece(messages, None, f"rows {find_text(record, *(name.lower() for name in _CONVERSATION))}", "next")
