"""JSON schemas of arguments and results -> what kind of value is at a place, and comparisons that cannot be meant.

The check of an expression knows types, too, but nothing of schemas: to it, every argument and every result may be
anything. Here a place is followed into the schema of the tool that it belongs to. Where a schema does not say, nothing
is known, and nothing is found wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from circumspect.policy.cel.syntax import SyntaxNode
from circumspect.policy.grounding.places import EACH, ExpressionPath, LoopBindings, PathStep, as_path
from circumspect.policy.keys.findings import suggest_word

JsonSchema: TypeAlias = Mapping[str, Any]
FindSchema: TypeAlias = Callable[[ExpressionPath], JsonSchema]
"""A place with the names of `let` in it -> the schema of what is there; empty when nobody says."""

_KINDS = {"string": "text", "number": "number", "integer": "number", "boolean": "truth", "array": "list"}
_WORDS = {
    "text": "a text",
    "number": "a number",
    "truth": "true or false",
    "list": "a list",
    "record": "a record",
    "moment": "a moment",
    "duration": "a duration",
}
_COMPARISONS = {"_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_ARITHMETIC = {"_+_": "+", "_-_": "-", "_*_": "*", "_/_": "/"}
_LOGIC = {"!_": "!", "_&&_": "&&", "_||_": "||", "_?_:_": "?"}
_OF_TEXTS = frozenset(("startsWith", "endsWith", "contains", "matches", "lowerAscii", "upperAscii", "trim", "split"))
_FIELDLESS = frozenset(("text", "number", "truth"))
_COUNTED = frozenset(("text", "list", "record"))
_DEEPEST = 32


# --- schemas --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AbsentField:
    """A field that a schema does not have."""

    name: str
    known: tuple[str, ...]
    closed: bool
    """The schema says that there are no others."""

    @property
    def fix(self) -> str:
        return suggest_word(self.name, self.known) or f"It has: {', '.join(self.known)}."


def follow(schema: JsonSchema, steps: tuple[PathStep, ...]) -> JsonSchema | AbsentField:
    """The schema of what is under these steps; the first field that is not there; empty where nobody says."""
    root, here = schema, _unfold(schema, schema)
    for step in steps:
        kind = kind_of(here)
        if kind == "list":
            here = _unfold(here.get("items", {}), root)
        elif kind == "record":
            fields = here.get("properties", {})
            others = here.get("additionalProperties", True)
            if isinstance(step, str) and step in fields:
                here = _unfold(fields[step], root)
            elif step is EACH:
                here = {"type": "string"}
            elif isinstance(step, str) and fields and not isinstance(others, Mapping):
                return AbsentField(step, tuple(fields), others is False)
            else:
                here = _unfold(others if isinstance(others, Mapping) else {}, root)
        else:
            return {}
    return here


def _unfold(schema: Any, root: JsonSchema, depth: int = 0) -> JsonSchema:
    """Behind references and `… or null`. What may be several things is nothing in particular."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return {}
    reference = schema.get("$ref")
    if isinstance(reference, str):
        found: Any = root
        for part in reference.removeprefix("#/").split("/"):
            found = found.get(part) if isinstance(found, Mapping) else None
        return _unfold(found, root, depth + 1)
    options = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(options, list | tuple):
        real = [one for one in options if not (isinstance(one, Mapping) and one.get("type") == "null")]
        return _unfold(real[0], root, depth + 1) if len(real) == 1 else {}
    return {} if "allOf" in schema else schema


def kind_of(schema: JsonSchema) -> str:
    """`text`, `number`, `truth`, `list`, `record`, or nothing."""
    said = schema.get("type")
    if isinstance(said, list | tuple):
        real = [one for one in said if one != "null"]
        said = real[0] if len(real) == 1 else None
    if said == "object" or (said is None and "properties" in schema):
        return "record"
    return _KINDS.get(said, "") if isinstance(said, str) else ""


def learn_schema(values: list[Any], depth: int = 0) -> JsonSchema:
    """What these values have in common, with every field that any of them has."""
    values = [one for one in values if one is not None]
    if not values or depth > _DEEPEST:
        return {}
    if all(isinstance(one, Mapping) for one in values):
        names = dict.fromkeys(name for one in values for name in one)
        fields = {name: learn_schema([one[name] for one in values if name in one], depth + 1) for name in names}
        return {"type": "object", "properties": fields}
    if all(isinstance(one, list | tuple) for one in values):
        return {"type": "array", "items": learn_schema([item for one in values for item in one], depth + 1)}
    kinds = {_learn_type(one) for one in values}
    return {"type": kinds.pop()} if len(kinds) == 1 else {}


