"""Tools that a form describes: an HTTP request, or an MCP server behind an address. Never code, never a command.

A secret is sealed under a name made of the tool's; the file names it, as a file that was written by hand would.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson
from pydantic import ValidationError

from circumspect.errors import ConfigError
from circumspect.server.problems import HttpProblem
from circumspect.server.tenants.tenant_file import ToolSection
from circumspect.tools.templates import names_in, url_names
from circumspect.values import Json, JsonObject

SectionDocument = dict[str, Any]
"""One item of a tenant file's `tools`, as JSON."""


def write_http_section(
    name: str, description: str, effect: str, method: str, url: str, body: str, parameters: str, secret: bool
) -> SectionDocument:
    """Without parameters of their own, one that is text for each placeholder. Raises `HttpProblem`."""
    sent = _parse("body", body)
    request: JsonObject = {"method": method, "url": url, **({} if sent is None else {"json": sent})}
    schema = _parse("parameters", parameters)
    definition: dict[str, Json] = {
        "name": name,
        "description": description,
        "effect": effect,
        "request": request,
        "parameters": _derive_parameters(url, sent) if schema is None else schema,
    }
    if secret:
        definition["auth"] = [{"bearer": {"secret": name_secret(name)}}]
    return require_harmless({"http": definition})


def write_mcp_section(name: str, url: str, prefix: str, secret: bool) -> SectionDocument:
    definition: dict[str, Json] = {"name": name, "url": url, **({"prefix": prefix} if prefix else {})}
    if secret:
        definition["headers"] = {"Authorization": {"secret": name_secret(name)}}
    return require_harmless({"mcp": definition})


def require_harmless(section: Mapping[str, Any]) -> SectionDocument:
    """The section, if it is one that a form may write: whoever can fill in a form runs nothing on the server."""
    try:
        read = ToolSection.model_validate(section)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        at = ".".join(str(part) for part in first["loc"][1:])
        raise _refuse(f"{at}: {first['msg']}" if at else first["msg"]) from None
    if not is_editable(read):
        raise _refuse("Only HTTP tools and MCP servers with an address are added here.")
    return dict(section)


def is_editable(section: ToolSection) -> bool:
    return section.http is not None or (section.mcp is not None and section.mcp.url is not None)


def find_section(sections: Sequence[Mapping[str, Any]], name: str) -> SectionDocument | None:
    """The one of that name among those that a form may write."""
    for one in sections:
        read = ToolSection.model_validate(one)
        definition = read.http or read.mcp
        if definition is not None and definition.name == name and is_editable(read):
            return dict(one)
    return None


def name_secret(tool: str) -> str:
    return f"{tool[:58]}_token"


def require_unused_names(document: Json, secrets: Collection[str]) -> None:
    """A new secret takes the place of none that the file names: it may sign the tokens of end users."""
    taken = sorted(_find_secret_names(document) & set(secrets))
    if taken:
        raise HttpProblem(
            422, "invalid", f"There is a secret '{taken[0]}' already, and it is in use.", fix="Choose another name."
        )


def _find_secret_names(document: Json) -> set[str]:
    if isinstance(document, Mapping):
        named = document.get("secret")
        found = {named} if isinstance(named, str) else set()
        return found.union(*map(_find_secret_names, document.values()))
    if isinstance(document, list | tuple):
        return set().union(*map(_find_secret_names, document))
    return set()


def _derive_parameters(url: str, body: Json) -> JsonObject:
    try:
        every, needed = url_names(url)
    except ConfigError as problem:
        raise HttpProblem(422, "invalid", problem.problem, fix=problem.fix) from None
    inside = names_in(body) if body is not None else set()
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in sorted(every | inside)},
        "required": sorted(needed | inside),
    }


def _parse(what: str, text: str) -> Json:
    if not text.strip():
        return None
    try:
        found: Json = orjson.loads(text)
    except ValueError:
        raise _refuse(f"What stands under {what} is no JSON.") from None
    return found


def _refuse(problem: str) -> HttpProblem:
    return HttpProblem(422, "invalid", problem, fix="Read: circumspect docs tools")
