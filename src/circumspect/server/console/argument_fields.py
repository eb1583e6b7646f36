"""A call's arguments as a person reads and changes them: a tool's schema and values in, labelled fields out, and back.

Each parameter is a field of its own kind. What no plain field can hold, such as a list, is written as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from circumspect.server.json_bodies import read_json
from circumspect.server.problems import HttpProblem
from circumspect.values import Json, JsonObject, ToolSpec

FieldKind = Literal["text", "number", "integer", "choice", "json"]
PREFIX = "field."
"""Before the parameter's name, so that no parameter is taken for a field of ours."""
_KINDS: Mapping[str, FieldKind] = {"string": "text", "number": "number", "integer": "integer"}


@dataclass(frozen=True, slots=True)
class ArgumentField:
    name: str
    hint: str
    kind: FieldKind
    value: Json
    written: str
    """As it stands in the form."""
    choices: tuple[str, ...] = ()
    required: bool = False
    was: Json = None
    changed: bool = False
    """A colleague put `value` in the place of `was`."""

    @property
    def is_open(self) -> bool:
        return self.value in (None, "")


def list_fields(spec: ToolSpec | None, given: JsonObject, former: JsonObject | None = None) -> list[ArgumentField]:
    """Every parameter of the tool, and whatever else the call has. `former` is the call that this one was made of."""
    properties: Mapping[str, Any] = spec.properties if spec else {}
    found = []
    for name in dict.fromkeys((*properties, *given)):
        about, value = properties.get(name), given.get(name)
        about = about if isinstance(about, Mapping) else {}
        kind, choices = _choose_kind(about, value)
        written = "" if value is None else str(value) if kind not in ("json", "choice") else _write(value, kind)
        was = former.get(name) if former is not None else value
        found.append(
            ArgumentField(
                name, str(about.get("description", "")), kind, value, written, choices,
                spec is not None and name in spec.required, was, was != value,
            )
        )  # fmt: skip
    return found


def read_fields(fields: Sequence[ArgumentField], form: Mapping[str, Any]) -> dict[str, Json]:
    """The arguments as the form has them. A field that was open and stayed so is left as it was."""
    arguments: dict[str, Json] = {}
    for one in fields:
        text = str(form.get(PREFIX + one.name, one.written))
        if text == one.written:
            if one.value is not None:
                arguments[one.name] = one.value
        elif text.strip() or one.required:
            arguments[one.name] = _read(one, text)
    return arguments


def _choose_kind(about: Mapping[str, Any], value: Json) -> tuple[FieldKind, tuple[str, ...]]:
    if isinstance(listed := about.get("enum"), Sequence) and all(isinstance(one, str) for one in listed):
        return "choice", tuple(listed)
    if about.get("type") == "boolean":
        return "choice", ("true", "false")
    kind = _KINDS.get(str(about.get("type")), "json" if about or not isinstance(value, str) else "text")
    fits = value is None or (isinstance(value, str) if kind == "text" else _is_number(value))
    return (kind if fits or kind == "json" else "json"), ()


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _write(value: Json, kind: FieldKind) -> str:
    return value if kind == "choice" and isinstance(value, str) else orjson.dumps(value).decode()


def _read(field: ArgumentField, text: str) -> Json:
    if field.kind == "text" or (field.kind == "choice" and field.choices != ("true", "false")):
        return text
    value: Any = read_json(text.encode("utf-8", "replace"))
    if field.kind in ("number", "integer") and not _is_number(value):
        raise HttpProblem(422, "invalid", f"{field.name} is no number: {text[:80]}", fix="Write digits, such as 12.50.")
    return value  # type: ignore[no-any-return]
