"""Arguments against a tool's JSON schema: what is missing, what is malformed, what would really run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from circumspect.language.folding import fold
from circumspect.policy.coercion import coerce_arguments
from circumspect.policy.validators import find_validator
from circumspect.values import Json, JsonObject, ToolSpec

_OPTIONAL = re.compile(r"\b(?:optional|(?:may|can) be (?:left )?(?:empty|blank)|if any|empty string)\b", re.IGNORECASE)
_NEVER_BLANK = frozenset((int, float, bool, list, dict))
_FURTHER = re.compile(r"[a-zA-Z]_?[2-4]$")


def materialise(spec: ToolSpec, arguments: JsonObject) -> tuple[JsonObject, tuple[str, ...]]:
    """What will run: every value in its type, every default filled in; and what was changed for that, one line each."""
    coerced, notes = coerce_arguments(spec, arguments)
    return fill_defaults(spec, coerced), notes


def fill_defaults(spec: ToolSpec, arguments: JsonObject) -> JsonObject:
    """The arguments with the schema's defaults filled in, so that what is confirmed is what will run."""
    defaults = spec.__dict__.get("defaults")
    if defaults is None:
        defaults = {name: schema["default"] for name, schema in spec.properties.items() if "default" in schema}
        spec.__dict__["defaults"] = defaults
    return {**defaults, **arguments} if defaults else arguments


def find_missing(spec: ToolSpec, arguments: JsonObject) -> tuple[str, ...]:
    """Required parameters that are absent, null where null is not allowed, or blank where something must be said."""
    return tuple(
        [
            name
            for name in _required_in_order(spec)
            if type(arguments.get(name)) not in _NEVER_BLANK and _is_blank(spec, name, arguments)
        ]
    )


def is_misbuilt(problem: str, value: Json, words: str = "") -> bool:
    """A list or object that is not built as the schema says, or a type that is in none of the user's words: nobody was
    ever asked for it in that form."""
    if isinstance(value, Mapping | list) or problem in ("type:array", "type:object"):
        return True
    return problem.startswith(("type:", "anyOf")) and fold(str(value)) not in fold(words)


def find_problems(spec: ToolSpec, arguments: JsonObject) -> Mapping[str, str]:
    """Parameter name to what is wrong with its value: `format:date`, `pattern:^[0-9]{5}$`, `enum:a|b`, `type:number`.

    Absent parameters are left to `find_missing`. Parameters that the tool does not have are `unknown`.
    """
    check = find_validator(spec)
    if check.is_valid(arguments):
        return {}
    absent = set(find_missing(spec, arguments))
    found: dict[str, str] = {}
    for error in check.iter_errors(arguments):
        path = [str(part) for part in error.instance_path]
        name = path[0] if path else ""
        kind = str(error.schema_path[-1]) if error.schema_path else "schema"
        if kind == "required" and not path:
            continue
        if kind == "additionalProperties" and not path:
            for extra in sorted(set(arguments) - set(spec.properties)):
                found.setdefault(extra, "unknown")
        elif name not in absent:
            found.setdefault(name, _describe_constraint(kind, _keyword(spec.parameters, error.schema_path)))
    return found


def _describe_constraint(kind: str, wanted: Json) -> str:
    if isinstance(wanted, str | int | float) and not isinstance(wanted, bool):
        return f"{kind}:{wanted}"
    if isinstance(wanted, Sequence):
        return f"{kind}:{'|'.join(str(item) for item in wanted)}"
    return kind


def _keyword(schema: Json, path: Sequence[str | int]) -> Json:
    for part in path:
        if isinstance(schema, Mapping) and part in schema:
            schema = schema[str(part)]
        elif isinstance(schema, Sequence) and not isinstance(schema, str) and isinstance(part, int):
            schema = schema[part]
        else:
            return None
    return schema


def _required_in_order(spec: ToolSpec) -> tuple[str, ...]:
    """As the schema lists them; remembered with the tool."""
    known: tuple[str, ...] | None = spec.__dict__.get("required_in_order")
    if known is None:
        listed = [name for name in spec.properties if name in spec.required]
        known = spec.__dict__["required_in_order"] = (*listed, *sorted(spec.required - spec.properties.keys()))
    return known


def _is_blank(spec: ToolSpec, name: str, arguments: JsonObject) -> bool:
    if name not in arguments:
        return True
    value = arguments[name]
    if value is None:
        return not find_validator(spec).is_valid({**arguments, name: None})
    return isinstance(value, str) and (not value or value.isspace()) and not _may_be_blank(spec, name, arguments)


def _may_be_blank(spec: ToolSpec, name: str, arguments: JsonObject) -> bool:
    """The schema takes a blank and says so, or the parameter is a further line of something, as address2 is."""
    schema = spec.properties.get(name, {})
    said = schema.get("description")
    allowed = schema.get("minLength") == 0 or schema.get("default") == ""
    says_so = allowed or (isinstance(said, str) and _OPTIONAL.search(said))
    return (
        schema.get("type") == "string"
        and bool(says_so or _FURTHER.search(name))
        and not any(
            error.instance_path[:1] == [name] for error in find_validator(spec).iter_errors({**arguments, name: ""})
        )
    )
