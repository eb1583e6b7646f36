"""Checks that several keys share: tools, parameters and conditions that somebody names must exist and make sense."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from circumspect.policy.expressions import (
    FUNCTIONS,
    ROOTS,
    ExpressionError,
    compile_condition,
    compile_value,
    resolve_place,
)
from circumspect.policy.grounding.places import ExpressionPath
from circumspect.policy.keys.findings import LintRemark, Place, suggest_word
from circumspect.policy.keys.meaning import LintBook, LintedSection, PolicySection, find_formulas
from circumspect.policy.keys.scope import ConditionScope
from circumspect.values import ToolSpec

_TAKEN = frozenset(
    ("as", "else", "false", "for", "if", "in", "let", "null", "true", "call", "result", "math", "strings")
)
ALL_BUT_EQUAL = 0.9
"""How alike two names are of which one is most likely a slip of the pen."""
HOW_TO_DECLARE = "If clients bring it along, declare it below `tools` of the tenant file: - client: {name: …}."
_WORD = re.compile(r"[A-Za-z_]\w*")


def check_tool(at: Place, tool: str, book: LintBook) -> Iterator[LintRemark]:
    """A remark when no tool has this name. Where clients bring tools along it may be one of theirs, unless it is all
    but the name of one that is known."""
    if book.specs is None or tool in book.specs or (book.seen is not None and tool in book.seen):
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


def check_names(let: Mapping[str, str], at: Place, about: LintedSection) -> Iterator[LintRemark]:
    """Names that cannot be used, stand for nothing, or are used nowhere in the file."""
    used = {
        word
        for section in about.book.policy.sections.values()
        for word in _collect_words(section, about.book.policy.scope_of(section))
    }
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


def _collect_words(section: PolicySection, scope: ConditionScope) -> set[str]:
    words = {word for _, text, _ in find_formulas((), section) for word in _WORD.findall(text)}
    for _ in scope.let:
        words |= {word for name in words & scope.let.keys() for word in _WORD.findall(scope.let[name])}
    return words


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
        if spec and spec.open_world:
            problem = f"strangers can write what '{first}' returns, so it never becomes a fact"
            yield LintRemark("error", at, problem, "Decide by a tool that can be trusted.")
        if spec and path.root == "facts" and not _has_key(spec, about.book):
            problem = f"nothing says by which parameter the results of '{first}' are kept"
            yield LintRemark("error", at, problem, f"Add `facts: {{{first}: {{key: …}}}}`, or use latest.{first}.")


def _has_key(spec: ToolSpec, book: LintBook) -> bool:
    source = book.policy.facts.get(spec.name)
    ids = [name for name in spec.properties if name.lower().endswith("id")]
    return bool(source and source.key) or len(spec.properties) == 1 or len(ids) == 1 or not spec.properties
