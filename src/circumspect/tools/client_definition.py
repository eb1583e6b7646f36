"""client_definition: what a tenant's file says about a tool that its clients run.

name: book_flight
description: Book a flight.
parameters: {type: object, properties: {flight_id: {type: string}}, required: [flight_id]}
returns: {type: object, properties: {booking_id: {type: string}}}
effect: write

A definition may also be copied as OpenAI, Anthropic or MCP write it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, JsonValue

from circumspect.tools.definitions import Definition, check_languages, check_result_schema, check_schema
from circumspect.values import Effect, ToolSpec

_OTHER_NAMES = {"input_schema": "parameters", "inputSchema": "parameters", "outputSchema": "returns"}
_OF_NO_USE = frozenset(
    ("type", "strict", "title", "annotations", "icons", "execution", "_meta", "cache_control", "defer_loading")
)
"""Keys of those formats that say nothing here. A tool's own word on how harmless it is opens no gate."""


class ClientToolDefinition(Definition):
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
    description: str = ""
    parameters: Mapping[str, JsonValue] = Field(default_factory=dict)
    """JSON schema of its arguments."""
    returns: Mapping[str, JsonValue] = Field(default_factory=dict)
    """JSON schema of its results, so that conditions on them are checked."""
    effect: Effect | None = None
    """What a call changes: read, write or destructive. Without it, the policy says so or calls are denied."""
    open_world: bool = False
    """Strangers can write what it returns: a web page, an e-mail."""
    phrases: Mapping[str, str] = Field(default_factory=dict)
    """How to say the call to a person, by language: `{en: "book flight {flight_id}"}`."""

    def to_spec(self) -> ToolSpec:
        return ToolSpec(
            name=self.name,
            description=self.description,
            parameters=self.parameters or {"type": "object", "properties": {}},
            returns=self.returns,
            effect=self.effect,
            open_world=self.open_world,
            client=True,
            phrases=self.phrases,
        )


def check(definition: ClientToolDefinition) -> None:
    """What cannot be used in it. Raises `ConfigError`."""
    check_schema(definition.name, definition.parameters)
    check_result_schema(definition.name, definition.returns)
    check_languages(definition.name, definition.phrases)


def as_we_write_it(data: Any) -> Any:
    """A definition in somebody else's shape, in ours."""
    if not isinstance(data, Mapping):
        return data
    inner = data.get("function")
    if isinstance(inner, Mapping):
        data = {**inner, **{key: value for key, value in data.items() if key != "function"}}
    return {_OTHER_NAMES.get(key, key): value for key, value in data.items() if key not in _OF_NO_USE}


CopiedDefinition = Annotated[
    ClientToolDefinition, BeforeValidator(as_we_write_it, json_schema_input_type=str | ClientToolDefinition)
]
"""One that may be in another shape; in a file, also the path of a JSON file with several."""
