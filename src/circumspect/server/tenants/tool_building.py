"""Tool sections of a tenant and a ToolContext -> the tools themselves, ready to be called.

A Python tool is found by its name, an HTTP tool made of its definition, an MCP server connected. Somebody has to close
what was opened: `TenantTools.close`.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from circumspect.errors import ConfigError
from circumspect.policy.keys.tool_policy import effect_of
from circumspect.policy.policy_file import Policy
from circumspect.policy.validators import find_validator
from circumspect.server.tenants.tenant_file import ToolSection
from circumspect.tools.tool_context import ToolContext
from circumspect.tools.tool_threads import DaemonThreads, use_threads
from circumspect.tools.toolset import Tool, Toolset
from circumspect.values import Json, ToolSpec


class TenantTools:
    """The `Tools` port over everything that a tenant has. Whoever can still call a tool holds this object."""

    def __init__(self, toolset: Toolset, opened: AsyncExitStack, tests: Toolset | None = None) -> None:
        self._toolset, self.opened = toolset, opened
        self.tests = tests or Toolset(())
        """Those of the tools that have a test back end, as they are called there."""

    def specs(self) -> Mapping[str, ToolSpec]:
        return self._toolset.specs()

    async def call(self, name: str, arguments: Mapping[str, Json], key: str) -> Json:
        return await self._toolset.call(name, arguments, key)

    async def lookup(self, name: str, arguments: Mapping[str, Json], key: str) -> Json | None:
        return await self._toolset.lookup(name, arguments, key)


async def build(
    sections: Iterable[ToolSection],
    context: ToolContext,
    *,
    policy: Policy,
    allow: Sequence[str] = (),
    threads: DaemonThreads | None = None,
) -> TenantTools:
    """Raises a `CircumspectError` when anything of it cannot be had; what was opened until then is closed again.

    `threads` are the tenant's own: neither its tools nor what makes them can hold up anybody else.
    """
    threads, sections = threads or DaemonThreads(), tuple(sections)
    async with AsyncExitStack() as opening:
        found: list[Tool] = []
        with use_threads(threads):
            for section in sections:
                found += await tools_of(section, context, opening, policy=policy, allow=allow)
        toolset = Toolset(found, threads)
        for spec in toolset.specs().values():
            find_validator(spec)
        return TenantTools(toolset, opening.pop_all(), Toolset(tools_at_test(sections, context, allow), threads))


def tools_at_test(sections: Iterable[ToolSection], context: ToolContext, allow: Sequence[str]) -> list[Tool]:
    """Nothing of them is connected before it is called."""
    from circumspect.tools.http_tool import HttpTool

    found = (one.http.at_test() for one in sections if one.http is not None)
    return [HttpTool(one, secrets=context.secrets.__getitem__, allow=allow) for one in found if one is not None]


def read_client_specs(sections: Iterable[ToolSection]) -> dict[str, ToolSpec]:
    """The tools that clients run, as the tenant declares them."""
    return {one.client.name: one.client.to_spec() for one in sections if one.client is not None}


async def tools_of(
    section: ToolSection,
    context: ToolContext,
    opening: AsyncExitStack,
    *,
    policy: Policy,
    allow: Sequence[str] = (),
) -> Sequence[Tool]:
    """The tools of one section; none of one that clients run. What has to be closed again is put on the stack.

    The policy is asked for one thing: does it say what a tool does? Where it does not, an MCP server's own word cannot
    make a tool harmless.
    """
    if section.python is not None:
        return await python_tools(section.python, replace(context, options=section.options))
    if section.client is not None:
        return ()
    if section.http is not None:
        from circumspect.tools.http_tool import HttpTool

        return (HttpTool(section.http, secrets=context.secrets.__getitem__, allow=allow),)
    if section.business is not None:
        from circumspect.business.factory import list_business_tools

        return await asyncio.to_thread(list_business_tools, section.business.to_config(context, allow))
    from circumspect.tools.mcp import McpTools

    assert section.mcp is not None
    server = McpTools(
        section.mcp,
        secrets=context.secrets.__getitem__,
        declared=lambda name: effect_of(None, policy.general(name)) is not None,
        allow=allow,
    )
    return (await opening.enter_async_context(server)).tools()


# --- Python ---------------------------------------------------------------------------------------------------------


async def python_tools(name: str, context: ToolContext) -> Sequence[Tool]:
    """What `package.module:name` stands for: a tool, several of them, or a factory that makes them of the context."""
    found = import_object(name)
    if not is_factory(found):
        return _tools(found, name)
    try:
        waits = inspect.iscoroutinefunction(found)  # made here: what a thread makes for nobody is awaited by nobody
        made = found(context) if waits else await asyncio.to_thread(found, context)
        return _tools(await made if isinstance(made, Awaitable) else made, name)
    except ConfigError:
        raise
    except (Exception, SystemExit) as error:
        # Only the kind of error: its text may hold what the factory was given.
        raise ConfigError(
            f"{name} could not make its tools: {type(error).__name__} in {_where(error)}.",
            fix="Run it by itself with a ToolContext, and correct it.",
        ) from error


def import_object(name: str) -> Any:
    """Import it. A module that cannot be imported, or has no such name, is a `ConfigError`.

    Modules in the working directory are found too, after all others, as a command's script would not find them.
    """
    module, _, path = name.partition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    try:
        found: Any = import_module(module)
    except ModuleNotFoundError as missing:
        what = "" if missing.name and f"{module}.".startswith(f"{missing.name}.") else f" (it needs {missing.name})"
        raise ConfigError(
            f"There is no Python module '{module}'{what}.",
            fix="Run this in the folder that the module is in, install it, or set PYTHONPATH.",
        ) from None
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"The Python module '{module}' cannot be imported: {type(error).__name__} in {_where(error)}.",
            fix=f"Try it: python -c 'import {module}'",
        ) from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise ConfigError(f"'{module}' has no '{path}'.", fix=_near(part, found))
        found = getattr(found, part)
    return found


def is_factory(found: Any) -> bool:
    """A function of one parameter, named `context` or annotated `ToolContext`. A tool is none."""
    if isinstance(getattr(found, "spec", None), ToolSpec) or not callable(found):
        return False
    try:
        parameters = list(inspect.signature(found).parameters.values())
    except (TypeError, ValueError):
        return False
    needed = [one for one in parameters if one.default is one.empty and one.kind not in (one.VAR_KEYWORD,)]
    if len(needed) != 1:
        return False
    annotation = needed[0].annotation
    said = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return needed[0].name == "context" or said.rpartition(".")[2] == "ToolContext"


def _tools(found: Any, name: str) -> Sequence[Tool]:
    if isinstance(getattr(found, "spec", None), ToolSpec):
        return (found,)
    many = list(found) if isinstance(found, Iterable) and not isinstance(found, str | bytes | Mapping) else None
    if many is None or not all(isinstance(getattr(one, "spec", None), ToolSpec) for one in many):
        fix = (
            "Decorate it with @tool; or, if it makes tools, let it take one parameter, `context: ToolContext`."
            if callable(found)
            else "Name a tool, a list of tools, or a function that takes a ToolContext and returns tools."
        )
        raise ConfigError(f"{name} is neither a tool nor makes any.", fix=fix)
    return many


def _near(word: str, found: Any) -> str:
    from circumspect.policy.keys.findings import suggest_word

    return (
        suggest_word(word, [name for name in dir(found) if not name.startswith("_")]) or "Check the name; case matters."
    )


def _where(error: BaseException) -> str:
    """The file's name and line where it happened, without the path."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return "an unknown place"
    return f"{last.tb_frame.f_code.co_filename.replace(chr(92), '/').rpartition('/')[2]}:{last.tb_lineno}"
