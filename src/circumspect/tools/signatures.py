"""signatures: a function -> the JSON schema of its parameters, and a converter from JSON arguments to Python values.

Both come from one pydantic model, so what the schema promises is what the function receives. References to shared
definitions are written out in place: a model, and the code that checks its arguments, should not have to follow them.
"""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, NewType

from circumspect.errors import ConfigError, ToolError
from circumspect.values import Json, JsonObject

if TYPE_CHECKING:
    from pydantic import BaseModel

IdempotencyKey = NewType("IdempotencyKey", str)
"""Annotate a parameter with this to receive the call's idempotency key. The model never sees that parameter."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function takes: `parameters` for the model, `keys` for us, `convert` in between."""

    description: str
    parameters: JsonObject
    keys: tuple[str, ...]
    _names: Mapping[str, str]
    _model: type[BaseModel]

    def convert(self, arguments: JsonObject) -> dict[str, Any]:
        """Values for the function, of the types it asks for. Nothing has run when this fails."""
        from pydantic import ValidationError
        from pydantic_core import to_json

        try:
            values = self._model.model_validate_json(to_json(arguments, fallback=_plain))
        except ValidationError as error:
            problems = error.errors(include_url=False, include_input=False, include_context=False)
            told = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in problems)
            raise ToolError(f"The arguments do not fit: {told}.") from None
        except ValueError as error:
            raise ToolError(f"The arguments are not JSON: {error}.") from None
        return {name: getattr(values, attribute) for attribute, name in self._names.items()}


def signature_of(function: Callable[..., Any], scope: Mapping[str, Any]) -> Signature:
    """Read a function. `scope` holds the names that its annotations may use besides its module's own."""
    from pydantic import ConfigDict, Field, create_model
    from pydantic.errors import PydanticUserError
    from pydantic.fields import FieldInfo
    from pydantic_core import PydanticUndefined

    label = getattr(function, "__qualname__", repr(function))
    hints = _hints(function, scope, label)
    description, documented = read_docstring(inspect.getdoc(function) or "")
    keys: list[str] = []
    names: dict[str, str] = {}
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        _check(parameter, hints, label)
        annotation = hints[parameter.name]
        if _is_key(annotation):
            keys.append(parameter.name)
            continue
        default = ... if parameter.default is parameter.empty else parameter.default
        if isinstance(default, FieldInfo):
            annotation = Annotated[annotation, default]
            default = ... if default.is_required() else default.get_default(call_default_factory=True)
        # Fields are numbered: a parameter may be called `json` or `model_config`, a field of a pydantic model may not.
        attribute = f"p{len(fields)}"
        names[attribute] = parameter.name
        fields[attribute] = (
            annotation,
            Field(PydanticUndefined if default is ... else default, alias=parameter.name),
        )
    try:
        model = create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)
        schema = model.model_json_schema(schema_generator=_generator())
    except PydanticUserError as error:
        raise ConfigError(
            f"The parameters of {label} cannot be described as JSON: {error.message}",
            fix="Use types that JSON can carry: str, int, float, bool, date, Literal, dataclasses, pydantic models.",
        ) from None
    properties = schema.setdefault("properties", {})
    for name, text in documented.items():
        if name in properties:
            properties[name].setdefault("description", text)
    return Signature(description, _inline_definitions(schema), tuple(keys), names, model)


def _hints(function: Callable[..., Any], scope: Mapping[str, Any], label: str) -> dict[str, Any]:
    """The types of the parameters. What a function returns is looked at when it has returned."""

    def parameters() -> None: ...

    annotations = getattr(function, "__annotations__", {})
    parameters.__annotations__ = {name: hint for name, hint in annotations.items() if name != "return"}
    module = getattr(inspect.unwrap(function), "__globals__", {})
    try:
        return typing.get_type_hints(parameters, module, dict(scope), include_extras=True)
    except (NameError, TypeError) as error:
        raise ConfigError(
            f"The annotations of {label} cannot be read: {error}.",
            fix="Decorate a plain function, and import the types that it names at run time (not under TYPE_CHECKING).",
        ) from None


