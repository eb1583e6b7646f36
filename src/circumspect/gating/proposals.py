"""A call as somebody else's agent proposes it -> a `ToolCall` of our own.

What comes in is copied: the caller may change its own afterwards, and what was ruled on stays what it was. What a model
wrote and nobody can read is a ruling for that model; what no model could have written is a mistake of the caller's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from circumspect.audit.transcript_steps import read_call
from circumspect.errors import ConfigError
from circumspect.values import Json, ToolCall

DEEPEST = 64


class UnreadableCall(ValueError):
    """The model's own mistake. `call` is what can be said of it."""

    def __init__(self, call: ToolCall, problem: str) -> None:
        super().__init__(problem)
        self.call = call


def read_proposal(call: Any) -> ToolCall:
    """A `ToolCall`, or what a provider's answer holds."""
    name: Any
    given: Any
    identity: Any
    if isinstance(call, ToolCall):
        name, given, identity = call.tool, call.arguments, call.id
    else:
        call = _as_mapping(call)
        inner = call.get("function")
        named: Mapping[str, Any] = inner if isinstance(inner, Mapping) else call
        name = named.get("tool") or named.get("name")
        given = next((named[key] for key in ("arguments", "args", "input") if named.get(key) is not None), {})
        identity = call.get("id") or call.get("call_id") or call.get("tool_call_id") or ""
    if not isinstance(name, str) or not name or not isinstance(identity, str):
        raise _refuse(call)
    if isinstance(given, Mapping):
        try:
            return ToolCall(name, {str(key): _copy(value, 0) for key, value in given.items()}, identity)
        except RecursionError:
            raise UnreadableCall(ToolCall(name, id=identity), "the arguments are nested too deeply") from None
    if not isinstance(given, str):
        raise _refuse(call)
    read = read_call(name, given, identity)
    if read.problem:
        raise UnreadableCall(ToolCall(name, id=identity), read.problem)
    return read_proposal(read.call)


def copy_call(call: ToolCall) -> ToolCall:
    """The same call, in nobody else's hands."""
    made = ToolCall(call.tool, copy_arguments(call), call.id)
    if "hash" in call.__dict__:
        made.__dict__["hash"] = call.hash
    return made


def copy_arguments(call: ToolCall) -> dict[str, Json]:
    return {name: _copy(value, 0) for name, value in call.arguments.items()}


def _copy(value: Any, depth: int) -> Any:
    if depth > DEEPEST:
        raise RecursionError
    if isinstance(value, Mapping):
        return {str(key): _copy(item, depth + 1) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_copy(item, depth + 1) for item in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise ConfigError(
        f"The arguments of a call are JSON, and a {type(value).__name__} is none.", fix="Give plain values."
    )


def _as_mapping(call: Any) -> Mapping[str, Any]:
    if isinstance(call, Mapping):
        return call
    dump = getattr(call, "model_dump", None)
    made = dump() if callable(dump) and not isinstance(call, type) else None
    if not isinstance(made, Mapping):
        raise _refuse(call)
    return made


def _refuse(call: Any) -> ConfigError:
    return ConfigError(
        f"A call cannot be read from a {type(call).__name__} like this.",
        fix="Give a ToolCall, what a provider's answer holds, or a dict with name and arguments.",
    )
