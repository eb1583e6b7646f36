"""What can happen in a message of a foreign conversation: somebody speaks, a tool is called, a tool returns.

`read_call` and `read_result` make these of whatever a writer wrote down; nothing here knows a format.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import orjson

from circumspect.audit.printed_records import parse_printed
from circumspect.values import Json, ToolCall

Speaker = Literal["user", "assistant", "system"]
_KEYS = orjson.OPT_NON_STR_KEYS
LITERAL_LIMIT = 65_536
"""A longer text in Python's own notation is left a text: reading it takes far longer than reading JSON."""


class Unknown(ValueError):
    """The message is of no kind that we can read."""


@dataclass(frozen=True, slots=True)
class TranscriptText:
    speaker: Speaker
    text: str


@dataclass(frozen=True, slots=True)
class TranscriptCall:
    call: ToolCall
    problem: str = ""
    """Why the arguments could not be read; they are empty then."""


@dataclass(frozen=True, slots=True)
class TranscriptResult:
    call_id: str
    tool: str
    content: str
    failed: bool


@dataclass(frozen=True, slots=True)
class TranscriptGap:
    """A piece of a message that may be a call or its result, of a kind that we do not know."""

    kind: str


TranscriptStep = TranscriptText | TranscriptCall | TranscriptResult | TranscriptGap

ROLES: Mapping[str, Speaker] = {
    "user": "user",
    "human": "user",
    "HumanMessage": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "SystemMessage": "system",
}


def read_speaker(role: Any) -> Speaker:
    """Who speaks in a message of this role."""
    speaker = ROLES.get(role) if isinstance(role, str) else None
    if speaker is None:
        raise Unknown(f"unknown role {str(role)[:40]!r}")
    return speaker


def read_call(name: Any, arguments: Any, identity: Any) -> TranscriptCall:
    """A call as it was written down, its arguments read when they are text."""
    tool, key = (name if type(name) is str else ""), (identity if type(identity) is str else "")
    if type(arguments) is dict:
        return TranscriptCall(ToolCall(tool, arguments, key))
    if type(arguments) is str and arguments:
        value = parse_json(arguments)
        if type(value) is dict:
            return TranscriptCall(ToolCall(tool, value, key))
        return TranscriptCall(ToolCall(tool, {}, key), "the arguments are not a JSON object")
    if not arguments and (arguments is None or arguments == ""):
        return TranscriptCall(ToolCall(tool, {}, key))
    return TranscriptCall(
        ToolCall(tool, {}, key), f"the arguments are of type {type(arguments).__name__}, not an object"
    )


def read_result(identity: Any, name: Any, content: Any, failed: bool) -> TranscriptResult:
    """What a tool returned, as a text; the pieces of a list one a line."""
    if isinstance(content, list) and all(isinstance(block, str) or _is_text_block(block) for block in content):
        content = "\n".join(block if isinstance(block, str) else str(block.get("text", "")) for block in content)
    elif content is not None and not isinstance(content, str):
        try:
            content = orjson.dumps(content, default=str, option=_KEYS).decode()
        except TypeError:
            raise Unknown("a tool result is nested too deeply") from None
    return TranscriptResult(
        identity if isinstance(identity, str) else "", name if isinstance(name, str) else "", content or "", failed
    )


def _is_text_block(block: Any) -> bool:
    return isinstance(block, Mapping) and ("text" in block or isinstance(block.get("type"), str))


@lru_cache(maxsize=512)
def _parse_short_json(text: str) -> Json:
    value: Json = orjson.loads(text)
    return value


def parse_json(text: str) -> Json:
    """The JSON value of a text; the text itself when it is none."""
    try:
        return _parse_short_json(text) if len(text) <= 65_536 else orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


@lru_cache(maxsize=512)
def _parse_literal(text: str) -> Json:
    """The value of a text in Python's notation, `{'status': 'open'}`; the text itself when it is none."""
    try:
        value: Json = orjson.loads(orjson.dumps(ast.literal_eval(text), default=_to_json, option=_KEYS))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return parse_printed(text)
    return value


def _to_json(value: Any) -> Any:
    return list(value) if isinstance(value, set | frozenset) else str(value)


def result_value(content: str) -> Json:
    """A tool result as a value: parsed when it is an object or array, in JSON or as Python prints it."""
    if content[:1] not in ("{", "["):
        return parse_printed(content) if "=" in content[:100] and len(content) <= LITERAL_LIMIT else content
    value = parse_json(content)
    if value is content and "'" in content and len(content) <= LITERAL_LIMIT:
        return _parse_literal(content)
    return value


def has_failed(content: str, value: Json) -> bool:
    """The tool said no: an error text, or an object whose `error` is set."""
    if type(value) is dict:
        return bool(value.get("error")) or value.get("success") is False
    return content[:5].lower() == "error"
