"""Two policies -> what changed, in words. What lets more through than before is marked as loosened.

A change whose direction code cannot know (a condition that was rewritten, a name that now stands for another place) is
never called harmless: it is marked as one to look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from circumspect.policy.limits import in_words, length
from circumspect.policy.policy_file import (
    EFFECTS,
    CallLimit,
    Pattern,
    Policy,
    Precondition,
    Reaction,
    Requirement,
    ToolPolicy,
)
from circumspect.values import TenantId

Direction = Literal["loosened", "tightened", "look at it", ""]

_RANKS: Mapping[str, Mapping[Any, int]] = {
    "effect": {effect: rank for rank, effect in enumerate(EFFECTS)},
    "confirm": {None: 0, "never": 0, "when_implied": 1, "always": 2, "four_eyes": 3},
    "unknown": {"ask": 0, "deny": 1},
    "recovery": {"keyed": 0, "local_tx": 0, "lookup": 1, "blind": 1},
    "critical": {False: 0, True: 1},
    "source": {"any": 0, "trusted": 1, "user": 2},
}
_CONSEQUENCES = {"confirm": 1, "ask": 2, "four_eyes": 2, "escalate": 3, "deny": 4}


@dataclass(frozen=True, slots=True)
class PolicyDifference:
    where: str
    """The tool, the tool for a tenant, or the part of the file."""
    what: str
    direction: Direction = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" + (f" [{self.direction}]" if self.direction else "")


def diff(old: Policy, new: Policy) -> list[str]:
    """One line for each change; ends in [loosened], [tightened] or [look at it]."""
    return [str(change) for change in changes(old, new)]


def changes(old: Policy, new: Policy) -> list[PolicyDifference]:
    found = [PolicyDifference(where, what, direction) for where, what, direction in _compare_shared_parts(old, new)]
    for tool in dict.fromkeys((*old.tools, *new.tools)):
        before, after = old.general(tool), new.general(tool)
        if tool not in new.tools:
            found.append(PolicyDifference(tool, "is no longer named" + (", a pattern covers it" if after else "")))
        elif tool not in old.tools:
            found.append(PolicyDifference(tool, "is named for the first time"))
        found += compare(tool, before or ToolPolicy(), after or ToolPolicy())
    found += _patterns(old.patterns, new.patterns)
    for tenant in dict.fromkeys((*old.tenants, *new.tenants)):
        if old.tenants.get(tenant) != new.tenants.get(tenant):
            found += _tenant(TenantId(tenant), old, new)
    return found


def compare(where: str, old: ToolPolicy, new: ToolPolicy) -> list[PolicyDifference]:
    """What differs between two sections about the same tool."""
    found: list[PolicyDifference] = []
    for name in ("effect", "confirm", "recovery", "critical", "unknown"):
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            found.append(
                PolicyDifference(where, f"{name} {_word(before)} → {_word(after)}", _compare_ranks(name, before, after))
            )
    found += _rest(where, old, new)
    found += _params(where, old, new)
    found += _items(where, "requires", old.requires, new.requires)
    found += _items(where, "deny_unless", old.deny_unless, new.deny_unless)
    found += _items(where, "when", old.when, new.when)
    found += _limits(where, old.limits, new.limits)
    return found


def _compare_shared_parts(old: Policy, new: Policy) -> Iterator[tuple[str, str, Direction]]:
    if old.timezone != new.timezone:
        yield "timezone", f"{old.timezone} → {new.timezone}", "look at it"
    for part, before, after in (("let", old.let, new.let), ("facts", old.facts, new.facts)):
        for name in dict.fromkeys((*before, *after)):
            if before.get(name) != after.get(name):
                word = (
                    "is new" if name not in before else "is gone" if name not in after else "stands for another place"
                )
                yield part, f"'{name}' {word}", "" if name not in before else "look at it"


def _rest(where: str, old: ToolPolicy, new: ToolPolicy) -> Iterator[PolicyDifference]:
    if old.confidence_cap != new.confidence_cap:
        known = old.confidence_cap is not None and new.confidence_cap is not None
        looser = known and (new.confidence_cap or 0) > (old.confidence_cap or 0)
        words = f"confidence_cap {_word(old.confidence_cap)} → {_word(new.confidence_cap)}"
        yield PolicyDifference(where, words, ("loosened" if looser else "tightened") if known else "look at it")
    if old.deny != new.deny:
        if old.deny is None:
            yield PolicyDifference(where, f"is switched off: {new.deny}", "tightened")
        elif new.deny is None:
            yield PolicyDifference(where, "is switched on again", "loosened")
        else:
            yield PolicyDifference(where, f"is switched off for another reason: {new.deny}")
    if old.verify != new.verify:
        gone, came = new.verify is None, old.verify is None
        word = "is no longer" if gone else "is now" if came else "is differently"
        yield PolicyDifference(
            where, f"{word} verified afterwards", "loosened" if gone else "tightened" if came else "look at it"
        )
    if old.idempotent != new.idempotent:
        yield PolicyDifference(
            where, "may be called twice without harm" if new.idempotent else "may not be called twice"
        )
    if old.phrase != new.phrase:
        yield PolicyDifference(where, "is said to people in other words")
    if old.let != new.let:
        yield PolicyDifference(where, "names in its conditions stand for other places", "look at it" if old.let else "")


def _params(where: str, old: ToolPolicy, new: ToolPolicy) -> Iterator[PolicyDifference]:
    for name in dict.fromkeys((*old.params, *new.params)):
        before = old.params[name].source if name in old.params else None
        after = new.params[name].source if name in new.params else None
        if before != after:
            words = f"where '{name}' may come from: {_word(before)} → {_word(after)}"
            yield PolicyDifference(where, words, _compare_ranks("source", before, after))


PolicyClause = Requirement | Precondition | Reaction


def _items(
    where: str, part: str, old: Sequence[PolicyClause], new: Sequence[PolicyClause]
) -> Iterator[PolicyDifference]:
    gone, came = [one for one in old if one not in new], [one for one in new if one not in old]
    for one in gone:
        match = next((other for other in came if _same(one, other)), None)
        if match is None:
            yield PolicyDifference(where, f"no longer: {describe_clause(one)}", "loosened")
            continue
        came.remove(match)
        yield PolicyDifference(
            where, f"{part}: {describe_clause(one)} → {describe_clause(match)}", _rewritten(one, match)
        )
    for one in came:
        yield PolicyDifference(where, f"now: {describe_clause(one)}", "tightened")


def _same(one: PolicyClause, other: PolicyClause) -> bool:
    """The same statement, rewritten: about the same tools, under the same condition, or for the same reason."""
    if isinstance(one, Requirement) or isinstance(other, Requirement):
        return isinstance(one, Requirement) and isinstance(other, Requirement) and one.call == other.call
    return type(one) is type(other) and (one.condition == other.condition or one.because == other.because)


def _rewritten(one: PolicyClause, other: PolicyClause) -> Direction:
    if isinstance(one, Requirement) or isinstance(other, Requirement) or one.condition != other.condition:
        return "look at it"
    if isinstance(one, Reaction) and isinstance(other, Reaction) and one.then != other.then:
        before, after = _CONSEQUENCES[one.then], _CONSEQUENCES[other.then]
        return "look at it" if before == after else "loosened" if after < before else "tightened"
    return ""


def describe_clause(one: PolicyClause) -> str:
    """A requirement or condition in words."""
    match one:
        case Requirement():
            same = f" with the same {' and '.join(one.same)}" if one.same else ""
            where = f" where {one.where}" if one.where else ""
            return f"requires an earlier {' or '.join(one.call)}{same}{where}"
        case Precondition():
            return f"denied unless {one.condition} ({one.because})"
        case Reaction():
            return f"{one.then} when {one.condition} ({one.because})"


def _limits(where: str, old: Sequence[CallLimit], new: Sequence[CallLimit]) -> Iterator[PolicyDifference]:
    gone, came = [one for one in old if one not in new], [one for one in new if one not in old]
    for one in gone:
        match = next((other for other in came if (one.sum, one.per) == (other.sum, other.per)), None)
        if match is None:
            yield PolicyDifference(where, f"no longer limited: {describe_limit(one)}", "loosened")
            continue
        came.remove(match)
        yield PolicyDifference(where, f"limit {describe_limit(one)} → {describe_limit(match)}", _wider(one, match))
    for one in came:
        yield PolicyDifference(where, f"now limited: {describe_limit(one)}", "tightened")


def describe_limit(one: CallLimit) -> str:
    what = f"{one.count} calls" if one.count is not None else f"sum of {one.sum} {one.at_most:g}"
    per = f" per {', '.join(one.per)}" if one.per else ""
    return f"{what}{per} {in_words(one.window)}" + (f", together with {', '.join(one.across)}" if one.across else "")


def _wider(old: CallLimit, new: CallLimit) -> Direction:
    before, after = old.count or old.at_most or 0, new.count or new.at_most or 0
    spans = length(old.window), length(new.window)
    if old.window == new.window and old.across == new.across:
        return "loosened" if after > before else "tightened" if after < before else ""
    if after > before or (spans[0] and spans[1] and spans[1] < spans[0]) or set(old.across) - set(new.across):
        return "loosened"
    return "look at it"


def _patterns(old: Sequence[Pattern], new: Sequence[Pattern]) -> Iterator[PolicyDifference]:
    before, after = {one.match: one for one in old}, {one.match: one for one in new}
    for match in dict.fromkeys((*before, *after)):
        if match not in after:
            yield PolicyDifference(f"pattern {match}", "is gone", "look at it")
        elif match not in before:
            yield PolicyDifference(f"pattern {match}", "is new", "look at it")
        else:
            yield from compare(f"pattern {match}", before[match], after[match])
    if [one for one in before if one in after] != [one for one in after if one in before]:
        yield PolicyDifference("patterns", "are in another order; the first that fits holds", "look at it")


def _tenant(tenant: TenantId, old: Policy, new: Policy) -> Iterator[PolicyDifference]:
    named = [set(policy.tenants[tenant].tools) if tenant in policy.tenants else set() for policy in (old, new)]
    for tool in sorted(named[0] | named[1]):
        before, after = old.of(tool, tenant) or ToolPolicy(), new.of(tool, tenant) or ToolPolicy()
        yield from compare(f"{tool} for tenant {tenant}", before, after)


def _compare_ranks(name: str, before: Any, after: Any) -> Direction:
    ranks = _RANKS[name]
    if before not in ranks or after not in ranks:
        return "look at it"
    return "loosened" if ranks[after] < ranks[before] else "tightened" if ranks[after] > ranks[before] else ""


def _word(value: object) -> str:
    return "not said" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
