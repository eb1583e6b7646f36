"""CEL text to a checked, compiled `Program` that knows which places of the conversation it reads.

`policy/cel` parses, type-checks and compiles. From the syntax tree we learn what a condition reads, so that an
evaluation converts the one field it names and not the whole conversation, and so that a missing fact can be named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from circumspect.policy.cel.check import check
from circumspect.policy.cel.compile import compile_tree
from circumspect.policy.cel.parse import parse
from circumspect.policy.cel.syntax import ExpressionError, SyntaxNode
from circumspect.policy.cel.types import BOOL, DOUBLE, DYN, INT, STRING, TIMESTAMP, CelType, list_of, map_of
from circumspect.policy.cel.values import CelError, make_plain
from circumspect.policy.grounding.places import (
    ExpressionPath,
    ReadTree,
    as_path,
    build_read_tree,
    is_many,
    paths,
    with_keys,
)
from circumspect.policy.keys.scope import ConditionScope

__all__ = ["ExpressionError", "Program", "compile_condition", "compile_value", "find_places", "resolve_place"]

ROOTS = ("args", "facts", "latest", "results", "calls", "user", "person", "now", "tenant")
"""What every condition can speak of. `call` is added in `requires`, `result` in `verify`."""
FUNCTIONS = ("time", "sum", "zip", "mentions")
_DEEPEST_LET = 16
_ARITHMETIC = {"_+_": "+", "_-_": "-", "_*_": "*", "_/_": "/", "_%_": "%"}


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled condition. `read` is what it reads, as written; `places` the same with every name put in its place."""

    source: str
    read: Mapping[str, ReadTree]
    places: tuple[ExpressionPath, ...]
    arithmetic: bool
    """It calculates, so numbers go in as decimals, whether or not the JSON had a point in it."""
    gives: CelType
    """`bool`, or `dyn` when that depends on the values."""
    run: Callable[[Mapping[str, Any]], Any]

    def evaluate(self, values: Mapping[str, Any]) -> bool | CelError:
        """True, False, or why it cannot be decided."""
        try:
            answer = self.run(values)
        except CelError as problem:
            return problem.with_traceback(None)
        except Exception as problem:  # whatever it trips over: it was not decided
            return CelError(str(problem))
        return answer if isinstance(answer, bool) else CelError("it is neither true nor false")

    def compute(self, values: Mapping[str, Any]) -> Any:
        """The value, as plain Python. Raises `ExpressionError`."""
        try:
            return make_plain(self.run(values))
        except Exception as problem:
            raise ExpressionError(str(problem)) from None


def compile_condition(source: str, scope: ConditionScope) -> Program:
    """A condition, compiled once for each text and scope. Raises `ExpressionError`."""
    found: Program | None = scope.compiled.get(source)
    if found is None:
        found = scope.compiled[source] = _compile(source, scope)
        if found.gives not in (BOOL, DYN):
            del scope.compiled[source]
            raise ExpressionError(f"it gives {_article(found.gives)}, not true or false")
    return found


def find_places(source: str, scope: ConditionScope) -> tuple[ExpressionPath, ...]:
    """The places that a condition reads; none when it is no condition."""
    try:
        return compile_condition(source, scope).places
    except ExpressionError:
        return ()


def resolve_place(name: str, scope: ConditionScope, depth: int = 0) -> ExpressionPath:
    """Where a name of `let` points to. Raises `ExpressionError` for anything but a place, and for circles."""
    found: ExpressionPath | None = scope.compiled.get(("let", name))
    if found is None:
        if depth > _DEEPEST_LET:
            raise ExpressionError(f"'{name}' goes round in a circle")
        path = as_path(_type_check(scope.let[name], scope)[0], {})
        if path is None or is_many(path):
            raise ExpressionError(f"'{name}' must be a place, such as facts.TOOL[args.ID], not a calculation")
        found = scope.compiled["let", name] = resolve_names(path, scope, depth + 1)
    return found


