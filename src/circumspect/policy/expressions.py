"""CEL text to a checked, compiled `Program` that knows which places of the conversation it reads.

The library (Google's own CEL, `cel-expr-python`) parses, type-checks and evaluates. From the syntax tree that it hands
out we learn what a condition reads, so that an evaluation converts the one field it names and not the whole
conversation, and so that a missing fact can be named. The library is imported on first use.

What may surprise: a condition remembers what it came to. It is a pure function of the few values it reads, and the same
record is asked about again and again. Kept is a digest of the values, never the values.
"""

from __future__ import annotations

import marshal
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from hashlib import blake2b
from importlib import import_module
from typing import Any
from zoneinfo import ZoneInfo

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
from circumspect.policy.syntax import SyntaxNode, read_kinds, tree

ROOTS = ("args", "facts", "latest", "results", "calls", "user", "person", "now", "tenant")
"""What every condition can speak of. `call` is added in `requires`, `result` in `verify`."""
FUNCTIONS = ("time", "sum", "zip", "mentions")
_DEEPEST_LET = 16
_REMEMBERED = 512
_LONGEST_KEY = 4096
"""Whatever reads more than this is mostly words, and words do not come again."""
_ARITHMETIC = {"_+_": "+", "_-_": "-", "_*_": "*", "_/_": "/", "_%_": "%"}


class ExpressionError(ValueError):
    """The text is no usable condition. Its words are for the person who wrote it."""


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled condition. `read` is what it reads, as written; `places` the same with every name put in its place."""

    source: str
    read: Mapping[str, ReadTree]
    places: tuple[ExpressionPath, ...]
    arithmetic: bool
    """It calculates, so numbers go in as decimals, whether or not the JSON had a point in it."""
    kind: str
    """What it gives, by the library's name: BOOL, or DYN when that depends on the values."""
    expression: Any
    answers: dict[bytes, bool] = field(default_factory=dict, compare=False, repr=False)

    def evaluate(self, values: Mapping[str, Any]) -> bool | str:
        """True, False, or why it cannot be decided."""
        key = _key(values)
        known = self.answers.get(key)
        if known is not None:
            return known
        try:
            answer = self.expression.eval(data=values).value()
        except Exception as problem:  # whatever the library trips over: it was not decided
            return str(problem)
        if not isinstance(answer, bool):
            return str(answer)
        if key:
            if len(self.answers) >= _REMEMBERED:
                self.answers.clear()
            self.answers[key] = answer
        return answer

    def compute(self, values: Mapping[str, Any]) -> Any:
        """The value, as plain Python. Raises `ExpressionError`."""
        try:
            answer = self.expression.eval(data=values)
        except Exception as problem:
            raise ExpressionError(str(problem)) from None
        if answer.type().name() == "ERROR":
            raise ExpressionError(str(answer.value()))
        return answer.plain_value()


def _key(values: Any) -> bytes:
    """A digest in which types count, too: 1 is not 1.0. Empty when the values have none."""
    try:
        data = marshal.dumps(values, 2)  # the last version that writes equal values alike, wherever they are stored
    except ValueError:
        return b""  # a moment, or something bottomless
    return blake2b(data, digest_size=16).digest() if len(data) <= _LONGEST_KEY else b""


def compile_condition(source: str, scope: ConditionScope) -> Program:
    """A condition, compiled once for each text and scope. Raises `ExpressionError`."""
    found: Program | None = scope.compiled.get(source)
    if found is None:
        found = scope.compiled[source] = _compile(source, scope)
        if found.kind not in ("BOOL", "DYN"):
            del scope.compiled[source]
            raise ExpressionError(f"it gives {_article(found.kind)}, not true or false")
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
        node, _ = tree(_type_check(scope.let[name], scope).serialize())
        path = as_path(node, {})
        if path is None or is_many(path):
            raise ExpressionError(f"'{name}' must be a place, such as facts.TOOL[args.ID], not a calculation")
        found = scope.compiled["let", name] = resolve_names(path, scope, depth + 1)
    return found


def _compile(source: str, scope: ConditionScope) -> Program:
    expression = _type_check(source, scope)
    node, types = tree(expression.serialize())
    if problems := [*_find_reserved_names(node, scope), *_find_mixed_numbers(node, types)]:
        raise ExpressionError("; ".join(problems))
    found = tuple(dict.fromkeys(paths(node, {})))
    return Program(
        source=source,
        read=build_read_tree(found),
        places=tuple(dict.fromkeys(place for path in found for place in with_keys(resolve_names(path, scope)))),
        arithmetic=any(
            one.name in _ARITHMETIC and all(types.get(part.id) != "other" for part in one.parts) for one in node.walk()
        ),
        kind=expression.return_type().name(),
        expression=expression,
    )


def parse_typed(source: str, scope: ConditionScope) -> tuple[SyntaxNode, Mapping[int, str]]:
    """The syntax tree of a condition that compiles, and what kind of value each of its nodes gives."""
    serialised = _type_check(source, scope).serialize()
    return tree(serialised)[0], read_kinds(serialised)


