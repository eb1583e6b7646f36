"""A JSON schema -> what holds values against it: measured first, compiled once, remembered for a while.

Patterns run on a linear engine; those that only a backtracking one can run (lookahead, references back) get so many
steps and no more, and then the value does not fit. Formats are checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jsonschema_rs

from circumspect.bounded_cache import BoundedCache
from circumspect.errors import ConfigError
from circumspect.schema_bounds import SchemaWork, measure_schema, measure_value
from circumspect.values import Json, JsonObject, ToolSpec

TOO_LARGE = "size"
"""The keyword of an error that no schema has: the value is too large to be held against this one."""
_PHONE = re.compile(r"\+?[\d\s().\-]{7,20}")
_BACKTRACKS = 1_000
_LARGEST_PATTERN = 1_000_000
_validators: BoundedCache[SchemaValidator] = BoundedCache(most=1_000, heaviest=8_000_000)


@dataclass(frozen=True, slots=True)
class OversizeError:
    """Reads like an error of the library."""

    instance_path: Sequence[str]
    schema_path: Sequence[str] = (TOO_LARGE,)
    message: str = "is too large to be checked"


@dataclass(frozen=True, slots=True)
class SchemaValidator:
    compiled: Any
    work: SchemaWork

    def is_valid(self, value: Json) -> bool:
        return self.work.allows(value) and bool(self.compiled.is_valid(value))

    def iter_errors(self, value: Json) -> Iterator[Any]:
        if not self.work.allows(value):
            return iter((OversizeError(_find_largest(value)),))
        return iter(self.compiled.iter_errors(value))


def find_validator(spec: ToolSpec) -> SchemaValidator:
    """Of a tool's parameters. `ConfigError` for what is no JSON schema, or makes too much work."""
    what = f"The parameters of tool '{spec.name}'"
    try:
        version = spec.version
    except RecursionError:
        raise ConfigError(f"{what} are nested too deeply.", fix="Correct the tool's schema.") from None
    found = _validators.get(version)
    if found is None:
        found = compile_schema(what, dict(spec.parameters) or {"type": "object"})
        parts, letters, _ = measure_value(spec.parameters)
        _validators.put(version, found, 100 * parts + letters + 10 * found.work.steps)
    return found


def compile_schema(what: str, schema: JsonObject) -> SchemaValidator:
    work = measure_schema(what, schema)
    try:
        # Offline: a schema may come from a client, and what it refers to is not fetched from file or network.
        compiled = jsonschema_rs.validator_for(
            dict(schema),
            validate_formats=True,
            formats={"phone": _is_phone},
            offline=True,
            pattern_options=jsonschema_rs.FancyRegexOptions(
                backtrack_limit=_BACKTRACKS, size_limit=_LARGEST_PATTERN, dfa_size_limit=_LARGEST_PATTERN
            ),
        )
    except (ValueError, jsonschema_rs.ValidationError) as problem:
        raise ConfigError(
            f"{what} are not a valid JSON schema: {str(problem).splitlines()[0]}", fix="Correct the tool's schema."
        ) from None
    return SchemaValidator(compiled, work)


def _is_phone(value: Any) -> bool:
    if not isinstance(value, str):
        return True
    return bool(_PHONE.fullmatch(value.strip())) and sum(map(str.isdigit, value)) >= 7


def _find_largest(value: Json) -> list[str]:
    if not isinstance(value, Mapping) or not value:
        return []
    return [max(value, key=lambda name: sum(measure_value(value[name])))]
