"""Configuration for MCP clients: how the gateway is started or reached, as each client's file wants it.

A secret is named and not written, in the client's own way of naming one, unless somebody asks for it: these files are
committed, synchronised and pasted into chats.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from circumspect.errors import ConfigError

if TYPE_CHECKING:
    from circumspect.server.config import SettingsReading

API_KEY, DATABASE = "CIRCUMSPECT_API_KEY", "CIRCUMSPECT_DATABASE"


@dataclass(frozen=True)
class McpClient:
    """One client's dialect."""

    file: str
    """Where its configuration belongs, for people."""
    secret: Callable[[str], str]
    """How it names a variable whose value is not in the file."""
    servers: str = "mcpServers"
    typed: bool = True
    """It wants to be told the kind of transport."""
    bridged: bool = False
    """It starts programs only, so that a URL needs one that forwards to it."""
    asks: bool = False
    """It asks its user for each secret once, and keeps it."""


CLIENTS: Mapping[str, McpClient] = {
    "claude-code": McpClient(".mcp.json in the project", lambda name: f"${{{name}}}"),
    "claude-desktop": McpClient(
        "claude_desktop_config.json (Settings, Developer)", lambda name: f"YOUR_{name}", typed=False, bridged=True
    ),
    "cursor": McpClient(".cursor/mcp.json", lambda name: f"${{env:{name}}}", typed=False),
    "vscode": McpClient(".vscode/mcp.json", lambda name: f"${{input:{name}}}", servers="servers", asks=True),
}


@dataclass
class SecretPlaces:
    """Names a secret the client's way, or gives its value; remembers which were named."""

    client: McpClient
    written: bool
    named: list[str] = field(default_factory=list)

    def put(self, name: str, value: str | None) -> str:
        if not self.written:
            self.named.append(name)
            return self.client.secret(name)
        if value:
            return value
        raise ConfigError(f"{name} is not set.", fix=f"Set it, or leave --with-secrets out and get a place for {name}.")


def make_config(client: McpClient, name: str, server: Mapping[str, Any], secrets: SecretPlaces) -> dict[str, Any]:
    """The whole file, with this one server in it."""
    config: dict[str, Any] = {client.servers: {name: server}}
    if client.asks and secrets.named:
        asked = [{"id": one, "type": "promptString", "description": one, "password": True} for one in secrets.named]
        config = {"inputs": asked, **config}
    return config


def describe_program(arguments: list[str], reading: SettingsReading, secrets: SecretPlaces) -> dict[str, Any]:
    """A gateway that the client starts: with what this command line, this directory and this environment say."""
    given = ["-m", "circumspect", "mcp", *arguments]
    if reading.file:
        given += ["--config", str(reading.file.resolve())]
    database = _find_here(reading.settings.database)
    if database:
        given += ["--database", database]
    variables = {
        variable: secrets.put(variable, value) if hidden else value
        for variable, value, hidden in _list_variables(reading)
        if not (database and variable == DATABASE)
    }
    server: dict[str, Any] = {"type": "stdio"} if secrets.client.typed else {}
    server |= {"command": sys.executable, "args": given}
    return server | {"env": variables} if variables else server


def _list_variables(reading: SettingsReading) -> Iterator[tuple[str, str, bool]]:
    """What is set in this environment or on this command line: the variable, its value, whether that is a secret."""
    from circumspect.server.config import HIDDEN, URLS, without_password
    from circumspect.settings_places import PREFIX

    for setting, origin in reading.origins.items():
        variable = f"{PREFIX}{setting.upper()}"
        value = os.environ.get(variable) if origin == "environment" else getattr(reading.settings, setting)
        if origin in ("environment", "option") and value:
            yield variable, value, setting in HIDDEN or (setting in URLS and without_password(value) != value)


def _find_here(database: str) -> str:
    """An SQLite file by its whole path, since the client starts its programs elsewhere; nothing for a server."""
    kind, _, path = database.partition(":///")
    return f"{kind}:///{Path(path).resolve()}" if kind == "sqlite" and path else ""


def describe_address(url: str, secrets: SecretPlaces) -> dict[str, Any]:
    """A gateway that a server has, at this URL."""
    url = url if url.rstrip("/").endswith("/mcp") else f"{url.rstrip('/')}/mcp"
    key = f"Bearer {secrets.put(API_KEY, os.environ.get(API_KEY))}"
    if secrets.client.bridged:
        # From a variable, because on Windows an argument with a space in it is cut in two.
        forward = ["-y", "mcp-remote", url, "--header", "Authorization:${AUTHORIZATION}"]
        return {"command": "npx", "args": forward, "env": {"AUTHORIZATION": key}}
    server: dict[str, Any] = {"type": "http"} if secrets.client.typed else {}
    return server | {"url": url, "headers": {"Authorization": key}}
