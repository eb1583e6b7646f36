"""What a key of the policy file means, said where the key is defined: what `explain`, `diff` and `lint` need to know.

Those three walk over the keys of a section and ask; none of them has a list of keys. A section with a key that does not
say what it means is refused when its class is made, so a key that nobody compares or explains cannot come to be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, auto
from functools import cache
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from circumspect.policy.keys.findings import LintRemark, Place
from circumspect.policy.keys.scope import ConditionScope
from circumspect.values import Effect, ToolSpec

ToolSection: TypeAlias = Any
"""A `ToolPolicy`, and `PolicyText` a `Policy`: both are built of what is here, so they cannot be named here."""
PolicyText: TypeAlias = Any

Direction = Literal["loosened", "tightened", "look at it", ""]
_GRAVEST_FIRST: tuple[Direction, ...] = ("loosened", "look at it", "tightened")


# --- what a key is asked with ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExplainedCall:
    """The call that is explained, under the section that holds for it."""

    tool: str
    section: ToolSection
    spec: ToolSpec | None
    effect: Effect
    parameter: str = ""
    """The one that is spoken of, where the key is a parameter's."""


@dataclass(frozen=True, slots=True)
class PolicyDifference:
    where: str
    """The tool, the tool for a tenant, or the part of the file."""
    what: str
    direction: Direction = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" + (f" [{self.direction}]" if self.direction else "")


@dataclass(frozen=True, slots=True)
class KeyChange:
    """Two values of a key that differ."""

    where: str
    name: str
    """The key's name; of a key of a parameter, the parameter's."""
    before: Any
    after: Any
    files: tuple[PolicyText, PolicyText]
    """The files that they are in."""

    def tell(self, what: str, direction: Direction = "") -> PolicyDifference:
        return PolicyDifference(self.where, what, direction)


@dataclass(frozen=True, slots=True)
class LintBook:
    """The file, and the tools it is held against. With no tools given, any name may be right."""

    policy: PolicyText
    specs: Mapping[str, ToolSpec] | None
    seen: Collection[str] | None = None
    """Where clients bring tools of their own along, which nobody has to declare: the names that were seen so far."""
    learnt: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By tool: a schema of its results as they were in transcripts."""

    def spec(self, tool: str) -> ToolSpec | None:
        return self.specs.get(tool) if self.specs else None

    def is_open_world(self, tool: str) -> bool:
        """Strangers can write what it returns, as the tool declares or the file says."""
        spec, said = self.spec(tool), self.policy.general(tool)
        return bool(spec and spec.open_world) or bool(said and said.open_world)

    def returns(self, tool: str) -> Mapping[str, Any]:
        """The schema of its results, as it declares them or as they were seen; empty when nobody knows."""
        spec = self.spec(tool)
        return spec.returns if spec and spec.returns else self.learnt.get(tool, {})

    def effect(self, tool: str) -> Effect | None:
        effect: Effect | None = self.policy.effect_of(tool, self.spec(tool))
        return effect


@dataclass(frozen=True, slots=True)
class LintedSection:
    """The section that is checked, and for which tool."""

    tool: str
    section: ToolSection
    scope: ConditionScope
    book: LintBook
    effect: Effect | None = None
    """What a call of the tool changes, as far as the file and the tool say."""

    @property
    def spec(self) -> ToolSpec | None:
        return self.book.spec(self.tool)


# --- what a key says ------------------------------------------------------------------------------------------------


class Moment(IntEnum):
    """When in the life of a call a key matters. `explain` speaks in this order."""

    PURPOSE = auto()
    BEFORE = auto()
    CONDITIONS = auto()
    NAMES = auto()
    LIMITS = auto()
    CONSENT = auto()
    CONFIDENCE = auto()
    PROOF = auto()
    INTERRUPTION = auto()
    FAILURE = auto()


@dataclass(frozen=True, slots=True)
class Formula:
    """The key holds a condition, or several by name. `also` is the extra name that it may use."""

    gives: Literal["condition", "value"] = "condition"
    also: str = ""


def stay_silent(*_: Any) -> tuple[()]:
    """Nothing to say."""
    return ()


def stay_short(*_: Any) -> str:
    """No words of its own in the clause's sentence."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyKey:
    """The meaning of a key of the file, of a tool's section or of a parameter."""

    explain: Callable[[Any, ExplainedCall], Iterable[str]]
    """The value -> sentences about what will happen to the call."""
    compare: Callable[[KeyChange], Iterable[PolicyDifference]]
    """Two values that differ -> the difference in words, and which way it goes."""
    lint: Callable[[Any, Place, LintedSection], Iterable[LintRemark]] = stay_silent
    """The value as it is written -> what makes no sense in it."""
    contradictions: Callable[[Any, Place, LintedSection], Iterable[LintRemark]] = stay_silent
    """The value as it holds, a tenant's overrides included -> what else in the section it cannot stand beside."""
    governs: bool = True
    """It is about calls that run, and so has no place beside `deny`."""
    moment: Moment = Moment.CONDITIONS
    formula: Formula | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseKey:
    """The meaning of a key inside a clause. The clause's sentence is what its keys say, one after the other."""

    explain: Callable[[Any, str], str]
    """The clause and the tool -> this key's part of the sentence that explains the clause."""
    describe: Callable[[Any], str]
    """The clause -> this key's part of the words that name the clause in a difference."""
    compare: Callable[[Any, Any], Direction]
    """Two clauses that differ in this key -> which way that goes."""
    lint: Callable[[Any, Place, LintedSection], Iterable[LintRemark]] = stay_silent
    """The clause -> what makes no sense in this key of it."""
    formula: Formula | None = None


