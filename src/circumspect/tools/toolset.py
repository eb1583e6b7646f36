"""Toolset: tools -> the `Tools` port.

A collection with unique names. `specs()` is asked for in every turn, so the mapping is built once and rebuilt only
when a tool shows another spec than before, which happens when its integration is configured or taken away. Its tools
run in threads of their own, so that those of one toolset that hang hold up no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Protocol

from circumspect.errors import ConfigError, ToolError
from circumspect.tools.tool_threads import DaemonThreads, use_threads
from circumspect.values import Json, JsonObject, ToolSpec


class Tool(Protocol):
    """One tool. `call` and `lookup` keep the promises of the `Tools` port and raise nothing but `ToolError`.

    `spec` is read in every turn: it answers at once and returns the same object for as long as nothing changed.
    """

    @property
    def spec(self) -> ToolSpec: ...

    async def call(self, arguments: JsonObject, key: str) -> Json: ...

    async def lookup(self, arguments: JsonObject, key: str) -> Json | None: ...


class Toolset:
    """Tools by name, ready to be given to an agent."""

    def __init__(self, tools: Iterable[Tool] = (), threads: DaemonThreads | None = None) -> None:
        self._threads = threads or DaemonThreads()
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            spec = getattr(tool, "spec", None)
            if not isinstance(spec, ToolSpec):
                raise ConfigError(
                    f"{getattr(tool, '__name__', repr(tool))} is not a tool.",
                    fix="Decorate the function with @tool before putting it into a toolset.",
                )
            if spec.name in self._tools:
                raise ConfigError(
                    f"There are two tools named '{spec.name}'.",
                    fix="Give one of them another name, for example @tool(name=...).",
                )
            self._tools[spec.name] = tool
        self._specs = self._read()

    def _read(self) -> Mapping[str, ToolSpec]:
        return MappingProxyType({name: tool.spec for name, tool in self._tools.items()})

    def specs(self) -> Mapping[str, ToolSpec]:
        if any(self._specs[name] is not tool.spec for name, tool in self._tools.items()):
            self._specs = self._read()
        return self._specs

    async def call(self, name: str, arguments: Mapping[str, Json], key: str) -> Json:
        with use_threads(self._threads):
            return await self._get_tool(name).call(arguments, key)

    async def lookup(self, name: str, arguments: Mapping[str, Json], key: str) -> Json | None:
        with use_threads(self._threads):
            return await self._get_tool(name).lookup(arguments, key)

    def _get_tool(self, name: str) -> Tool:
        tool = self._tools.get(name)
        if tool is None:
            raise ToolError(f"There is no tool named '{name}'.")
        if not tool.spec.configured:
            raise ToolError(f"The tool '{name}' is not configured.", fix="Set up its integration first.")
        return tool
