"""Checks that several keys share: tools, parameters and conditions that somebody names must exist and make sense."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from circumspect.policy.expressions import (
    FUNCTIONS,
    ROOTS,
    ExpressionError,
    compile_condition,
    compile_value,
    parse_typed,
    resolve_names,
    resolve_place,
)
from circumspect.policy.grounding.places import ExpressionPath
from circumspect.policy.keys.findings import Level, LintRemark, Place, suggest_word
from circumspect.policy.keys.meaning import LintBook, LintedSection, PolicySection, find_formulas
from circumspect.policy.keys.scope import ConditionScope
from circumspect.policy.value_kinds import AbsentField, JsonSchema, find_type_errors, follow, kind_of
from circumspect.values import ToolSpec

_TAKEN = frozenset(
    ("as", "else", "false", "for", "if", "in", "let", "null", "true", "call", "result", "math", "strings")
)
ALL_BUT_EQUAL = 0.9
"""How alike two names are of which one is most likely a slip of the pen."""
UNDECLARED = "nobody declares a tool "
HOW_TO_DECLARE = "If clients bring it along, declare it below `tools` of the tenant file: - client: {name: …}."
HOW_TO_DECLARE_SEVERAL = (
    "If clients bring them along, declare each below `tools` of the tenant file: - client: {name: …}."
)
_WORD = re.compile(r"[A-Za-z_]\w*")


def check_tool(at: Place, tool: str, book: LintBook) -> Iterator[LintRemark]:
    """A remark when no tool has this name. Where clients bring tools along it may be one of theirs, unless it is all
    but the name of one that is known; where nobody says which tools there are, those are known that the file names."""
    if book.specs is None:
        named = book.policy.general(tool) is not None or tool in book.learnt
        near = "" if named else suggest_word(tool, (*book.policy.tools, *book.learnt), closeness=ALL_BUT_EQUAL)
        if near:
            yield LintRemark("warning", at, f"no tool is named '{tool}'", near)
        return
    if tool in book.specs or (book.seen is not None and tool in book.seen):
        return
    if book.seen is None:
        fix = suggest_word(tool, book.specs) or "Check the name; case matters."
        yield LintRemark("error", at, f"no tool is named '{tool}'", fix)
    elif near := suggest_word(tool, (*book.specs, *book.seen), closeness=ALL_BUT_EQUAL):
        yield LintRemark("error", at, f"no tool is named '{tool}'", f"{near} {HOW_TO_DECLARE}")
    else:
        yield LintRemark("warning", at, f"nobody declares a tool '{tool}'", HOW_TO_DECLARE)


def check_parameter(at: Place, name: str, spec: ToolSpec | None) -> Iterator[LintRemark]:
    """An error when the tool has no such parameter."""
    if spec and spec.properties and name not in spec.properties:
        fix = suggest_word(name, spec.properties) or f"It has: {', '.join(spec.properties)}."
        yield LintRemark("error", at, f"'{spec.name}' has no parameter '{name}'", fix)


# --- conditions -----------------------------------------------------------------------------------------------------


def check_formulas(at: Place, section: PolicySection, about: LintedSection) -> Iterator[LintRemark]:
    """Every condition of a section that cannot run, or that reads what is not there."""
    for here, text, formula in find_formulas(at, section):
        compiled = compile_condition if formula.gives == "condition" else compile_value
        try:
            places = compiled(text, about.scope).places
        except ExpressionError as problem:
            yield LintRemark("error", here, f"this does not work: {problem}", _hint(str(problem), about.scope))
            continue
        for path in places:
            yield from _check_path(here, path, formula.also, about)
            yield from _check_fields(here, path, about)
        yield from _check_types(here, text, formula.gives == "condition", about)


def check_names(let: Mapping[str, str], at: Place, about: LintedSection) -> Iterator[LintRemark]:
    """Names that cannot be used, stand for nothing, or are used nowhere in the file."""
    used = about.book.policy.used_words if let else ()
    for name in let:
        here: Place = (*at, name)
        if name in (*ROOTS, *FUNCTIONS) or name in _TAKEN or not (name.isidentifier() and name.isascii()):
            yield LintRemark("error", here, f"'{name}' cannot be a name", "Choose a plain word that is not taken.")
            continue
        try:
            resolve_place(name, about.scope)
        except ExpressionError as problem:
            yield LintRemark("error", here, f"let {name}: {problem}", _hint(str(problem), about.scope))
            continue
        if name not in used:
            yield LintRemark("warning", here, f"'{name}' is not used", "Leave it out, or use it in a condition.")


def collect_words(scopes: Iterable[tuple[PolicySection, ConditionScope]]) -> frozenset[str]:
    """Every word of the conditions of some sections, and of what names in them stand for."""
    by_names: dict[int, tuple[Mapping[str, str], set[str]]] = {}
    for section, scope in scopes:
        _, words = by_names.setdefault(id(scope.compiled), (scope.let, set()))
        words.update(word for _, text, _ in find_formulas((), section) for word in _WORD.findall(text))
    for let, words in by_names.values():
        pending = [name for name in let if name in words]
        while pending:
            new = {word for word in _WORD.findall(let[pending.pop()]) if word not in words}
            words |= new
            pending += new & let.keys()
    return frozenset[str]().union(*(words for _, words in by_names.values()))


def _hint(problem: str, scope: ConditionScope) -> str:
    unknown = re.search(r"undeclared reference to '(\w+)", problem)
    if not unknown:
        return "Conditions are CEL; `circumspect docs policy` shows what they can say."
    known = (*ROOTS, *scope.let, *FUNCTIONS)
    return suggest_word(unknown[1], known) or f"Known here: {', '.join(known)}."


def _check_path(at: Place, path: ExpressionPath, also: str, about: LintedSection) -> Iterator[LintRemark]:
    first = path.steps[0] if path.steps else None
    if path.root in ("call", "result") and path.root != also:
        only = "a requirement" if path.root == "call" else "`verify` and `whole`"
        yield LintRemark("error", at, f"'{path.root}' only has a meaning in {only}", "Use args or facts here.")
    if not isinstance(first, str):
        return
    if path.root == "args":
        yield from check_parameter(at, first, about.spec)
    elif path.root == "person" and first not in ("id", "claims"):
        problem = f"nothing is known of a person under '{first}'"
        yield LintRemark("error", at, problem, "Use person.id, or person.claims for what a signed token says.")
    elif path.root in ("facts", "latest", "results"):
        yield from check_tool(at, first, about.book)
        spec = about.book.spec(first)
        if about.book.is_open_world(first):
            problem = f"strangers can write what '{first}' returns, so it never becomes a fact"
            yield LintRemark("error", at, problem, "Decide by a tool that can be trusted.")
        if spec and path.root == "facts" and not _has_key(spec, about.book):
            problem = f"nothing says by which parameter the results of '{first}' are kept"
            yield LintRemark("error", at, problem, f"Add `facts: {{{first}: {{key: …}}}}`, or use latest.{first}.")


def _check_fields(at: Place, path: ExpressionPath, about: LintedSection) -> Iterator[LintRemark]:
    """Fields that no argument or result has. A schema that is open, or was only learnt, may not know of all of them."""
    found = _find_schema(path, about)
    if isinstance(found, AbsentField):
        level: Level = "error" if found.closed else "warning"
        yield LintRemark(level, at, f"{path} is nowhere: there is no '{found.name}'", found.fix)


def _check_types(at: Place, text: str, is_condition: bool, about: LintedSection) -> Iterator[LintRemark]:
    def find_schema(path: ExpressionPath) -> JsonSchema:
        found = _find_schema(resolve_names(path, about.scope), about)
        return {} if isinstance(found, AbsentField) else found

    node, kinds = parse_typed(text, about.scope)
    for problem in find_type_errors(node, kinds, find_schema, is_condition):
        level: Level = "warning" if about.book.learnt else "error"
        yield LintRemark(level, at, f"this can never be decided: {problem}", "Compare what is alike.")


def _find_schema(path: ExpressionPath, about: LintedSection) -> JsonSchema | AbsentField:
    """Of what is at the place; a parameter that does not exist is somebody else's finding."""
    steps = path.steps
    if path.root == "args" and about.spec and steps and steps[0] in about.spec.properties:
        return follow(about.spec.parameters, steps)
    before = {"latest": 1, "facts": 2, "results": 2}.get(path.root)
    if before is None or len(steps) < before or not isinstance(steps[0], str):
        return {}
    returned = about.book.returns(steps[0])
    # A text may be JSON, and then the fact is what it says.
    return {} if kind_of(returned) == "text" else follow(returned, steps[before:])


def _has_key(spec: ToolSpec, book: LintBook) -> bool:
    source = book.policy.facts.get(spec.name)
    ids = [name for name in spec.properties if name.lower().endswith("id")]
    return bool(source and source.key) or len(spec.properties) == 1 or len(ids) == 1 or not spec.properties
