"""Tool definitions as agents are given them (OpenAI, Responses, Anthropic, MCP, tau2-bench) as our `ToolSpec`s.

A transcript may hold its tools or name a file beside it (`tools.json`, `tools.json#key`). A file is looked for in the
transcript's own folder and below, nowhere else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from circumspect.errors import ConfigError
from circumspect.schema_bounds import measure_schema
from circumspect.values import Effect, JsonObject, ToolSpec

Specs = Mapping[str, ToolSpec]


class BadTools(ValueError):
    """The tool definitions cannot be used; the message says why."""


class Toolbox:
    """Tool definitions, each read once however many conversations use them. Holds the last few hundred sets."""

    def __init__(self, limit: int = 256) -> None:
        self.limit = limit
        self.known: dict[object, Specs] = {}
        self.files: dict[Path, Any] = {}

    def specs(self, tools: Any, folder: Path | None) -> Specs | None:
        """The specs of what a transcript says about its tools; None when it says nothing."""
        if tools is None:
            return None
        if isinstance(tools, str):
            return self._get_cached((str(folder), tools), lambda: self._from_file(tools, folder))
        data = orjson.dumps(tools, option=orjson.OPT_NON_STR_KEYS)
        key = hashlib.blake2b(data, digest_size=16).digest()
        return self._get_cached(key, lambda: specs_of(tools))

    def _get_cached(self, key: object, make: Any) -> Specs:
        if key not in self.known:
            if len(self.known) >= self.limit:
                self.known.pop(next(iter(self.known)))
            self.known[key] = make()
        return self.known[key]

    def _from_file(self, reference: str, folder: Path | None) -> Specs:
        name, _, key = reference.partition("#")
        if folder is None:
            raise BadTools(f"tools are named by a file ({name}), and there is no folder to look in")
        if "\0" in name:
            raise BadTools("the name of the tools file has a NUL byte in it")
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise BadTools(f"the tools file {name} is outside the transcript's folder")
        if path not in self.files:
            self.files.clear()
            try:
                self.files[path] = orjson.loads(path.read_bytes())
            except OSError as problem:
                raise BadTools(f"the tools file {name} cannot be read: {problem.strerror}") from None
            except orjson.JSONDecodeError as problem:
                raise BadTools(f"the tools file {name} is not JSON: {problem}") from None
        value = self.files[path]
        if key:
            if not isinstance(value, Mapping) or key not in value:
                raise BadTools(f"the tools file {name} has no entry {key!r}")
            value = value[key]
        return specs_of(value)


def specs_of(tools: Any) -> Specs:
    """Definitions in any of the known shapes, by name."""
    if isinstance(tools, Mapping):
        tools = list(tools.values()) if all(isinstance(one, Mapping) for one in tools.values()) else None
    if not isinstance(tools, list):
        raise BadTools("tools must be a list of definitions")
    return {spec.name: spec for spec in _specs(tools)}


def _specs(tools: list[Any]) -> Iterator[ToolSpec]:
    for at, tool in enumerate(tools):
        if not isinstance(tool, Mapping):
            raise BadTools(f"tool {at} is not an object")
        inner = tool.get("function")
        function: Mapping[str, Any] = inner if isinstance(inner, Mapping) else tool
        name = function.get("name")
        if not isinstance(name, str) or not name:
            if isinstance(tool.get("type"), str) and tool["type"] != "function":
                continue  # a provider's built-in tool: it has no name and no schema
            raise BadTools(f"tool {at} has no name")
        schema: Any = next(
            (function[key] for key in ("parameters", "input_schema", "inputSchema", "params") if function.get(key)), {}
        )
        results: Any = next((function[key] for key in ("returns", "outputSchema") if function.get(key)), {})
        notes = function.get("annotations") or tool.get("annotations") or {}
        notes = notes if isinstance(notes, Mapping) else {}
        yield ToolSpec(
            name,
            str(function.get("description") or function.get("doc") or ""),
            _measured(name, "parameters", schema),
            effect=_effect(notes),
            open_world=notes.get("openWorldHint") is True,
            returns=_measured(name, "results", results),
        )


def _measured(tool: str, what: str, schema: Any) -> JsonObject:
    """The schema, which anybody may have written: one that would make too much work is not taken in."""
    if not isinstance(schema, Mapping):
        return {}
    try:
        measure_schema(f"the {what} of tool '{tool[:80]}'", schema)
    except ConfigError as problem:
        raise BadTools(problem.problem.removesuffix(".")) from None
    return schema


def _effect(notes: Mapping[str, Any]) -> Effect | None:
    if notes.get("destructiveHint") is True and notes.get("readOnlyHint") is not True:
        return "destructive"
    if notes.get("readOnlyHint") is True:
        return "read"
    return "write" if notes.get("readOnlyHint") is False else None
