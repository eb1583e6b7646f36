"""Syntax tree -> the type of every node, or everything that is wrong with it, with its position."""

from __future__ import annotations

from collections.abc import Mapping

from circumspect.policy.cel.patterns import compile_pattern
from circumspect.policy.cel.standard_functions import LEFT_OUT, SIGNATURES, Overload
from circumspect.policy.cel.syntax import ExpressionError, SyntaxNode, locate
from circumspect.policy.cel.types import (
    BOOL,
    DYN,
    FREE,
    INT,
    STRING,
    TYPE,
    CelType,
    TypeBindings,
    find_constant_type,
    fits,
    is_more_general,
    list_of,
    map_of,
    settle,
    substitute,
)
from circumspect.policy.cel.values import TYPE_NAMES

Declared = Mapping[str, CelType]
_TYPE_WORDS = frozenset(TYPE_NAMES.values()) - {"timestamp", "duration"}
_MIXED = "a whole number meets a decimal one, as all arguments and results are: write it with a point, 100.0"


def check(source: str, node: SyntaxNode, declared: Declared) -> dict[int, CelType]:
    """Types by the id of the node. Raises `ExpressionError`."""
    checker = _Checker(source)
    checker.find(node, declared)
    if checker.problems:
        raise ExpressionError("; ".join(checker.problems))
    return {number: settle(found) for number, found in checker.types.items()}


class _Checker:
    def __init__(self, source: str) -> None:
        self._source = source
        self.types: dict[int, CelType] = {}
        self.problems: list[str] = []

    def _report(self, node: SyntaxNode, problem: str) -> CelType:
        self.problems.append(f"{problem} {locate(self._source, node.position)}")
        return DYN

    def find(self, node: SyntaxNode, known: Declared) -> CelType:
        found = self.types[node.id] = self._find(node, known)
        return found

    def _find(self, node: SyntaxNode, known: Declared) -> CelType:
        match node.kind:
            case "const":
                return find_constant_type(node.constant)
            case "ident":
                return self._name(node, node.name, known)
            case "select" | "has":
                return self._field(node, known)
            case "list":
                return list_of(self._join([self.find(part, known) for part in node.parts]))
            case "map":
                return self._map(node, known)
            case "loop":
                return self._loop(node, known)
        return self._call(node, [self.find(part, known) for part in node.parts])

    def _name(self, node: SyntaxNode, name: str, known: Declared) -> CelType:
        if name in known:
            return known[name]
        return TYPE if name in _TYPE_WORDS else self._report(node, f"undeclared reference to '{name}'")

    def _field(self, node: SyntaxNode, known: Declared) -> CelType:
        root, names = node, []
        while root.kind == "select" or root is node:
            names.append(root.name)
            root = root.parts[0]
        if root.kind == "ident" and root.name not in known and root.name not in _TYPE_WORDS:
            return self._report(node, f"undeclared reference to '{'.'.join([root.name, *reversed(names)])}'")
        over = self.find(node.parts[0], known)
        if over.name not in ("map", "dyn", "free"):
            return self._report(node, f"expression of type '{settle(over)}' has no fields, so no '{node.name}'")
        return BOOL if node.kind == "has" else over.of[1] if over.name == "map" else DYN

    def _join(self, found: list[CelType]) -> CelType:
        """What all of them are, or anything."""
        joined = FREE
        for one in found:
            if is_more_general(one, joined):
                joined = one
            elif not fits(one, joined, {}):
                return DYN
        return joined

    def _map(self, node: SyntaxNode, known: Declared) -> CelType:
        keys = [self.find(part, known) for part in node.parts[::2]]
        for part, found in zip(node.parts[::2], keys, strict=True):
            if found not in (STRING, INT, DYN):
                self._report(part, f"a key of a map is a text or a whole number, not {settle(found)}")
        written = [part.constant for part in node.parts[::2] if part.kind == "const"]
        if len(set(written)) < len(written):
            self._report(node, "a key of this map is there twice")
        return map_of(self._join(keys), self._join([self.find(part, known) for part in node.parts[1::2]]))

    def _loop(self, node: SyntaxNode, known: Declared) -> CelType:
        over = self.find(node.parts[0], known)
        if over.name not in ("list", "map", "dyn", "free"):
            self._report(
                node.parts[0], f"expression of type '{settle(over)}' cannot be gone through; a list or a map can"
            )
        inner = {**known, node.bound: over.of[0] if over.of else DYN}
        body = [self.find(part, inner) for part in node.parts[1:]]
        conditions = body[:-1] if node.name == "map" else body
        for part, found in zip(node.parts[1:], conditions, strict=False):
            if found not in (BOOL, DYN, FREE):
                self._report(part, f"{node.name}() asks for true or false, and this is {settle(found)}")
        if node.name == "filter":
            return over if over.name == "list" else list_of(over.of[0] if over.of else DYN)
        return list_of(body[-1]) if node.name == "map" else BOOL

    def _call(self, node: SyntaxNode, given: list[CelType]) -> CelType:
        overloads = [one for one in SIGNATURES.get(node.name, ()) if one.member is node.member]
        shaped = [one for one in overloads if len(one.takes) == len(given)]
        if not shaped:
            return self._report(node, _describe_unknown(node, overloads))
        if node.name == "matches":
            self._check_pattern(node)
        results: list[CelType] = []
        for one in shaped:
            bindings: TypeBindings = {}
            if all(fits(have, want, bindings) for have, want in zip(given, one.takes, strict=True)):
                results.append(substitute(one.gives, bindings))
        if not results:
            return self._report(node, _describe_misfit(node.name, given))
        return results[0] if all(result == results[0] for result in results) else DYN

    def _check_pattern(self, node: SyntaxNode) -> None:
        pattern = node.parts[1]
        if pattern.kind != "const" or not isinstance(pattern.constant, str):
            self._report(pattern, "the pattern of matches() must be written out, not come from the conversation")
            return
        try:
            compile_pattern(pattern.constant)
        except ExpressionError as problem:
            self._report(pattern, str(problem))


def _describe_unknown(node: SyntaxNode, overloads: list[Overload]) -> str:
    if node.name in LEFT_OUT:
        return f"{node.name}() is CEL, but not used here"
    if overloads:
        return f"{node.name}() takes another number of arguments"
    if node.name in SIGNATURES:
        return f"it is written {node.name}(x)" if node.member else f"it is written x.{node.name}()"
    return f"undeclared reference to '{node.name}'"


def _describe_misfit(name: str, given: list[CelType]) -> str:
    shown = ", ".join(str(settle(one)) for one in given)
    if shown in ("int, double", "double, int") and name not in ("_[_]", "@in"):
        return _MIXED
    return f"{name.strip('_@').replace('_', ' ')} cannot take ({shown})"
