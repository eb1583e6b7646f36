"""A JSON schema in, the most careful object of that schema out: nothing claimed, nothing wanted, not sure of anything.

For what the offline model cannot do it would be a lie to answer with more, and a crash to answer with less. Where no
such object exists, the request is refused with what to do about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from circumspect.errors import ModelRefused
from circumspect.values import Json, JsonObject

_CAREFUL_CHOICES = (
    "escalate", "ask_user", "ask", "clarify", "needs_review", "review", "human", "unknown", "unclear", "uncertain",
    "insufficient", "insufficient_evidence", "not_enough_information", "cannot_determine", "none", "no_action", "other",
    "general", "low", "no",
)  # fmt: skip
"""Best first: hand over, ask, admit not to know, do nothing."""
_YES_IS_CAREFUL = ("needs_", "requires_", "need_", "require_", "should_ask", "escalate", "ask_", "uncertain", "unclear")
_DEEPEST = 12


def cautious(schema: JsonObject, purpose: str) -> dict[str, Json]:
    import jsonschema_rs

    try:
        made = _build_value(schema, schema, "", 0)
        if isinstance(made, dict) and jsonschema_rs.is_valid(dict(schema), made, offline=True):
            return made
    except (_Impossible, ValueError, jsonschema_rs.ValidationError):
        pass
    raise refuse(purpose)


def refuse(purpose: str) -> ModelRefused:
    return ModelRefused(
        f"The offline model cannot answer a request of the kind '{purpose}'.",
        fix="Configure a language model, for example with CIRCUMSPECT_MODEL=openai:gpt-4o.",
    )


class _Impossible(Exception):
    """No careful value of this schema is known."""


def _build_value(schema: Json, root: JsonObject, name: str, depth: int) -> Json:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        raise _Impossible
    if "$ref" in schema:
        return _build_value(_resolve_reference(str(schema["$ref"]), root), root, name, depth + 1)
    if "const" in schema:
        return schema["const"]
    listed = schema.get("enum")
    if isinstance(listed, Sequence) and listed:
        return _choice(listed)
    for key in ("anyOf", "oneOf", "allOf"):
        options = schema.get(key)
        if isinstance(options, Sequence) and options:
            return _first(options, root, name, depth, all_of=key == "allOf")
    types = schema.get("type", "object" if "properties" in schema else None)
    if isinstance(types, Sequence) and not isinstance(types, str):
        types = "null" if "null" in types else types[0]
    match types:
        case "null":
            return None
        case "boolean":
            return name.lower().startswith(_YES_IS_CAREFUL)
        case "integer" | "number":
            return _least(schema)
        case "string":
            if schema.get("minLength") or schema.get("pattern") or schema.get("format"):
                return _build_text(schema)
            return ""
        case "array":
            if schema.get("minItems"):
                raise _Impossible
            return []
        case "object":
            return _object(schema, root, depth)
    raise _Impossible


def _object(schema: JsonObject, root: JsonObject, depth: int) -> dict[str, Json]:
    properties, required = schema.get("properties"), schema.get("required")
    known = properties if isinstance(properties, Mapping) else {}
    needed = [str(name) for name in required] if isinstance(required, Sequence) else []
    return {name: _build_value(known.get(name), root, name, depth + 1) for name in needed}


def _resolve_reference(ref: str, root: JsonObject) -> Json:
    found: Json = root
    for part in ref.removeprefix("#").strip("/").split("/"):
        if not isinstance(found, Mapping) or part not in found:
            raise _Impossible
        found = found[part]
    return found


def _first(options: Sequence[Json], root: JsonObject, name: str, depth: int, *, all_of: bool) -> Json:
    if all_of and len(options) > 1:
        raise _Impossible
    if any(isinstance(option, Mapping) and option.get("type") == "null" for option in options):
        return None
    for option in options:
        try:
            return _build_value(option, root, name, depth + 1)
        except _Impossible:
            continue
    raise _Impossible


def _choice(listed: Sequence[Json]) -> Json:
    if None in listed:
        return None
    by_word = {str(choice).lower().replace(" ", "_").replace("-", "_"): choice for choice in listed}
    for careful in _CAREFUL_CHOICES:
        if careful in by_word:
            return by_word[careful]
    for careful in _CAREFUL_CHOICES[:12]:
        for word, choice in by_word.items():
            if careful in word:
                return choice
    if len(listed) == 1:
        return listed[0]
    raise _Impossible


def _least(schema: JsonObject) -> int | float:
    whole = schema.get("type") == "integer"
    least = schema.get("minimum")
    if isinstance(least, int | float):
        return int(least) if whole and float(least).is_integer() else least
    above = schema.get("exclusiveMinimum")
    if isinstance(above, int | float):
        return int(above) + 1 if whole else above + 1e-9
    most = schema.get("maximum")
    return min(0, most) if isinstance(most, int | float) else 0


def _build_text(schema: JsonObject) -> str:
    """A text that must not be empty says what is the case."""
    least = schema.get("minLength")
    text = "not known"
    if schema.get("pattern") or schema.get("format") or not isinstance(least, int) or least > len(text):
        raise _Impossible
    return text
