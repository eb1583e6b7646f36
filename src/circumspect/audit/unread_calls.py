"""Signs of a tool call in a conversation from which none was read, so that silence is never taken for a pass."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

_SIGNS = re.compile(
    rb'\\*"(?:tool_calls|toolCalls|tool_uses|toolInvocations|function_calls)\\*":\s?\[\s?\{'
    rb'|\\*"(?:function_call|functionCall|toolUse|tool_call|toolCall|toolInvocation)\\*":\s?\{'
    rb'|\\*"type\\*":\s?\\*"(?:tool_use|tool_call|tool-call|function_call|mcp_call|toolCall)\\*"'
    rb'|\\*"method\\*":\s?\\*"tools/call\\*"'
    rb'|\\*"(?:toolCallId|tool_call_id|tool_use_id|toolUseId|tool_name|toolName)\\*":\s?\\*"\w'
)
_OWN = frozenset(("messages", "tools", "label", "meta", "proposal", "untrusted_tools"))


def find_unread_call(messages: Sequence[Any], record: Mapping[str, Any]) -> tuple[str, int] | None:
    """Where a call seems to be, in words and by message (-1: beside the messages); None without any sign."""
    for index, message in enumerate(messages):
        is_users = isinstance(message, Mapping) and message.get("role") == "user" and "tool_calls" in message
        # A user's own tools are a simulation's, and no calls of the agent.
        if not is_users and _has_sign(message):
            return "the message seems to hold a tool call that could not be read", index
    for key, value in record.items():
        if key not in _OWN and value is not messages and isinstance(value, Mapping | list | str) and _has_sign(value):
            return f"{key[:40]!r} seems to hold a tool call that could not be read", -1
    return None


def _has_sign(value: Any) -> bool:
    try:
        return _SIGNS.search(orjson.dumps(value, default=str)) is not None
    except TypeError:
        return False


def describe_record(value: Any) -> str:
    """What a record that nobody recognises looks like, in a few words."""
    if not isinstance(value, Mapping):
        return f"a conversation must be an object, not {type(value).__name__}"
    keys = ", ".join(str(key)[:40] for key in list(value)[:8])
    more = f" and {len(value) - 8} more" if len(value) > 8 else ""
    kind = next((f"; its {key} is {value[key]!r:.60}" for key in ("object", "type", "kind") if key in value), "")
    sign = "; it seems to hold tool calls" if _has_sign(value) else ""
    return f"no messages and no known format (members: {keys or 'none'}{more}{kind}{sign})"
