"""A call as somebody else's agent proposes it -> a `ToolCall` of our own.

What comes in is copied: the caller may change its own afterwards, and what was ruled on stays what it was. What a model
wrote and nobody can read is a ruling for that model; what no model could have written is a mistake of the caller's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from circumspect.audit.transcript_steps import CALL_ARGUMENTS, CALL_IDS, CALL_NAMES, first_of, read_call
from circumspect.errors import ConfigError
from circumspect.gating.plain_values import to_plain
from circumspect.schema_bounds import MOST_ARGUMENTS, are_too_large
from circumspect.values import Json, ToolCall

DEEPEST = 64
_PLAIN = frozenset((str, int, bool, type(None)))


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
        name, given, identity = split_call(_as_mapping(call))
    if type(identity) is int:  # JSON-RPC numbers its calls
        identity = str(identity)
    if not isinstance(name, str) or not name:
        raise _refuse(call)
    if not isinstance(identity, str):
        raise _refuse_part("id", identity, "Give the id of the call as text.")
    if type(given) is dict or isinstance(given, Mapping):
        try:
            return _check_size(ToolCall(name, _copy_named(given), identity))
        except RecursionError:
            raise UnreadableCall(ToolCall(name, id=identity), "the arguments are nested too deeply") from None
        except OverflowError:
            raise UnreadableCall(ToolCall(name, id=identity), "a number in them is none that JSON has") from None
    if isinstance(given, int | float | Sequence) and not isinstance(given, str | bytes):
        raise UnreadableCall(ToolCall(name, id=identity), read_call(name, given, identity).problem)
    if not isinstance(given, str):
        raise _refuse_part("arguments", given, "Give them as a dict by name, or as the JSON that the model wrote.")
    read = read_call(name, given, identity)
    if problem := read.problem or _find_repeated(given):
        raise UnreadableCall(ToolCall(name, id=identity), problem)
    return read_proposal(read.call)


def split_call(call: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """The name, the arguments and the id of a call, whatever its writer calls them."""
    inner = _find_inside(call)
    named = call if inner is None else inner
    given = first_of(named, CALL_ARGUMENTS)
    if "custom" in call and inner is call["custom"]:
        given = {"input": given}
    # A call of the Responses API has two ids: results refer to `call_id`.
    identity = first_of(call, CALL_IDS) or first_of(named, CALL_IDS) or ""
    return first_of(named, ("tool", *CALL_NAMES)), {} if given is None else given, identity


_INSIDE = ("function", "toolUse", "functionCall", "function_call", "custom")


def _find_inside(call: Mapping[str, Any]) -> Mapping[str, Any] | None:
    for key in _INSIDE:
        if key in call and isinstance(found := call[key], Mapping):
            return found
    return None


def _find_repeated(written: str) -> str:
    """A name that stands twice says two things, of which nobody knows which was meant."""

    def check(pairs: list[tuple[str, Any]]) -> None:
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):
            raise ValueError

    try:
        json.loads(written or "{}", object_pairs_hook=check)
    except ValueError:
        return "a name stands in the arguments twice"
    except RecursionError:
        return "the arguments are nested too deeply"
    return ""


def _check_size(call: ToolCall) -> ToolCall:
    if are_too_large(call.arguments):
        problem = f"the arguments have more than {MOST_ARGUMENTS:,} parts: give fewer at once"
        raise UnreadableCall(ToolCall(call.tool, id=call.id), problem)
    return call


def copy_call(call: ToolCall) -> ToolCall:
    """The same call, in nobody else's hands."""
    made = ToolCall(call.tool, copy_arguments(call), call.id)
    if "hash" in call.__dict__:
        made.__dict__["hash"] = call.hash
    return made


def copy_arguments(call: ToolCall) -> dict[str, Json]:
    return {name: value if type(value) in _PLAIN else _copy(value, 0) for name, value in call.arguments.items()}


def _copy_named(given: Mapping[Any, Any]) -> dict[str, Any]:
    return {
        key if type(key) is str else str(key): value if type(value) in _PLAIN else _copy(value, 0)
        for key, value in given.items()
    }


def _copy(value: Any, depth: int) -> Any:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, float):
        return _require_finite(value)
    if depth > DEEPEST:
        raise RecursionError
    if isinstance(value, Mapping):
        return {str(key): _copy(item, depth + 1) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_copy(item, depth + 1) for item in value]
    if isinstance(value, str | int):
        return value
    raise ConfigError(
        f"The arguments of a call are JSON, and a {type(value).__name__} is none.", fix="Give plain values."
    )


def _require_finite(value: float) -> float:
    """JSON has no other: on its way to a function it would become null, or a number that nobody was shown."""
    if not isfinite(value):
        raise OverflowError
    return value


def _as_mapping(call: Any) -> Mapping[str, Any]:
    if type(call) is dict:
        return call
    made = call if isinstance(call, Mapping) else to_plain(call)
    if not isinstance(made, Mapping):
        raise _refuse(call)
    return made


def _refuse_part(part: str, given: Any, fix: str) -> ConfigError:
    return ConfigError(f"The {part} of a call cannot be read from a {type(given).__name__}.", fix=fix)


def _refuse(call: Any) -> ConfigError:
    return ConfigError(
        f"A call cannot be read from a {type(call).__name__} like this.",
        fix="Give a ToolCall, what a provider's answer holds, or a dict with name and arguments.",
    )