def _learn_type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return {str: "string", int: "number", float: "number", list: "array", tuple: "array"}.get(type(value), "object")


# --- conditions -----------------------------------------------------------------------------------------------------


def find_type_errors(
    node: SyntaxNode, kinds: Mapping[int, str], find_schema: FindSchema, is_condition: bool = True
) -> Iterator[str]:
    """Comparisons and calculations in which one side can never fit the other, and conditions that are no yes or no.
    `kinds` is what is known of the nodes, by their ids."""
    yield from _check_node(node, kinds, find_schema, {})
    path = as_path(node, {}) if is_condition else None
    given = kind_of(find_schema(path)) if path else ""
    if given not in ("", "truth"):
        yield f"it gives {_WORDS[given]}, not true or false"


def _check_node(
    node: SyntaxNode, kinds: Mapping[int, str], find_schema: FindSchema, bound: LoopBindings
) -> Iterator[str]:
    def look(part: SyntaxNode) -> tuple[str, JsonSchema]:
        path = as_path(part, bound)
        schema = find_schema(path) if path else {}
        return kind_of(schema) or kinds.get(part.id, ""), schema

    if node.kind == "loop":
        over, *body = node.parts
        path = as_path(over, bound)
        element = ExpressionPath(path.root, (*path.steps, EACH)) if path else None
        yield from _check_node(over, kinds, find_schema, bound)
        inner: LoopBindings = {**bound, node.bound: element}
        for part in body:
            yield from _check_node(part, kinds, find_schema, inner)
        return
    for part in node.parts:
        yield from _check_node(part, kinds, find_schema, bound)
    if node.kind in ("select", "has"):
        kind, _ = look(node.parts[0])
        if kind in _FIELDLESS:
            yield f"'{node.name}' is looked for in {_WORDS[kind]}, which has no fields"
    if node.kind != "call":
        return
    if node.name in _LOGIC:
        for part in node.parts[:1] if node.name == "_?_:_" else node.parts:
            kind, _ = look(part)
            if kind in _WORDS and kind != "truth":
                yield f"'{_LOGIC[node.name]}' takes true or false, and this is {_WORDS[kind]}"
    elif node.name == "size":
        kind, _ = look(node.parts[0])
        if kind in _WORDS and kind not in _COUNTED:
            yield f"'size' counts a text, a list or a record, and this is {_WORDS[kind]}"
    elif node.name in _COMPARISONS or node.name in _ARITHMETIC:
        yield from _check_sides(node, *(look(part)[0] for part in node.parts))
    elif node.name == "@in":
        (left, _), (right, schema) = map(look, node.parts)
        inside = kind_of(_unfold(schema.get("items", {}), schema)) if right == "list" else ""
        if node.parts[1].kind == "list":
            written = {look(part)[0] for part in node.parts[1].parts}
            inside = written.pop() if len(written) == 1 else ""
        if right in ("text", "number", "truth"):
            yield f"'in' looks into a list or a record, and this is {_WORDS[right]}"
        elif left and inside and left != inside:
            yield f"'in' looks for {_WORDS[left]} in a list whose elements are each {_WORDS[inside]}"
    elif node.parts and (node.name in _OF_TEXTS or node.name == "time"):
        kind, _ = look(node.parts[0])
        if kind in _WORDS and kind != "text":
            yield f"'{node.name}' takes a text, and this is {_WORDS[kind]}"


def _check_sides(node: SyntaxNode, *sides: str) -> Iterator[str]:
    if len(sides) != 2 or not all(side in _WORDS for side in sides):
        return
    left, right = sides
    sign = _COMPARISONS.get(node.name) or _ARITHMETIC[node.name]
    if left == right or (sign in "+-" and {left, right} == {"moment", "duration"}):
        return
    hint = "; time(…) makes a moment of a text" if {left, right} == {"text", "moment"} else ""
    yield f"'{sign}' has {_WORDS[left]} on one side and {_WORDS[right]} on the other{hint}"
