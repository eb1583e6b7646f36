"""What a reader makes of one record of a file: pieces of conversations, and how they belong together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import orjson

PieceKind = Literal["whole", "next", "step"]
"""`whole`: all that was said so far. `next`: what came after the piece before. `step`: a call and what it returned,
which the conversation may hold already."""


@dataclass(frozen=True, slots=True)
class TalkPiece:
    messages: list[Any]
    tools: Any = None
    thread: str = ""
    """Pieces of one thread are looked at together."""
    kind: PieceKind = "whole"
    at: str = ""
    """Sorts the pieces of a thread; where it is empty, the order in the file counts."""
    key: str = ""
    after: str = ""
    """The `key` of the piece that this one comes after."""
    id: str = ""
    """The conversation's, where the thread's name is not fit to be shown."""
    answered: bool = False
    """There was an answer, and it gave something."""
    unread: str = ""
    """Why an answer that was there gave nothing, or may not be whole."""


RecordTest = Callable[[Mapping[str, Any]], bool]
RecordReader = Callable[[Mapping[str, Any]], Iterator[TalkPiece]]


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """How one kind of tool writes records. `read` raises nothing that a record can cause but `Unknown`."""

    name: str
    recognises: RecordTest
    read: RecordReader


def open_json(value: Any) -> Any:
    """The value of a text that is a JSON object or array; anything else as it is. Many exports hold JSON as text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value


def find_mapping(record: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """The first of these members that is an object, also where it is written as a text; nothing when none is."""
    for name in names:
        value = open_json(record.get(name))
        if isinstance(value, Mapping):
            return value
    return {}


def find_text(record: Mapping[str, Any], *names: str) -> str:
    """The first of these members that is a text or a number."""
    return next((str(value) for name in names if isinstance(value := record.get(name), str | int) and value), "")


def write_call(name: Any, arguments: Any, key: Any, result: Any = None, *, failed: bool = False) -> list[Any]:
    """A call that was seen as it ran, as chat messages, with what came back."""
    call = {"id": str(key or ""), "type": "function", "function": {"name": name, "arguments": arguments}}
    messages: list[Any] = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    if result is not None:
        status = "error" if failed else "success"
        messages.append({"role": "tool", "tool_call_id": str(key or ""), "content": result, "status": status})
    return messages
