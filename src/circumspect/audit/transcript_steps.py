"""What can happen in a message of a foreign conversation: somebody speaks, a tool is called, a tool returns.

`read_call` and `read_result` make these of whatever a writer wrote down; nothing here knows a format.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
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


_RAISED = re.compile(r"(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)(?::|\(|\Z)|Traceback \(most recent call last\):")
"""How an exception begins that a loop wrote down: `ValueError: …`, `ToolException('…')`."""


class Unknown(ValueError):
    """The message is of no kind that we can read."""


@dataclass(frozen=True, slots=True)
class TranscriptText:
    speaker: Speaker
    text: str
    name: str = ""
    """Who of several users speaks, where messages say so."""


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


CALL_IDS = ("call_id", "tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "id")
CALL_NAMES = ("name", "tool_name", "toolName", "tool")
CALL_ARGUMENTS = ("arguments", "args", "input", "parameters", "tool_input")


def read_speaker(role: Any) -> Speaker:
    """Who speaks in a message of this role."""
    speaker = (ROLES.get(role) or ROLES.get(role.lower())) if isinstance(role, str) else None
    if speaker is None:
        raise Unknown(f"unknown role {str(role)[:40]!r}")
    return speaker


def read_identity(identity: Any) -> str:
    """The id of a call. JSON-RPC numbers its calls."""
    return identity if isinstance(identity, str) else str(identity) if type(identity) is int else ""


def first_of(given: Mapping[str, Any], names: Sequence[str]) -> Any:
    """The first of these keys that says anything: every writer has names of its own."""
    for name in names:
        if name in given and (found := given[name]) is not None:
            return found
    return None


def read_named_call(call: Mapping[str, Any], otherwise: Any = None) -> TranscriptCall:
    """A call under whatever names its writer has for the tool, its arguments and its id."""
    return read_call(first_of(call, CALL_NAMES) or otherwise, first_of(call, CALL_ARGUMENTS), first_of(call, CALL_IDS))


def read_call(name: Any, arguments: Any, identity: Any) -> TranscriptCall:
    """A call as it was written down, its arguments read when they are text."""
    tool, key = (name if type(name) is str else ""), read_identity(identity)
    if type(arguments) is dict:
        return TranscriptCall(ToolCall(tool, arguments, key))
    if type(arguments) is str and arguments:
        value = parse_json(arguments)
        if type(value) is dict or value is None:  # "null" is how some say that there are none
            return TranscriptCall(ToolCall(tool, value or {}, key))
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
    return TranscriptResult(read_identity(identity), name if isinstance(name, str) else "", content or "", failed)


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
    return content[:5].lower() == "error" or _RAISED.match(content) is not None