class FileSection(BaseModel):
    """A part of a file that a person writes: no unknown keys, no changes afterwards."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, validate_by_name=True, validate_by_alias=True
    )


class PolicySection(FileSection):
    """A part of the policy file. Each of its keys is `Annotated` with its meaning."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if mute := [name for name, _, meaning in _find_meanings(cls) if meaning is None]:
            raise TypeError(f"Say what {cls.__name__}.{mute[0]} means: Annotated[…, PolicyKey(…)] or ClauseKey(…).")


@cache
def _find_meanings(kind: type[PolicySection]) -> tuple[tuple[str, str, PolicyKey | ClauseKey | None], ...]:
    """Of each key: its name in code, its name in the file, what it means."""
    return tuple(
        (
            name,
            written.alias or name,
            next((one for one in written.metadata if isinstance(one, PolicyKey | ClauseKey)), None),
        )
        for name, written in kind.model_fields.items()
    )


@cache
def keys_of(kind: type[PolicySection]) -> Mapping[str, PolicyKey]:
    """The keys of a section with their meanings, in the order in which they are defined."""
    return {name: meaning for name, _, meaning in _find_meanings(kind) if isinstance(meaning, PolicyKey)}


@cache
def clause_keys_of(kind: type[PolicySection]) -> Mapping[str, ClauseKey]:
    """The same for a clause."""
    return {name: meaning for name, _, meaning in _find_meanings(kind) if isinstance(meaning, ClauseKey)}


# --- sections and clauses -------------------------------------------------------------------------------------------


def explain_section(section: PolicySection, call: ExplainedCall) -> Iterator[str]:
    """All that the keys of a section say about a call."""
    for name, key in sorted(keys_of(type(section)).items(), key=lambda item: item[1].moment):
        yield from key.explain(getattr(section, name), call)


def compare_sections(
    where: str, old: PolicySection, new: PolicySection, files: tuple[PolicyText, PolicyText]
) -> Iterator[PolicyDifference]:
    """What differs between two sections about the same thing, in the keys that both have. Where the sections are the
    files themselves and nothing says where, it is the key."""
    for name, key in keys_of(type(new)).items():
        if name in type(old).model_fields and (before := getattr(old, name)) != (after := getattr(new, name)):
            yield from key.compare(KeyChange(where or name, name, before, after, files))


def lint_section(at: Place, section: PolicySection, about: LintedSection) -> Iterator[LintRemark]:
    """What makes no sense in the keys of a section, as they are written."""
    for name, key in keys_of(type(section)).items():
        yield from key.lint(getattr(section, name), (*at, name), about)


def find_contradictions(at: Place, about: LintedSection) -> Iterator[LintRemark]:
    """What in a tool's section cannot stand beside the rest of it."""
    section: PolicySection = about.section
    for name, key in keys_of(type(section)).items():
        yield from key.contradictions(getattr(section, name), (*at, name), about)


