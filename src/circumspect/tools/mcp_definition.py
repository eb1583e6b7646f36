"""mcp_definition: what a tenant's file says about an MCP server, checked when it is loaded.

name: crm
url: https://mcp.example.com/mcp                # or command: npx, args: [-y, some-server]
headers: {Authorization: {secret: crm_header}}  # or env: {CRM_TOKEN: {secret: crm_token}}
prefix: crm_
allow: [find_customer, add_note]
tools: {find_customer: {effect: read}, add_note: {effect: write, phrases: {en: "add a note to {customer}"}}}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from circumspect.tools.definitions import Definition, Seconds, Secret
from circumspect.values import Effect


class McpToolSettings(Definition):
    """What the owner of the tenant says about one of the server's tools, under the server's name for it."""

    effect: Effect | None = None
    recovery: Literal["keyed", "blind"] = "blind"
    """`keyed`: the server honours the key in `_meta` ("circumspect/idempotency-key")."""
    timeout: Seconds | None = None
    open_world: bool | None = None
    phrases: Mapping[str, str] = Field(default_factory=dict)


class McpDefinition(Definition):
    """A server: a `command` that is run here, or a `url`."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,32}$")]
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str | Secret] = Field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str | Secret] = Field(default_factory=dict)
    prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{0,32}$")] = ""
    allow: tuple[str, ...] | None = None
    """Left out: every tool of the server that is not under `deny`."""
    deny: tuple[str, ...] = ()
    tools: Mapping[str, McpToolSettings] = Field(default_factory=dict)
    open_world: bool = True
    """Whether results may hold text by strangers. A server's word that they do not is not taken."""
    timeout: Seconds = 30.0
    connect_timeout: Seconds = 20.0
    max_bytes: Annotated[int, Field(gt=0)] = 2_000_000

    @model_validator(mode="after")
    def _one_transport(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("give a command or a url")
        if self.url is not None and (self.args or self.env or self.cwd):
            raise ValueError("args, env and cwd belong to a command")
        if self.command is not None and self.headers:
            raise ValueError("headers belong to a url")
        return self

    def secrets(self) -> Iterator[str]:
        for value in (*self.env.values(), *self.headers.values()):
            if isinstance(value, Secret):
                yield value.secret

    def wants(self, tool: str) -> bool:
        return tool not in self.deny and (self.allow is None or tool in self.allow)
