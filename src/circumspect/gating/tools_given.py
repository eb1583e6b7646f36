"""Tools as whoever opens a gate has them -> specs: functions of their own, or definitions that a model gets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from circumspect.audit.tool_defs import BadTools, specs_of
from circumspect.errors import ConfigError
from circumspect.policy.validators import find_validator
from circumspect.values import ToolSpec


def read_tools(tools: Iterable[Any] | Mapping[str, ToolSpec]) -> dict[str, ToolSpec]:
    from circumspect.tools import FunctionTool, tool

    found: dict[str, ToolSpec] = {}
    definitions: list[Any] = []
    for one in tools.values() if isinstance(tools, Mapping) else tools:
        if isinstance(one, ToolSpec):
            found[one.name] = one
        elif isinstance(one, Mapping):
            definitions.append(one)
        elif isinstance(one, FunctionTool) or hasattr(one, "spec"):
            found[one.spec.name] = one.spec
        elif hasattr(one, "model_dump"):
            definitions.append(one.model_dump())
        elif callable(one):
            spec = tool(one).spec
            found[spec.name] = spec
        else:
            raise ConfigError(f"{one!r} is no tool.", fix="Give functions, or tool definitions as dicts.")
    try:
        # What a definition says of itself counts only where it makes things stricter: anybody may have written it.
        for name, spec in specs_of(definitions).items():
            found[name] = spec if spec.effect == "destructive" else replace(spec, effect=None)
    except BadTools as problem:
        raise ConfigError(f"The tools cannot be read: {problem}.", fix="Give them as the model gets them.") from None
    for spec in found.values():
        find_validator(spec)
    return {name: spec.for_client for name, spec in found.items()}
