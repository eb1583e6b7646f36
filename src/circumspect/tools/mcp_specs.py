"""mcp_specs: what an MCP server lists -> what we know about its tools.

A server's annotations are hints by somebody who may not be trusted. They can only make a call stricter: a tool that
says it destroys counts as destroying; one that says it merely reads has said nothing. And they count only where the
tenant (in the definition) or the policy file (`declared`) says what the tool does. Otherwise the effect stays
undeclared, and policy refuses the tool until somebody covers it.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import get_args

from mcp_types import Tool, ToolAnnotations

from circumspect.errors import ConfigError
from circumspect.tools.definitions import check_result_schema, check_schema, hide_secrets, words
from circumspect.tools.mcp_definition import McpDefinition, McpToolSettings
from circumspect.values import Effect, JsonObject, ToolSpec

LONGEST_DESCRIPTION = 4_000

logger = logging.getLogger(__name__)


def specs_of(
    definition: McpDefinition, listed: Iterable[Tool], declared: Callable[[str], bool], hidden: Sequence[str]
) -> dict[str, ToolSpec]:
    """By the server's own names. A tool that cannot be used safely is left out, and the log says why."""
    wanted = [one for one in listed if definition.wants(one.name)]
    names = Counter(_name(definition, one.name) for one in wanted)
    specs: dict[str, ToolSpec] = {}
    for one in wanted:
        name = _name(definition, one.name)
        try:
            if names[name] > 1:
                raise ConfigError(f"two of its tools would be named '{name}'.")
            specs[one.name] = _spec(definition, one, name, declared(name), hidden)
        except ConfigError as error:
            logger.warning("%s: a tool is left out: %s", definition.name, words(error.problem, hidden))
    for missing in sorted({*(definition.allow or ()), *definition.tools} - {one.name for one in wanted}):
        logger.warning("%s has no tool '%s', which its definition names", definition.name, missing)
    return specs


def _name(definition: McpDefinition, remote: str) -> str:
    return definition.prefix + re.sub(r"[./]", "_", remote)


def _spec(definition: McpDefinition, listed: Tool, name: str, declared: bool, hidden: Sequence[str]) -> ToolSpec:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise ConfigError(f"'{name[:80]}' cannot be the name of a tool.")
    check_schema(name, listed.input_schema)
    said = definition.tools.get(listed.name, McpToolSettings())
    return ToolSpec(
        name=name,
        description=hide_secrets(listed.description or listed.title or "", hidden)[:LONGEST_DESCRIPTION],
        parameters=listed.input_schema,
        returns=_read_result_schema(listed, name, hidden),
        effect=_effect(said.effect, declared, listed.annotations),
        recovery=said.recovery,
        timeout=said.timeout or definition.timeout,
        open_world=definition.open_world if said.open_world is None else said.open_world,
        phrases=dict(said.phrases),
    )


def _read_result_schema(listed: Tool, name: str, hidden: Sequence[str]) -> JsonObject:
    """None that cannot be used costs the tool: it is only there to check conditions against."""
    try:
        check_result_schema(name, listed.output_schema or {})
    except ConfigError as error:
        logger.warning("the schema of results is left out: %s", words(error.problem, hidden))
        return {}
    return listed.output_schema or {}


def _effect(said: Effect | None, declared: bool, hints: ToolAnnotations | None) -> Effect | None:
    """The stricter of what the tenant says and what the server hints, where anybody but the server says anything."""
    if said is None and not declared:
        return None
    hinted: Effect | None = None
    if hints and hints.destructive_hint:
        hinted = "destructive"
    elif hints and hints.read_only_hint is False:
        hinted = "write"
    return max((one for one in (said, hinted) if one), key=get_args(Effect).index, default=None)
