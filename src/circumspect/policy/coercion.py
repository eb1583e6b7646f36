"""Arguments in the types that a tool's schema asks for: what a model wrote -> the same values, and what was changed.

A model writes `12345` where a text was asked for, `"20"` or `5.0` where a whole number was, `"SKU-3 "`, `null` where it
has nothing to say. Nobody
but the model could mend that, and nobody need: it is the same value. What is not exactly the same is left as it is, for
the rules to speak of: "twenty", `12.5` for a text (it may have been 12.50), `1e3` for an id, "no" for a truth.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from circumspect.errors import ConfigError
from circumspect.forms.loose_json import parse_exact
from circumspect.language.written_values import looks_like_id
from circumspect.policy.validators import compile_schema
from circumspect.values import Json, JsonObject, ToolSpec

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,9})?")
_SIGNS = "#№"
_DEEPEST = 8
_SHOWN = 40
_LONGEST_ID = 64
_LARGEST_WHOLE = 2.0**53


class _Same:
    """The value stays as it is."""


_SAME: Final = _Same()


def coerce_arguments(spec: ToolSpec, arguments: JsonObject) -> tuple[JsonObject, tuple[str, ...]]:
    """The arguments, and one line for each that was changed."""
    exact, notes = _find_exact_types(spec), list[str]()
    rest = {name: value for name, value in arguments.items() if type(value) not in exact.get(name, ())}
    if rest:
        _coerce_object(rest, spec.parameters, notes, "", 0)
    if not notes:
        return arguments, ()
    notes.clear()
    fitted = _coerce_object(arguments, spec.parameters, notes, "", 0)
    return fitted, tuple(notes)


def _find_exact_types(spec: ToolSpec) -> Mapping[str, tuple[type, ...]]:
    """By parameter, the types whose values are taken as they are, whatever they are; remembered with the tool."""
    known: dict[str, tuple[type, ...]] | None = spec.__dict__.get("exact_types")
    if known is None:
        known = {
            name: _EXACT.get(str(schema.get("type")), ())
            for name, schema in spec.properties.items()
            if schema.keys().isdisjoint(("enum", "pattern"))
        }
        spec.__dict__["exact_types"] = known
    return known


_EXACT: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}


def _coerce_object(
    given: Mapping[str, Json], schema: JsonObject, notes: list[str], path: str, depth: int
) -> dict[str, Json]:
    fields, required = schema.get("properties"), schema.get("required")
    known = fields if isinstance(fields, Mapping) else {}
    needed = required if isinstance(required, Sequence) else ()
    found: dict[str, Json] = {}
    for name, value in given.items():
        kind = known.get(name)
        value = _trim(value, notes, f"{path}{name}") if isinstance(value, str) else value
        if not isinstance(kind, Mapping):
            found[name] = value
        elif value is None and name not in needed and _types(kind) and "null" not in _types(kind):
            notes.append(f"{path}{name}: nothing, left out")
        else:
            found[name] = _coerce(value, kind, notes, f"{path}{name}", depth + 1)
    return found


def _coerce(value: Json, schema: JsonObject, notes: list[str], path: str, depth: int) -> Json:
    if depth > _DEEPEST or (type(value) is str and _takes_as_written(schema, value)):
        return value
    types = _types(schema)
    own = _type_of(value)
    if isinstance(value, float) and own == "integer" and "integer" in types and abs(value) <= _LARGEST_WHOLE:
        value = int(value)
        notes.append(f"{path}: {value}.0 read as {value}")
    elif own not in types and not (own == "integer" and "number" in types):
        made = [one for kind in types if not isinstance(one := _AS[kind](value), _Same)]
        if len(made) != 1:
            return value
        notes.append(f"{path}: {_quote(value)} read as {kind_of(made[0])}")
        value = made[0]
    elif isinstance(value, str) and isinstance(spelled := _respell(value, schema), str):
        notes.append(f"{path}: {_quote(value)} read as {spelled}")
        value = spelled
    if isinstance(value, Mapping):
        return _coerce_object(value, schema, notes, f"{path}.", depth)
    items = schema.get("items")
    if isinstance(value, list) and isinstance(items, Mapping):
        return [_coerce(item, items, notes, f"{path}[{at}]", depth + 1) for at, item in enumerate(value)]
    return value


def _trim(value: str, notes: list[str], path: str) -> str:
    """An id without the blanks around it, which nobody said."""
    if not (value[:1].isspace() or value[-1:].isspace()) or not looks_like_id(value.strip()):
        return value
    notes.append(f"{path}: blanks around it left out")
    return value.strip()


def _takes_as_written(schema: JsonObject, value: str) -> bool:
    """By far the commonest: a text was asked for, and nothing about it could be respelled."""
    if schema.get("type") != "string":
        return False
    if "enum" in schema and not (type(choices := schema["enum"]) is list and value in choices):
        return False
    return "pattern" not in schema or not value.lstrip().startswith(tuple(_SIGNS))


def kind_of(value: Json) -> str:
    return {"string": "a text", "boolean": "yes or no"}.get(_type_of(value), f"a {_type_of(value)}")


def _types(schema: JsonObject) -> tuple[str, ...]:
    """The types that a schema names; none where it does not say, or says it in a way that is not looked into."""
    said = schema.get("type")
    if isinstance(said, str):
        return (said,) if said in _AS else ()
    if isinstance(said, Sequence):
        return tuple(one for one in said if isinstance(one, str) and one in _AS)
    either = schema.get("anyOf")
    if isinstance(either, Sequence) and all(isinstance(one, Mapping) and "type" in one for one in either):
        return tuple(one for part in either if isinstance(part, Mapping) for one in _types(part))
    return ()


def _type_of(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case Mapping():
            return "object"
    return "array"


def _as_text(value: Json) -> str | _Same:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else _SAME


def _as_number(value: Json) -> int | float | _Same:
    if not isinstance(value, str) or not _NUMBER.fullmatch(value.strip()) or value.strip() == "-0":
        return _SAME
    text = value.strip()
    number = float(text) if "." in text else int(text)
    return number if Decimal(repr(number)) == Decimal(text) else _SAME


def _as_integer(value: Json) -> int | _Same:
    number = _as_number(value)
    return number if isinstance(number, int) else _SAME


def _as_flag(value: Json) -> bool | _Same:
    return {"true": True, "false": False}.get(value.strip().lower(), _SAME) if isinstance(value, str) else _SAME


def _as_object(value: Json) -> dict[str, Json] | _Same:
    found = parse_exact(value) if isinstance(value, str) else None
    return _SAME if found is None else found


def _as_list(value: Json) -> list[Json] | _Same:
    if not isinstance(value, str) or not value.strip().startswith("["):
        return _SAME
    found = (parse_exact(f'{{"list": {value}}}') or {}).get("list")
    return found if isinstance(found, list) else _SAME


def _as_nothing(value: Json) -> _Same:
    return _SAME


_AS: Mapping[str, Callable[[Json], Any]] = {
    "string": _as_text,
    "number": _as_number,
    "integer": _as_integer,
    "boolean": _as_flag,
    "object": _as_object,
    "array": _as_list,
    "null": _as_nothing,
}


def _respell(value: str, schema: JsonObject) -> str | None:
    """The same word as the schema spells it: in another case, or without the sign of a number before it."""
    choices, pattern = schema.get("enum"), schema.get("pattern")
    if isinstance(choices, Sequence) and value not in choices:
        alike = [one for one in choices if isinstance(one, str) and one.casefold() == value.strip().casefold()]
        return alike[0] if len(alike) == 1 else None
    bare = value.strip().lstrip(_SIGNS).strip()
    signed = value.strip()[:1] in tuple(_SIGNS) and len(value) <= _LONGEST_ID
    if isinstance(pattern, str) and signed and _fits(bare, pattern) and not _fits(value, pattern):
        return bare
    return None


def _fits(value: str, pattern: str) -> bool:
    """By the library that checks schemas: a pattern may be a stranger's, and its search is bounded."""
    try:
        return compile_schema("A pattern", {"pattern": pattern}).is_valid(value)
    except ConfigError:
        return False


def _quote(value: Json) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