def _check(parameter: inspect.Parameter, hints: Mapping[str, Any], label: str) -> None:
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise ConfigError(
            f"{label} takes '{parameter}', which has no name that a model could use.",
            fix="Spell every parameter out; *args, **kwargs and positional-only parameters cannot be described.",
        )
    if parameter.name not in hints:
        raise ConfigError(
            f"The parameter '{parameter.name}' of {label} has no type.",
            fix="Annotate it: an argument of any type at all cannot be checked.",
        )


def _is_key(annotation: Any) -> bool:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType, Annotated):
        return any(_is_key(part) for part in typing.get_args(annotation))
    return annotation is IdempotencyKey


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise ValueError(f"{type(value).__name__} is not a JSON value")


def _generator() -> Any:
    from pydantic.json_schema import GenerateJsonSchema

    class Untitled(GenerateJsonSchema):
        def emit_warning(self, kind: Any, detail: str) -> None:
            """A default that JSON cannot carry stays out of the schema, which is no news to a user."""

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

    return Untitled


# --- docstrings ------------------------------------------------------------------------------------------------------

_SECTION = re.compile(r"^(args|arguments|parameters|returns?|raises|yields|examples?|notes?):\s*$", re.IGNORECASE)
_ENTRY = re.compile(r"^\s*+\*{0,2}(\w+)\s*+(?:\([^)]*\)\s*+)?:\s*+(.*)$")


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """The description (all that stands before the first section) and what the "Args:" section says by parameter."""
    lines = text.splitlines()
    sections = [number for number, line in enumerate(lines) if _SECTION.match(line)]
    description = "\n".join(lines[: sections[0]] if sections else lines).strip()
    documented: dict[str, str] = {}
    for start, end in pairwise([*sections, len(lines)]):
        if lines[start].lower().startswith(("arg", "param")):
            documented.update(_entries(lines[start + 1 : end]))
    return description, documented


def _entries(lines: list[str]) -> dict[str, str]:
    body = [line for line in lines if line.strip()]
    if not body:
        return {}
    margin = len(body[0]) - len(body[0].lstrip())
    entries: dict[str, str] = {}
    name = ""
    for line in body:
        starts = len(line) - len(line.lstrip()) <= margin
        if starts and (match := _ENTRY.match(line)):
            name = match[1]
            entries[name] = match[2].strip()
        elif name and not starts:
            entries[name] = f"{entries[name]} {line.strip()}".strip()
    return entries


# --- schemas ---------------------------------------------------------------------------------------------------------

_ONE = frozenset({"items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"})
_MANY = frozenset({"anyOf", "allOf", "oneOf", "prefixItems"})
_NAMED = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})


class _Recursive(Exception):
    """A definition contains itself and cannot be written out."""


def _inline_definitions(schema: dict[str, Any]) -> dict[str, Json]:
    definitions = schema.get("$defs", {})
    try:
        written: dict[str, Json] = _resolve_references(
            {key: value for key, value in schema.items() if key != "$defs"}, definitions, ()
        )
    except _Recursive:
        return schema
    return written


def _resolve_references(schema: Any, definitions: Mapping[str, Any], inside: tuple[str, ...]) -> Any:
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        name = str(schema["$ref"]).removeprefix("#/$defs/")
        if name in inside:
            raise _Recursive
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        return _resolve_references(definitions[name], definitions, (*inside, name)) | siblings
    resolved: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _ONE:
            resolved[key] = _resolve_references(value, definitions, inside)
        elif key in _MANY:
            resolved[key] = [_resolve_references(item, definitions, inside) for item in value]
        elif key in _NAMED:
            resolved[key] = {name: _resolve_references(item, definitions, inside) for name, item in value.items()}
        elif key not in ("title", "discriminator"):
            resolved[key] = value
    return resolved