def _compile(source: str, scope: ConditionScope) -> Program:
    node, types = _type_check(source, scope)
    if problems := [*_find_reserved_names(node, scope), *_find_mixed_numbers(node, types)]:
        raise ExpressionError("; ".join(problems))
    found = tuple(dict.fromkeys(paths(node, {})))
    return Program(
        source=source,
        read=build_read_tree(found),
        places=tuple(dict.fromkeys(place for path in found for place in with_keys(resolve_names(path, scope)))),
        arithmetic=any(
            one.name in _ARITHMETIC and all(types[part.id] in (INT, DOUBLE, DYN) for part in one.parts)
            for one in node.walk()
        ),
        gives=types[node.id],
        run=compile_tree(node, zone_of(scope.timezone)),
    )


def parse_typed(source: str, scope: ConditionScope) -> tuple[SyntaxNode, Mapping[int, str]]:
    """The syntax tree of a condition that compiles, and what kind of value each of its nodes gives."""
    node, types = _type_check(source, scope)
    return node, {number: _KINDS.get(found.name, "") for number, found in types.items()}


def compile_value(source: str, scope: ConditionScope) -> Program:
    """An expression that may give anything: the arguments of `verify`."""
    found: Program | None = scope.compiled.get(("value", source))
    if found is None:
        found = scope.compiled["value", source] = _compile(source, scope)
    return found


DECLARED = {
    "result": DYN,
    **dict.fromkeys(("args", "latest", "call", "person"), map_of(STRING, DYN)),
    "facts": map_of(STRING, map_of(DYN, DYN)),
    "results": map_of(STRING, list_of(DYN)),
    "calls": list_of(map_of(STRING, DYN)),
    "user": list_of(STRING),
    "now": TIMESTAMP,
    "tenant": STRING,
}
_KINDS = {
    "bool": "truth",
    "int": "number",
    "double": "number",
    "string": "text",
    "timestamp": "moment",
    "duration": "duration",
    "list": "list",
    "map": "record",
}


def _type_check(source: str, scope: ConditionScope) -> tuple[SyntaxNode, Mapping[int, CelType]]:
    node = parse(source)
    return node, check(source, node, {**dict.fromkeys(scope.let, DYN), **DECLARED})


def zone_of(timezone: str) -> tzinfo:
    return UTC if timezone == "UTC" else ZoneInfo(timezone)


def _article(found: CelType) -> str:
    plain = {"int": "a number", "double": "a number", "string": "a text", "list": "a list"}
    return plain.get(found.name, "something else")


# --- names and checks ------------------------------------------------------------------------------------------------


def resolve_names(path: ExpressionPath, scope: ConditionScope, depth: int = 0) -> ExpressionPath:
    """With the names of `let` replaced by what they stand for."""
    steps = tuple(
        resolve_names(step, scope, depth + 1) if isinstance(step, ExpressionPath) else step for step in path.steps
    )
    if path.root not in scope.let:
        return ExpressionPath(path.root, steps)
    start = resolve_place(path.root, scope, depth + 1)
    return ExpressionPath(start.root, (*start.steps, *steps))


def _find_reserved_names(node: SyntaxNode, scope: ConditionScope) -> list[str]:
    """A loop variable that hides one of ours would make the same word mean two things."""
    known = {*ROOTS, *scope.let}
    return [
        f"'{name}' already has a meaning; call the loop variable something else"
        for one in node.walk()
        if (name := one.bound) in known
    ]


def _find_mixed_numbers(node: SyntaxNode, types: Mapping[int, CelType]) -> list[str]:
    """CEL does not add a whole number to a decimal one, and every number of an argument or result is decimal."""
    found = []
    for one in node.walk():
        if one.name not in _ARITHMETIC or len(one.parts) != 2:
            continue
        whole = [part for part in one.parts if types[part.id] == INT]
        open_ended = [part for part in one.parts if types[part.id] in (DYN, DOUBLE)]
        if whole and open_ended:
            literal = next((str(part.constant) for part in whole if part.kind == "const"), None)
            fix = f"write {literal}.0" if literal and one.name != "_%_" else "use int(…) or double(…)"
            found.append(f"'{_ARITHMETIC[one.name]}' has a whole number and a decimal one, as arguments are: {fix}")
    return found
