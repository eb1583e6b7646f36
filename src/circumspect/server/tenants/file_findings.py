"""What is wrong with a tenant file: where, what, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from circumspect.errors import ConfigError
from circumspect.policy.keys.checks import HOW_TO_DECLARE_SEVERAL, UNDECLARED
from circumspect.policy.keys.findings import FileFinding, Place, suggest_word

KeyLines = Mapping[Place, int]


class TenantFileError(ConfigError):
    """The file is refused whole. `findings` are ready-made lines: `file:line: problem; fix`."""

    code = "tenant_file"

    def __init__(self, problem: str, *, fix: str = "", errors: tuple[Located, ...] = ()) -> None:
        super().__init__(problem, fix=fix)
        self.errors = errors
        self.findings = tuple(str(one) for one in errors)

    def __str__(self) -> str:
        return "\n".join((super().__str__(), *self.findings))


@dataclass(frozen=True, slots=True)
class Located:
    """A finding, and the file that it is in: the tenant file, or the policy file that it names."""

    file: str
    finding: FileFinding

    @property
    def is_error(self) -> bool:
        return self.finding.level == "error"

    def __str__(self) -> str:
        return self.finding.describe(self.file)


def sum_up_undeclared(findings: Iterable[Located]) -> list[Located]:
    """The same with one warning for all tools of a file that nobody declares, at the line of the first: a client that
    brings twenty along is one thing to do, and not twenty."""
    summed: dict[object, Located] = {}
    names: dict[str, dict[str, None]] = {}
    for one in findings:
        undeclared = not one.is_error and one.finding.problem.startswith(UNDECLARED)
        summed.setdefault(("undeclared", one.file) if undeclared else one, one)
        if undeclared:
            names.setdefault(one.file, {})[one.finding.problem.removeprefix(UNDECLARED)] = None
    for file, tools in names.items():
        if len(tools) > 1:
            problem = f"nobody declares {len(tools)} of the tools that are named here: {', '.join(tools)}"
            first = summed["undeclared", file]
            told = replace(first.finding, problem=problem, fix=HOW_TO_DECLARE_SEVERAL)
            summed["undeclared", file] = Located(file, told)
    return [*summed.values()]


def make_file_error(name: str, findings: Iterable[Located]) -> TenantFileError:
    errors = tuple(one for one in findings if one.is_error)
    many = f"{len(errors)} problems" if len(errors) > 1 else "a problem"
    return TenantFileError(
        f"The tenant file {name} has {many}, so nothing of it was applied.",
        fix="Correct it and apply it again:",
        errors=errors,
    )


def line_of(place: Place, lines: KeyLines) -> int:
    """The line of the place, or of the nearest one around it."""
    return next((lines[place[:size]] for size in range(len(place), -1, -1) if place[:size] in lines), 0)


def explain_error(error: Any, lines: KeyLines, schema: dict[str, Any]) -> FileFinding:
    """One of pydantic's errors in our words. What was given is not repeated: it may be a secret in the wrong place."""
    place = _place(tuple(error["loc"]), lines, missing=error["type"] == "missing")
    line = line_of(place, lines)
    said = _name_place(place)
    around = _section(place[:-1], schema)
    described = _find_description(around, place[-1] if place else "")
    match error["type"]:
        case "extra_forbidden":
            allowed = tuple(around.get("properties", {}))
            fix = suggest_word(str(place[-1]), allowed) or f"Possible here: {', '.join(allowed)}."
            return FileFinding("error", line, f"unknown key {said}", fix)
        case "missing":
            return FileFinding("error", line, f"{said} is missing", described)
        case "literal_error":
            words = re.findall(r"'([^']*)'", error["ctx"]["expected"]) or [error["ctx"]["expected"]]
            fix = suggest_word(str(error["input"]), words) or f"Possible here: {', '.join(words)}."
            return FileFinding("error", line, f"{said} cannot be this", fix)
        case "string_pattern_mismatch":
            return FileFinding(
                "error", line, f"{said} is not written as it should be", described or "Read: circumspect docs tenants"
            )
        case "string_type":
            return FileFinding("error", line, f"{said} must be text", "Put it in quotes.")
        case "dict_type" | "model_type" | "mapping_type" | "model_attributes_type":
            fix = described or "Write `key: value` lines."
            return FileFinding("error", line, f"{said} must have settings below it", fix)
        case "tuple_type" | "list_type":
            return FileFinding("error", line, f"{said} must be a list", described or "Start each item with a dash.")
        case _:
            problem = error["msg"].removeprefix("Value error, ")
            fix = described or "Read: circumspect docs tenants"
            return FileFinding("error", line, f"{said}: {problem[:1].lower()}{problem[1:]}", fix)


def _place(found: Place, lines: KeyLines, *, missing: bool) -> Place:
    """Where in the file. pydantic also names which of several types it tried; no line has that name."""
    place: Place = ()
    for step in found:
        if (*place, step) in lines:
            place = (*place, step)
    return (*place, found[-1]) if missing else place


def _name_place(place: Place) -> str:
    if not place:
        return "the file"
    if isinstance(place[-1], int):
        return f"item {place[-1] + 1} of {_name_place(place[:-1])}"
    return f"'{place[-1]}'"


def _find_description(section: Mapping[str, Any], key: str | int) -> str:
    found = section.get("properties", {}).get(key, {})
    return str(found.get("description", "")) if isinstance(found, Mapping) else ""


def _section(place: Place, schema: dict[str, Any]) -> dict[str, Any]:
    """The part of the schema that describes what is at this place."""
    found: Any = schema
    for step in place:
        found = _inside(found, schema)
        if isinstance(step, int):
            found = found.get("items", {})
        else:
            found = found.get("properties", {}).get(step) or found.get("additionalProperties") or {}
        if not isinstance(found, dict):
            return {}
    return _inside(found, schema)


def _inside(part: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The object or list behind references and alternatives."""
    if "$ref" in part:
        return _inside(schema["$defs"][part["$ref"].rpartition("/")[2]], schema)
    for one in part.get("anyOf", ()):
        inner = _inside(one, schema)
        if inner.get("type") in ("object", "array"):
            return inner
    return part
