"""A policy, and the tools it is about -> what makes no sense in it. Errors refuse the file; warnings are for a person.

Everything is checked against what the author can see: the file itself, and (where given) the tools with their
parameters. Conditions are compiled here, so that a file that loads has no condition that cannot run.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from circumspect.policy.diff import compare
from circumspect.policy.expressions import (
    FUNCTIONS,
    ROOTS,
    ExpressionError,
    compile_condition,
    compile_value,
    resolve_place,
    zone_of,
)
from circumspect.policy.grounding.places import ExpressionPath
from circumspect.policy.policy_file import (
    EFFECTS,
    CallLimit,
    ConditionScope,
    Pattern,
    Policy,
    Requirement,
    ToolPolicy,
    Verify,
    effect_of,
)
from circumspect.values import LANGUAGES, TenantId, ToolSpec

Level = Literal["error", "warning"]
Place: TypeAlias = tuple[str | int, ...]
"""Where in the file: `("tools", "cancel_order", "when", 0)`."""

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_TAKEN = frozenset(
    ("as", "else", "false", "for", "if", "in", "let", "null", "true", "call", "result", "math", "strings")
)
_GOVERNS = ("confidence_cap", "confirm", "critical", "recovery", "params", "requires", "deny_unless", "when", "limits")


@dataclass(frozen=True, slots=True)
class FileFinding:
    level: Level
    line: int
    problem: str
    fix: str

    def describe(self, name: str) -> str:
        """`file:line: problem; fix`."""
        head = f"{name}:{self.line}: " if self.line else f"{name}: "
        return head + (f"{self.problem}; {self.fix}" if self.fix else self.problem)


@dataclass(frozen=True, slots=True)
class _Remark:
    level: Level
    place: Place
    problem: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class _Book:
    """The file, and the tools it is held against. With no tools given, any name may be right."""

    policy: Policy
    specs: Mapping[str, ToolSpec] | None

    def spec(self, tool: str) -> ToolSpec | None:
        return self.specs.get(tool) if self.specs else None

    def effect(self, tool: str) -> str | None:
        return effect_of(self.spec(tool), self.policy.general(tool))


def lint(
    policy: Policy, *, specs: Mapping[str, ToolSpec] | None = None, lines: Mapping[Place, int] | None = None
) -> list[FileFinding]:
    """Everything that is wrong or doubtful, in the order of the file."""
    where = lines or {}
    found = []
    for remark in _remarks(_Book(policy, specs)):
        at = remark.place
        line = next((where[at[:size]] for size in range(len(at), -1, -1) if at[:size] in where), 0)
        found.append(FileFinding(remark.level, line, remark.problem, remark.fix))
    return sorted(dict.fromkeys(found), key=lambda one: (one.line, one.level))


def suggest_word(word: str, words: Iterable[str]) -> str:
    """ "did you mean 'confirm'?", if there is something near."""
    near = difflib.get_close_matches(word, list(words), n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else ""


def _remarks(book: _Book) -> Iterator[_Remark]:
    policy = book.policy
    try:
        zone_of(policy.timezone)
    except (ValueError, OSError, KeyError):
        yield _Remark("error", ("timezone",), f"no time zone '{policy.timezone}'", "Write it like America/New_York.")
        return
    yield from _names(policy)
    yield from _sources(book)
    for tool, section in policy.tools.items():
        at: Place = ("tools", tool)
        yield from _contradictions(at, section, book.spec(tool))
        yield from _section(at, tool, section, policy.scope_of(section), book)
        if section.deny is None and book.effect(tool) is None and (book.specs is None or tool in book.specs):
            problem = f"nothing here says what '{tool}' does, so its calls are denied unless the tool declares it"
            yield _Remark("warning", at, problem, "Add effect: read, write or destructive.")
    for position, pattern in enumerate(policy.patterns):
        yield from _pattern(position, pattern, book)
    for tenant, theirs in policy.tenants.items():
        for tool, section in theirs.tools.items():
            yield from _tenant(("tenants", tenant, "tools", tool), tool, section, TenantId(tenant), book)


# --- names and facts ------------------------------------------------------------------------------------------------


def _names(policy: Policy) -> Iterator[_Remark]:
    sections: list[tuple[Place, Mapping[str, str], ConditionScope]] = [((), policy.let, policy.scope_of(ToolPolicy()))]
    sections += [(at, section.let, policy.scope_of(section)) for at, section in _sections(policy)]
    used = {name for _, section in _sections(policy) for name in _collect_words(section, policy.scope_of(section))}
    for at, let, scope in sections:
        for name in let:
            here: Place = (*at, "let", name)
            if name in (*ROOTS, *FUNCTIONS) or name in _TAKEN or not (name.isidentifier() and name.isascii()):
                yield _Remark("error", here, f"'{name}' cannot be a name", "Choose a plain word that is not taken.")
                continue
            try:
                resolve_place(name, scope)
            except ExpressionError as problem:
                yield _Remark("error", here, f"let {name}: {problem}", _hint(str(problem), scope))
                continue
            if name not in used:
                yield _Remark("warning", here, f"'{name}' is not used", "Leave it out, or use it in a condition.")


def _sections(policy: Policy) -> Iterator[tuple[Place, ToolPolicy]]:
    for tool, section in policy.tools.items():
        yield ("tools", tool), section
    for position, pattern in enumerate(policy.patterns):
        yield ("patterns", position), pattern
    for tenant, theirs in policy.tenants.items():
        for tool, section in theirs.tools.items():
            yield ("tenants", tenant, "tools", tool), section


def _collect_words(section: ToolPolicy, scope: ConditionScope) -> set[str]:
    texts = [text for _, text, _ in _conditions((), section)]
    texts += section.verify.args.values() if section.verify else ()
    words = {word for text in texts for word in re.findall(r"[A-Za-z_]\w*", text)}
    for _ in scope.let:
        words |= {word for name in words & scope.let.keys() for word in re.findall(r"[A-Za-z_]\w*", scope.let[name])}
    return words


def _sources(book: _Book) -> Iterator[_Remark]:
    for tool, source in book.policy.facts.items():
        at: Place = ("facts", tool)
        for name in (tool, *source.updated_by):
            yield from _tool_exists(at, name, book)
            if source.key:
                yield from _parameter(at, source.key, book.spec(name))
        if source.updated_by and not source.key:
            yield _Remark("error", at, "'updated_by' needs a 'key'", "Name the parameter that both tools share.")
        if source.key is None and not source.updated_by:
            yield _Remark("warning", at, "this says nothing", "Give it a key, or leave it out.")


# --- one section ----------------------------------------------------------------------------------------------------


def _section(at: Place, tool: str, section: ToolPolicy, scope: ConditionScope, book: _Book) -> Iterator[_Remark]:
    spec = book.spec(tool)
    yield from _tool_exists(at, tool, book)
    if section.deny is not None:
        rest = [name for name in _GOVERNS if name in section.model_fields_set]
        if rest:
            problem = f"a tool that is switched off has no use for {', '.join(rest)}"
            yield _Remark("error", (*at, "deny"), problem, "Keep one or the other.")
        if not section.deny.strip():
            yield _Remark(
                "error", (*at, "deny"), "'deny' says no reason", "Say in one sentence why it is switched off."
            )
    for number, requirement in enumerate(section.requires):
        yield from _requirement((*at, "requires", number), tool, requirement, book)
    for number, limit in enumerate(section.limits):
        yield from _limit((*at, "limits", number), limit, tool, book)
    yield from _check_expressions(at, tool, section, scope, book)
    if section.verify:
        yield from _verify((*at, "verify"), section.verify, book)
    for name in section.params:
        yield from _parameter((*at, "params", name), name, spec)
    for language, phrase in section.phrase.items():
        for name in _PLACEHOLDER.findall(phrase):
            yield from _parameter((*at, "phrase", language), name, spec)
        if language not in LANGUAGES:
            known = f"Known: {', '.join(LANGUAGES)}."
            yield _Remark("warning", (*at, "phrase", language), f"no one is spoken to in '{language}'", known)


def _contradictions(at: Place, section: ToolPolicy, spec: ToolSpec | None) -> Iterator[_Remark]:
    effect = effect_of(spec, section)
    declared = spec.effect if spec else None
    if section.effect and declared and EFFECTS.index(section.effect) < EFFECTS.index(declared):
        problem = f"effect '{section.effect}' is looser than what the tool declares, '{declared}'"
        yield _Remark("error", (*at, "effect"), problem, f"Write {declared}, or leave it out.")
    if effect == "destructive" and section.confirm == "never":
        problem = "what cannot be undone is never run without a confirmation"
        yield _Remark("error", (*at, "confirm"), problem, "Leave `confirm` out, or write always or four_eyes.")
    if effect == "read" and section.confirm in ("always", "four_eyes"):
        problem = "a tool that changes nothing has nothing to confirm"
        yield _Remark("error", (*at, "confirm"), problem, "Leave `confirm` out, or correct the effect.")
    if section.confidence_cap == 1:
        yield _Remark("warning", (*at, "confidence_cap"), "a cap of 1 caps nothing", "Leave it out, or lower it.")
    if (
        section.recovery in ("keyed", "local_tx")
        and "idempotent" in section.model_fields_set
        and not section.idempotent
    ):
        problem = f"recovery '{section.recovery}' runs an interrupted call again, and the tool is not idempotent"
        yield _Remark("error", (*at, "recovery"), problem, "Write lookup or blind.")
    if effect == "read" and section.recovery:
        yield _Remark("warning", (*at, "recovery"), "a read is simply made again", "Leave `recovery` out.")
    if effect == "read" and section.verify:
        yield _Remark("error", (*at, "verify"), "a read has no effect to verify", "Leave `verify` out.")
    if "unknown" in section.model_fields_set and not (section.deny_unless or section.when):
        yield _Remark("warning", (*at, "unknown"), "there is no condition that could be unknown", "Leave it out.")
    for number, one in enumerate(section.when):
        if one.then == "confirm" and (effect == "destructive" or section.confirm == "always"):
            yield _Remark("warning", (*at, "when", number), "it is confirmed anyway", "Leave this condition out.")
        if one.then == "four_eyes" and section.confirm == "four_eyes":
            yield _Remark("warning", (*at, "when", number), "it is approved anyway", "Leave this condition out.")


def _requirement(at: Place, tool: str, requirement: Requirement, book: _Book) -> Iterator[_Remark]:
    for name in requirement.call:
        yield from _tool_exists(at, name, book)
        other = book.policy.general(name)
        if name == tool:
            yield _Remark("error", at, f"'{tool}' requires itself", "It could never be called the first time.")
        if other and other.deny:
            yield _Remark("error", at, f"'{name}' is switched off", "It can never have been called.")
        for parameter in requirement.same:
            yield from _parameter((*at, "same"), parameter, book.spec(tool))
            yield from _parameter((*at, "same"), parameter, book.spec(name))


def _limit(at: Place, limit: CallLimit, tool: str, book: _Book) -> Iterator[_Remark]:
    if (limit.count is None) == (limit.sum is None):
        yield _Remark("error", at, "a limit is either on the count or on a sum", "Give count, or sum with at_most.")
    elif (limit.sum is None) != (limit.at_most is None):
        yield _Remark("error", at, "'sum' and 'at_most' belong together", "Give both, or a count.")
    for name in limit.across:
        yield from _tool_exists((*at, "across"), name, book)
    for spec in (book.spec(tool), *map(book.spec, limit.across)):
        for name in (*limit.per, *((limit.sum,) if limit.sum else ())):
            yield from _parameter(at, name, spec)
        kind = spec.properties.get(limit.sum or "", {}).get("type", "number") if spec else "number"
        if limit.sum and spec and kind not in ("number", "integer"):
            yield _Remark("error", (*at, "sum"), f"'{limit.sum}' of '{spec.name}' is no number", "Sum a number.")


def _verify(at: Place, verify: Verify, book: _Book) -> Iterator[_Remark]:
    yield from _tool_exists((*at, "call"), verify.call, book)
    spec = book.spec(verify.call)
    if book.effect(verify.call) in ("write", "destructive"):
        yield _Remark("error", (*at, "call"), f"'{verify.call}' changes something", "Verify with a tool that reads.")
    for name in verify.args:
        yield from _parameter((*at, "args", name), name, spec)
    for name in sorted(spec.required_parameters - verify.args.keys()) if spec else ():
        yield _Remark("error", (*at, "args"), f"'{verify.call}' needs '{name}'", "Add it to args.")


# --- conditions -----------------------------------------------------------------------------------------------------


def _conditions(at: Place, section: ToolPolicy) -> Iterator[tuple[Place, str, str]]:
    """Every condition with its place, and the extra name that it may use."""
    for number, requirement in enumerate(section.requires):
        if requirement.where:
            yield (*at, "requires", number, "where"), requirement.where, "call"
    for number, one in enumerate(section.deny_unless):
        yield (*at, "deny_unless", number, "if"), one.condition, ""
    for number, reaction in enumerate(section.when):
        yield (*at, "when", number, "if"), reaction.condition, ""
    if section.verify:
        yield (*at, "verify", "expect"), section.verify.expect, "result"


def _check_expressions(
    at: Place, tool: str, section: ToolPolicy, scope: ConditionScope, book: _Book
) -> Iterator[_Remark]:
    texts = [(*one, compile_condition) for one in _conditions(at, section)]
    if section.verify:
        texts += [
            ((*at, "verify", "args", name), text, "", compile_value) for name, text in section.verify.args.items()
        ]
    for here, text, extra, compiled in texts:
        try:
            places = compiled(text, scope).places
        except ExpressionError as problem:
            yield _Remark("error", here, f"this does not work: {problem}", _hint(str(problem), scope))
            continue
        for path in places:
            yield from _path(here, path, tool, extra, book)


def _hint(problem: str, scope: ConditionScope) -> str:
    unknown = re.search(r"undeclared reference to '(\w+)", problem)
    if not unknown:
        return "Conditions are CEL; docs/policy.md shows what they can say."
    known = (*ROOTS, *scope.let, *FUNCTIONS)
    return suggest_word(unknown[1], known) or f"Known here: {', '.join(known)}."


def _path(at: Place, path: ExpressionPath, tool: str, extra: str, book: _Book) -> Iterator[_Remark]:
    first = path.steps[0] if path.steps else None
    if path.root in ("call", "result") and path.root != extra:
        only = "a requirement" if path.root == "call" else "`verify`"
        yield _Remark("error", at, f"'{path.root}' only has a meaning in {only}", "Use args or facts here.")
    if not isinstance(first, str):
        return
    if path.root == "args":
        yield from _parameter(at, first, book.spec(tool))
    elif path.root in ("facts", "latest", "results"):
        yield from _tool_exists(at, first, book)
        spec = book.spec(first)
        if spec and spec.open_world:
            problem = f"strangers can write what '{first}' returns, so it never becomes a fact"
            yield _Remark("error", at, problem, "Decide by a tool that can be trusted.")
        if spec and path.root == "facts" and not _has_key(spec, book.policy):
            problem = f"nothing says by which parameter the results of '{first}' are kept"
            yield _Remark("error", at, problem, f"Add `facts: {{{first}: {{key: …}}}}`, or use latest.{first}.")


def _has_key(spec: ToolSpec, policy: Policy) -> bool:
    source = policy.facts.get(spec.name)
    ids = [name for name in spec.properties if name.lower().endswith("id")]
    return bool(source and source.key) or len(spec.properties) == 1 or len(ids) == 1 or not spec.properties


# --- patterns and tenants -------------------------------------------------------------------------------------------


def _pattern(position: int, pattern: Pattern, book: _Book) -> Iterator[_Remark]:
    at: Place = ("patterns", position)
    policy, anyone = book.policy, _Book(book.policy, None)
    if not re.search(r"[*?\[]", pattern.match):
        yield _Remark("error", (*at, "match"), f"'{pattern.match}' is no pattern", "Put exact names under `tools`.")
    for earlier in policy.patterns[:position]:
        if fnmatchcase(pattern.match.replace("*", "x").replace("?", "x"), earlier.match):
            problem = f"'{earlier.match}' comes first and covers '{pattern.match}'"
            yield _Remark("warning", (*at, "match"), problem, "Put the narrower pattern first.")
    covered = [name for name in book.specs or () if policy.general(name) is pattern]
    if book.specs and not covered:
        yield _Remark("warning", (*at, "match"), f"no tool needs '{pattern.match}'", "Leave it out, or correct it.")
    for name in covered or [""]:
        yield from _contradictions(at, pattern, book.spec(name))
        yield from _section(at, name, pattern, policy.scope_of(pattern), book if name else anyone)


def _tenant(at: Place, tool: str, section: ToolPolicy, tenant: TenantId, book: _Book) -> Iterator[_Remark]:
    general, theirs = book.policy.general(tool), book.policy.of(tool, tenant)
    if theirs is None:
        return
    spec = book.spec(tool)
    yield from _section(at, tool, section, theirs.scope, book)
    before = {remark.problem for remark in _contradictions(at, general, spec)} if general else set()
    yield from (remark for remark in _contradictions(at, theirs, spec) if remark.problem not in before)
    for change in compare(tool, general, theirs) if general else ():
        if change.direction == "loosened":
            problem = f"for tenant '{tenant}' this is looser than above: {change.what}"
            yield _Remark("warning", at, problem, "Make sure that this is meant.")


# --- tools and parameters -------------------------------------------------------------------------------------------


def _tool_exists(at: Place, tool: str, book: _Book) -> Iterator[_Remark]:
    if book.specs is not None and tool not in book.specs:
        fix = suggest_word(tool, book.specs) or "Check the name; case matters."
        yield _Remark("error", at, f"no tool is named '{tool}'", fix)


def _parameter(at: Place, name: str, spec: ToolSpec | None) -> Iterator[_Remark]:
    if spec and spec.properties and name not in spec.properties:
        fix = suggest_word(name, spec.properties) or f"It has: {', '.join(spec.properties)}."
        yield _Remark("error", at, f"'{spec.name}' has no parameter '{name}'", fix)