def compile_value(source: str, scope: ConditionScope) -> Program:
    """An expression that may give anything: the arguments of `verify`."""
    found: Program | None = scope.compiled.get(("value", source))
    if found is None:
        found = scope.compiled["value", source] = _compile(source, scope)
    return found


# --- the library ----------------------------------------------------------------------------------------------------


def _type_check(source: str, scope: ConditionScope) -> Any:
    environment = _environment(tuple(sorted(scope.let)), scope.timezone)
    try:
        return environment.compile(source)
    except RuntimeError as problem:
        raise ExpressionError(_describe_problem(str(problem))) from None


@lru_cache(maxsize=64)
def _environment(names: tuple[str, ...], timezone: str) -> Any:
    cel = import_module("cel_expr_python.cel")
    extensions = [
        import_module("cel_expr_python.ext.ext_strings").ExtStrings(),
        import_module("cel_expr_python.ext.ext_math").ExtMath(),
    ]
    kind = cel.Type
    anything, text = kind.DYN, kind.STRING
    variables = {
        **dict.fromkeys((*names, "result"), anything),
        **dict.fromkeys(("args", "latest", "call", "person"), kind.Map(text, anything)),
        "facts": kind.Map(text, kind.Map(anything, anything)),
        "results": kind.Map(text, kind.List(anything)),
        "calls": kind.List(kind.Map(text, anything)),
        "user": kind.List(text),
        "now": kind.TIMESTAMP,
        "tenant": text,
    }

    def function(name: str, run: Any, gives: Any, *takes: Any, member: bool = False) -> Any:
        overload = cel.Overload(f"circumspect_{name}", return_type=gives, parameters=takes, is_member=member, impl=run)
        return cel.FunctionDecl(name, [overload])

    zone = zone_of(timezone)
    items = kind.List(anything)
    functions = [
        function("time", lambda said: _time(said, zone), kind.TIMESTAMP, text),
        function("sum", _sum, kind.DOUBLE, items),
        function("zip", _zip, kind.List(items), items, items),
        function("mentions", _mentions, kind.BOOL, kind.List(text), text, member=True),
    ]
    return cel.NewEnv(variables=variables, functions=functions, extensions=extensions)


def zone_of(timezone: str) -> tzinfo:
    return UTC if timezone == "UTC" else ZoneInfo(timezone)


def _time(said: str, zone: tzinfo) -> datetime:
    """A date is its first moment. What names no zone is in the policy's."""
    moment = datetime.fromisoformat(said.strip())
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def _sum(items: list[Any]) -> float:
    if not all(isinstance(item, int | float) and not isinstance(item, bool) for item in items):
        raise ValueError("sum() takes numbers")
    return float(sum(items))


def _zip(left: list[Any], right: list[Any]) -> list[list[Any]]:
    if len(left) != len(right):
        raise ValueError("zip() takes lists of the same length")
    return [list(pair) for pair in zip(left, right, strict=True)]


def _mentions(texts: list[str], words: str) -> bool:
    return any(words.casefold() in text.casefold() for text in texts)


_POSITIONED = re.compile(r"ERROR: <input>:(-?\d+):(-?\d+): (.*)")


def _describe_problem(problem: str) -> str:
    """The library's report, without its frame."""
    found = [
        (int(column), re.sub(r" \(in container ''\)| expecting \{.*", "", text).strip())
        for _, column, text in _POSITIONED.findall(problem)
    ]
    if not found:
        return re.sub(r"^[A-Z_]+: |\s*\[[A-Z_]+\]\s*$", "", problem)
    return "; ".join(f"{_plainly(text)} (at character {column})" if column > 0 else text for column, text in found)


def _plainly(text: str) -> str:
    if "(double, int)" in text or "(int, double)" in text:
        return "a whole number meets a decimal one, as all arguments and results are: write it with a point, 100.0"
    return text


def _article(kind: str) -> str:
    plain = {"INT": "a number", "DOUBLE": "a number", "UINT": "a number", "STRING": "a text"}
    return plain.get(kind, "a list" if kind.startswith("LIST") else "something else")


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
        for name in one.bound
        if name in known
    ]


def _find_mixed_numbers(node: SyntaxNode, types: Mapping[int, str]) -> list[str]:
    """CEL does not add a whole number to a decimal one, and every number of an argument or result is decimal."""
    found = []
    for one in node.walk():
        if one.name not in _ARITHMETIC or len(one.parts) != 2:
            continue
        whole = [part for part in one.parts if types.get(part.id) == "int"]
        open_ended = [part for part in one.parts if types.get(part.id) in ("dyn", "double", None)]
        if whole and open_ended:
            literal = next((str(part.constant) for part in whole if part.kind == "const"), None)
            fix = f"write {literal}.0" if literal and one.name != "_%_" else "use int(…) or double(…)"
            found.append(f"'{_ARITHMETIC[one.name]}' has a whole number and a decimal one, as arguments are: {fix}")
    return found