def explain_clause(clause: PolicySection, tool: str) -> str:
    """A clause as a sentence."""
    return "".join(key.explain(clause, tool) for key in clause_keys_of(type(clause)).values())


def describe_clause(clause: PolicySection) -> str:
    """A clause in few words."""
    return "".join(key.describe(clause) for key in clause_keys_of(type(clause)).values())


def compare_clauses(old: PolicySection, new: PolicySection) -> Direction:
    """Which way a clause was rewritten: a key that loosens it outweighs one whose change is unclear."""
    keys = clause_keys_of(type(old))
    ways = {key.compare(old, new) for name, key in keys.items() if getattr(old, name) != getattr(new, name)}
    return next((way for way in _GRAVEST_FIRST if way in ways), "")


def lint_clause(clause: PolicySection, at: Place, about: LintedSection) -> Iterator[LintRemark]:
    """What makes no sense in the keys of a clause."""
    for key in clause_keys_of(type(clause)).values():
        yield from key.lint(clause, at, about)


def lint_clauses(clauses: Iterable[PolicySection], at: Place, about: LintedSection) -> Iterator[LintRemark]:
    """The same for a list of clauses."""
    for number, clause in enumerate(clauses):
        yield from lint_clause(clause, (*at, number), about)


def find_formulas(at: Place, section: PolicySection) -> Iterator[tuple[Place, str, Formula]]:
    """Every condition in a section, with its place in the file, its text and what is special about it."""
    for name, written, meaning in _find_meanings(type(section)):
        value = getattr(section, name)
        if not value:
            continue
        here = (*at, written)
        if meaning and meaning.formula:
            texts = value.items() if isinstance(value, Mapping) else ((None, value),)
            for part, text in texts:
                yield (*here, part) if part else here, text, meaning.formula
        elif isinstance(value, PolicySection):
            yield from find_formulas(here, value)
        elif isinstance(value, tuple):
            for number, one in enumerate(value):
                if isinstance(one, PolicySection):
                    yield from find_formulas((*here, number), one)


# --- ways to compare ------------------------------------------------------------------------------------------------


def say_value(value: object) -> str:
    """A setting in a sentence: `true`, `always`, `not said`."""
    return "not said" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class RankedValues:
    """Compares by rank: down is looser. A value without a rank is one to look at."""

    ranks: Mapping[Any, int]
    words: str = "{name} {before} → {after}"

    def __call__(self, change: KeyChange) -> Iterator[PolicyDifference]:
        said = self.words.format(name=change.name, before=say_value(change.before), after=say_value(change.after))
        yield change.tell(said, self.direct(change.before, change.after))

    def direct(self, before: Any, after: Any) -> Direction:
        if before not in self.ranks or after not in self.ranks:
            return "look at it"
        step = self.ranks[after] - self.ranks[before]
        return "loosened" if step < 0 else "tightened" if step > 0 else ""


@dataclass(frozen=True, slots=True)
class ClauseLists:
    """Compares lists of clauses: what is gone, what is new, and which were rewritten."""

    is_same: Callable[[Any, Any], bool]
    """Two clauses that differ -> is the second the first one, rewritten?"""
    gone: str = "no longer: {}"
    came: str = "now: {}"
    rewritten: str = "{name}: {} → {}"

    def __call__(self, change: KeyChange) -> Iterator[PolicyDifference]:
        gone = [one for one in change.before if one not in change.after]
        came = [one for one in change.after if one not in change.before]
        for one in gone:
            match = next((other for other in came if self.is_same(one, other)), None)
            if match is None:
                yield change.tell(self.gone.format(describe_clause(one)), "loosened")
                continue
            came.remove(match)
            said = self.rewritten.format(describe_clause(one), describe_clause(match), name=change.name)
            yield change.tell(said, compare_clauses(one, match))
        for one in came:
            yield change.tell(self.came.format(describe_clause(one)), "tightened")


def look_at_it(*_: Any) -> Direction:
    """Code cannot know which way the change goes."""
    return "look at it"


def call_it_harmless(*_: Any) -> Direction:
    """Only words changed, and no verdict with them."""
    return ""
