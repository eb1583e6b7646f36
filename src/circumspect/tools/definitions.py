"""definitions: what a tenant's file says about a tool -> checked values. Shared by HTTP tools and MCP servers.

A definition names secrets and never holds one; whoever makes the tool passes in how to look them up. A key that nobody
knows is refused, because a misspelt setting is one that does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from circumspect.errors import ConfigError, ToolError
from circumspect.schema_bounds import measure_schema
from circumspect.tools.tool_errors import brief
from circumspect.values import LANGUAGES, Json, JsonObject

Secrets = Callable[[str], str]
"""The value of a named secret, or KeyError. Asked at the moment of a call, so that a rotated secret is used at once."""

HIDDEN = "[hidden]"
_SHORTEST = 4
"""Shorter values are not struck: that would make nonsense of any text."""


class Definition(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Secret(Definition):
    """`{secret: crm_token}`"""

    secret: Annotated[str, Field(min_length=1)]


ToolName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Seconds = Annotated[float, Field(gt=0, le=600)]
D = TypeVar("D", bound=Definition)


def read(kind: type[D], data: Any) -> D:
    """A definition out of plain data, or `ConfigError` naming the place. Values are not quoted: they may be secret."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the definition"
        name = data.get("name", "") if isinstance(data, Mapping) else ""
        raise ConfigError(
            f"{f'{name}: ' if isinstance(name, str) and name else ''}{place}: {first['msg']}.",
            fix="`circumspect docs tools` says what a definition may hold.",
        ) from None


def no_secrets(name: str) -> str:
    raise KeyError(name)


def reveal(secrets: Secrets, name: str, owner: str) -> str:
    try:
        return secrets(name)
    except KeyError:
        raise ToolError(
            f"{owner} needs the secret '{name}', which is not set.", fix="Set it for this tenant."
        ) from None


def has_secrets(secrets: Secrets, names: Iterable[str]) -> bool:
    """Whether all of these secrets are there. A vault that is down has none."""
    try:
        return all(secrets(name) for name in names)
    except Exception:
        return False


# --- keeping secrets out of what others read -------------------------------------------------------------------------


def hide_secrets(text: str, hidden: Iterable[str]) -> str:
    for value in sorted({one for one in hidden if len(one) >= _SHORTEST}, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return text


def hide_secrets_json(value: Json, hidden: Sequence[str]) -> Json:
    """A server that echoes its request would hand our token to the model."""
    if isinstance(value, str):
        return hide_secrets(value, hidden)
    if isinstance(value, Mapping):
        return {hide_secrets(name, hidden): hide_secrets_json(item, hidden) for name, item in value.items()}
    if isinstance(value, Sequence):
        return [hide_secrets_json(item, hidden) for item in value]
    return value


def words(text: str, hidden: Iterable[str] = ()) -> str:
    """Somebody else's text for a log or an error: one line, short, without secrets."""
    return brief(Exception(hide_secrets(text, hidden))).removeprefix("Exception").removeprefix(": ")


# --- schemas ---------------------------------------------------------------------------------------------------------


def check_schema(owner: str, schema: JsonObject) -> None:
    """The schema of a tool's parameters can be used as it stands."""
    if schema.get("type", "object") != "object":
        raise ConfigError(f"{owner}: the parameters are not an object.", fix="Write type: object with properties.")
    _check_json_schema(f"{owner}: the parameters", schema)


def check_result_schema(owner: str, schema: JsonObject) -> None:
    """The same for its results, which may be anything."""
    _check_json_schema(f"{owner}: the results", schema)


def _check_json_schema(what: str, schema: JsonObject) -> None:
    """One that points elsewhere would be fetched by whoever checks values against it."""
    import jsonschema_rs

    measure_schema(what, schema)
    try:
        jsonschema_rs.validator_for(dict(schema), offline=True)
    except Exception as error:
        raise ConfigError(f"{what} are not a valid JSON schema ({brief(error)}).", fix="Correct the schema.") from None


def check_languages(owner: str, phrases: Mapping[str, str]) -> None:
    for language in phrases:
        if language not in LANGUAGES:
            raise ConfigError(
                f"{owner}: there is no language '{language}' for a phrase.", fix=f"Use {', '.join(LANGUAGES)}."
            )
