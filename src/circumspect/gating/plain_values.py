"""What people keep as messages and calls -> the plain values that are read: clients' own objects as dicts.

`messages.append(response.choices[0].message)` is how most loops are written, so an object counts as what it dumps to.
A message that is plain already, by far the commonest, is given back as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

DEEPEST = 64
_PLAIN = frozenset((str, int, float, bool, type(None)))
_WHOLE = frozenset((str, type(None)))


def to_plain_message(message: Any) -> Any:
    if type(message) is dict and type(message.get("content")) in _WHOLE:
        calls = message.get("tool_calls")
        if not calls or (type(calls) is list and all(type(one) is dict for one in calls)):
            return message
    return to_plain(message)


def to_plain(value: Any, depth: int = 0) -> Any:
    """Dicts and lists of them as they are, objects as dicts; what is neither stays what it is."""
    if type(value) in _PLAIN:
        return value
    if depth > DEEPEST:
        raise RecursionError
    if isinstance(value, Mapping):
        return {key: to_plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item, depth + 1) for item in value]
    if isinstance(value, type):
        return value
    if callable(dump := getattr(value, "model_dump", None)):
        dumped = dump()
        return to_plain(dumped, depth + 1) if isinstance(dumped, Mapping) else value
    if is_dataclass(value):
        return {one.name: to_plain(getattr(value, one.name), depth + 1) for one in fields(value)}
    return value
