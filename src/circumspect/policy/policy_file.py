"""The policy file's model: what the application says about its tools.

`load.py` reads it. Every key carries what `explain.py`, `diff.py` and `lint.py` have to know of it: see `keys/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field

from circumspect.hashing import digest
from circumspect.policy.expressions import zone_of
from circumspect.policy.keys.checks import check_formulas, check_names, check_tool, collect_words
from circumspect.policy.keys.clauses import Expression, FactSource
from circumspect.policy.keys.findings import LintRemark, Place
from circumspect.policy.keys.meaning import (
    KeyChange,
    LintBook,
    LintedSection,
    PolicyDifference,
    PolicyKey,
    PolicySection,
    RankedValues,
    compare_sections,
    find_contradictions,
    lint_clause,
    lint_section,
    stay_silent,
)
from circumspect.policy.keys.scope import ConditionScope
from circumspect.policy.keys.tool_policy import ToolPolicy, effect_of
from circumspect.values import Effect, TenantId, ToolSpec

# --- names and facts ------------------------------------------------------------------------------------------------


def _lint_timezone(timezone: str, at: Place, _about: LintedSection) -> Iterator[LintRemark]:
    try:
        zone_of(timezone)
    except (ValueError, OSError, KeyError):
        yield LintRemark("error", at, f"no time zone '{timezone}'", "Write it like America/New_York.")


def _compare_places(change: KeyChange) -> Iterator[PolicyDifference]:
    before, after = change.before, change.after
    for name in dict.fromkeys((*before, *after)):
        if name not in before:
            yield change.tell(f"'{name}' is new")
        elif before[name] != after.get(name):
            yield change.tell(f"'{name}' {'stands for another place' if name in after else 'is gone'}", "look at it")


def _lint_facts(facts: Mapping[str, FactSource], at: Place, about: LintedSection) -> Iterator[LintRemark]:
    for tool, source in facts.items():
        yield from check_tool((*at, tool), tool, about.book)
        yield from lint_clause(source, (*at, tool), replace(about, tool=tool))


# --- tools ----------------------------------------------------------------------------------------------------------


def _focus(tool: str, section: ToolPolicy, scope: ConditionScope, book: LintBook) -> LintedSection:
    return LintedSection(tool, section, scope, book, effect_of(book.spec(tool), section))


def _lint_written(at: Place, about: LintedSection) -> Iterator[LintRemark]:
    yield from check_tool(at, about.tool, about.book)
    yield from lint_section(at, about.section, about)
    yield from check_formulas(at, about.section, about)


def _compare_tools(change: KeyChange) -> Iterator[PolicyDifference]:
    old, new = change.files
    for tool in dict.fromkeys((*old.tools, *new.tools)):
        before, after = old.general(tool), new.general(tool)
        if tool not in new.tools:
            yield PolicyDifference(tool, "is no longer named" + (", a pattern covers it" if after else ""))
        elif tool not in old.tools:
            yield PolicyDifference(tool, "is named for the first time")
        yield from compare_sections(tool, before or ToolPolicy(), after or ToolPolicy(), change.files)


def _lint_tools(tools: Mapping[str, ToolPolicy], at: Place, about: LintedSection) -> Iterator[LintRemark]:
    book = about.book
    for tool, section in tools.items():
        here = _focus(tool, section, book.policy.scope_of(section), book)
        yield from find_contradictions((*at, tool), here)
        yield from _lint_written((*at, tool), here)
        if section.deny is None and here.effect is None and (book.specs is None or tool in book.specs):
            problem = f"nothing here says what '{tool}' does, so its calls are denied unless the tool declares it"
            yield LintRemark("warning", (*at, tool), problem, "Add effect: read, write or destructive.")


# --- patterns -------------------------------------------------------------------------------------------------------


def _lint_match(match: str, at: Place, _about: LintedSection) -> Iterator[LintRemark]:
    if not re.search(r"[*?\[]", match):
        yield LintRemark("error", at, f"'{match}' is no pattern", "Put exact names under `tools`.")


class Pattern(ToolPolicy):
    match: Annotated[str, PolicyKey(explain=stay_silent, compare=stay_silent, lint=_lint_match, governs=False)]
    """Tool names, with * for any letters: `get_*`. For tools that are not named under `tools`; the first that fits."""


def _compare_patterns(change: KeyChange) -> Iterator[PolicyDifference]:
    before, after = ({one.match: one for one in patterns} for patterns in (change.before, change.after))
    for match in dict.fromkeys((*before, *after)):
        where = f"pattern {match}"
        if match not in after:
            yield PolicyDifference(where, "is gone", "look at it")
        elif match not in before:
            yield PolicyDifference(where, "is new", "look at it")
        else:
            yield from compare_sections(where, before[match], after[match], change.files)
    if [one for one in before if one in after] != [one for one in after if one in before]:
        yield change.tell("are in another order; the first that fits holds", "look at it")


def _lint_patterns(patterns: tuple[Pattern, ...], at: Place, about: LintedSection) -> Iterator[LintRemark]:
    book = about.book
    covering = {name: book.policy.general(name) for name in book.specs or ()}
    for position, pattern in enumerate(patterns):
        here: Place = (*at, position)
        for earlier in patterns[:position]:
            if fnmatchcase(pattern.match.replace("*", "x").replace("?", "x"), earlier.match):
                problem = f"'{earlier.match}' comes first and covers '{pattern.match}'"
                yield LintRemark("warning", (*here, "match"), problem, "Put the narrower pattern first.")
        covered = [name for name, section in covering.items() if section is pattern]
        if book.specs and not covered:
            problem = f"no tool needs '{pattern.match}'"
            yield LintRemark("warning", (*here, "match"), problem, "Leave it out, or correct it.")
        for name in covered or [""]:
            known = book if name else LintBook(book.policy, None)
            fits = _focus(name, pattern, book.policy.scope_of(pattern), known)
            yield from find_contradictions(here, fits)
            yield from _lint_written(here, fits)


# --- tenants --------------------------------------------------------------------------------------------------------


def _compare_overrides(change: KeyChange) -> Iterator[PolicyDifference]:
    tenant = TenantId(change.where)
    for tool in sorted({*change.before, *change.after}):
        before, after = (file.of(tool, tenant) or ToolPolicy() for file in change.files)
        yield from compare_sections(f"{tool} for tenant {tenant}", before, after, change.files)


def _lint_overrides(tools: Mapping[str, ToolPolicy], at: Place, about: LintedSection) -> Iterator[LintRemark]:
    book, tenant = about.book, TenantId(about.scope.tenant)
    for tool, section in tools.items():
        here: Place = (*at, tool)
        general, theirs = book.policy.general(tool), book.policy.of(tool, tenant)
        if theirs is None:
            continue
        yield from _lint_written(here, _focus(tool, section, theirs.scope, book))
        known = find_contradictions(here, _focus(tool, general, general.scope, book)) if general else ()
        before = {remark.problem for remark in known}
        in_force = find_contradictions(here, _focus(tool, theirs, theirs.scope, book))
        yield from (remark for remark in in_force if remark.problem not in before)
        files = (book.policy, book.policy)
        for change in compare_sections(tool, general, theirs, files) if general else ():
            if change.direction == "loosened":
                problem = f"for tenant '{tenant}' this is looser than above: {change.what}"
                yield LintRemark("warning", here, problem, "Make sure that this is meant.")


class TenantPolicy(PolicySection):
    tools: Annotated[
        Mapping[str, ToolPolicy],
        PolicyKey(explain=stay_silent, compare=_compare_overrides, lint=_lint_overrides),
    ] = Field(default_factory=dict)
    """Settings that replace the ones above for this tenant, field by field."""


def _compare_tenants(change: KeyChange) -> Iterator[PolicyDifference]:
    nothing = TenantPolicy()
    for tenant in dict.fromkeys((*change.before, *change.after)):
        before, after = change.before.get(tenant, nothing), change.after.get(tenant, nothing)
        yield from compare_sections(tenant, before, after, change.files)


def _lint_tenants(tenants: Mapping[str, TenantPolicy], at: Place, about: LintedSection) -> Iterator[LintRemark]:
    for tenant, theirs in tenants.items():
        scope = about.book.policy.scope_of(about.section, TenantId(tenant))
        yield from lint_section((*at, tenant), theirs, replace(about, scope=scope))


class Policy(PolicySection):
    version: Annotated[Literal[1], PolicyKey(explain=stay_silent, compare=RankedValues({}))] = 1
    """Version of the file's format."""
    timezone: Annotated[
        str,
        PolicyKey(explain=stay_silent, compare=RankedValues({}, "{before} → {after}"), lint=_lint_timezone),
    ] = "UTC"
    """Times that say no zone are in this one: `America/New_York`."""
    let: Annotated[
        Mapping[str, Expression], PolicyKey(explain=stay_silent, compare=_compare_places, lint=check_names)
    ] = Field(default_factory=dict)
    """Names for places, for the conditions of all tools."""
    facts: Annotated[
        Mapping[str, FactSource], PolicyKey(explain=stay_silent, compare=_compare_places, lint=_lint_facts)
    ] = Field(default_factory=dict)
    """How the results of a tool are kept as facts, by tool."""
    tools: Annotated[
        Mapping[str, ToolPolicy], PolicyKey(explain=stay_silent, compare=_compare_tools, lint=_lint_tools)
    ] = Field(default_factory=dict)
    """Exact tool names, case matters."""
    patterns: Annotated[
        tuple[Pattern, ...], PolicyKey(explain=stay_silent, compare=_compare_patterns, lint=_lint_patterns)
    ] = ()
    """Settings for tools that are not named above, by pattern; the first that fits holds."""
    tenants: Annotated[
        Mapping[str, TenantPolicy], PolicyKey(explain=stay_silent, compare=_compare_tenants, lint=_lint_tenants)
    ] = Field(default_factory=dict)
    """Overrides by tenant id."""

    @cached_property
    def hash(self) -> str:
        """Changes with every change that could change a verdict. Bound into intents."""
        return digest(self.model_dump(mode="json", exclude_unset=True))[:16]

    @cached_property
    def sections(self) -> Mapping[Place, ToolPolicy]:
        """Everything that is said about a tool, by its place in the file."""
        named: dict[Place, ToolPolicy] = {("tools", tool): section for tool, section in self.tools.items()}
        named |= {("patterns", position): pattern for position, pattern in enumerate(self.patterns)}
        for tenant, theirs in self.tenants.items():
            named |= {("tenants", tenant, "tools", tool): section for tool, section in theirs.tools.items()}
        return named

    @cached_property
    def used_words(self) -> frozenset[str]:
        """What the conditions of the file speak of, directly or by a name."""
        return collect_words((section, self.scope_of(section)) for section in self.sections.values())

    def of(self, tool: str, tenant: TenantId | None) -> ToolPolicy | None:
        """What holds for this tool and tenant; None when the file does not name the tool."""
        key = (tool, tenant)
        if (known := self._tool_policies.get(key)) is None and (known := self._resolve(tool, tenant)) is not None:
            self._tool_policies[key] = known
        return known

    @cached_property
    def _tool_policies(self) -> dict[tuple[str, TenantId | None], ToolPolicy]:
        return {}

    def general(self, tool: str) -> ToolPolicy | None:
        """What the file says of the tool before any tenant's override: its own entry, or the first pattern."""
        named = self.tools.get(tool)
        if named or tool != tool.strip() or not tool.isprintable():  # a name that only looks like another is none
            return named
        return next((one for one in self.patterns if fnmatchcase(tool, one.match)), None)

    def mark_strangers(self, tools: Mapping[str, ToolSpec], tenant: TenantId | None) -> Mapping[str, ToolSpec]:
        """The tools, those marked whose results strangers can write: the file says so, or the tool itself."""
        if not self._names_strangers:
            return tools
        found = {name: spec for name, spec in tools.items() if not spec.open_world}
        marked = {name: replace(spec, open_world=True) for name, spec in found.items() if self._is_marked(name, tenant)}
        return {**tools, **marked}

    def is_open_world(self, tool: str, spec: ToolSpec | None, tenant: TenantId | None) -> bool:
        return bool(spec and spec.open_world) or (self._names_strangers and self._is_marked(tool, tenant))

    def _is_marked(self, tool: str, tenant: TenantId | None) -> bool:
        said = self.of(tool, tenant)
        return said is not None and said.open_world

    @cached_property
    def _names_strangers(self) -> bool:
        return any(section.open_world for section in self.sections.values())

    def effect_of(self, tool: str, spec: ToolSpec | None) -> Effect | None:
        """What a call of the tool changes, by the file and the tool; None when nobody says."""
        return effect_of(spec, self.general(tool))

    def _resolve(self, tool: str, tenant: TenantId | None) -> ToolPolicy | None:
        general = self.general(tool)
        theirs = self.tenants.get(tenant) if tenant else None
        override = theirs.tools.get(tool) if theirs else None
        found = general or override
        if found is None:
            return None
        changes = {name: getattr(override, name) for name in override.model_fields_set} if override and general else {}
        found = found.model_copy(update=changes)
        # The cached properties are set here, where the rest of the file is known, rather than carried over.
        found.__dict__.pop("conditional", None)
        found.__dict__["scope"] = self.scope_of(found, tenant)
        return found

    def scope_of(self, section: ToolPolicy, tenant: TenantId | None = None) -> ConditionScope:
        """What names stand for in a section of this file. Sections with the same names share what is compiled."""
        let = {**self.let, **section.let}
        compiled = self._programs.setdefault(tuple(sorted(let.items())), {})
        return ConditionScope(let, self.facts, self.timezone, tenant or "", compiled)

    @cached_property
    def _programs(self) -> dict[tuple[tuple[str, str], ...], dict[object, Any]]:
        return {}
