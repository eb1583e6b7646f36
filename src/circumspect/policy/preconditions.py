"""The rules that a policy file writes: `requires`, `deny_unless`, `when` and `limits`, over what is known.

Every condition of a call is decided once, for all of these rules. One that cannot be decided holds the call: the model
is told what to look up first, or the user is asked (`unknown: ask`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import is_

from circumspect.policy.arguments import find_missing
from circumspect.policy.condition_view import View, index_history, view
from circumspect.policy.conditions import ConditionResult, Need, decide, render_value
from circumspect.policy.expressions import find_places
from circumspect.policy.facts import Facts
from circumspect.policy.judge import ALLOWED, Rule, rule
from circumspect.policy.keys.clauses import Precondition, Reaction, Requirement
from circumspect.policy.limits import check_limit
from circumspect.reasons import ReasonCode
from circumspect.values import Ask, Confirm, Deny, Escalate, PastCall, Verdict, strictest

Undecided = tuple[tuple[Precondition | Reaction, ConditionResult], ...]


@dataclass(frozen=True, slots=True)
class Examined:
    """What the conditions of a call came to."""

    failed: tuple[Precondition, ...] = ()
    special: tuple[Reaction, ...] = ()
    unknown: Undecided = ()


NOTHING = Examined()


@rule(ReasonCode.REQUIREMENT_NOT_MET)
def what_it_requires_was_called_before(facts: Facts) -> Verdict:
    """The calls that the policy file requires succeeded earlier in the conversation."""
    if not facts.policy or not facts.policy.requires:
        return ALLOWED
    unmet = [one for one in facts.policy.requires if not _is_met(one, facts)]
    if not unmet:
        return ALLOWED
    problem = _join_sentences(_unmet(one, facts) for one in unmet)
    because = _join_sentences(one.because for one in unmet if one.because)
    return Deny(problem, because=because, look_up=not any(_find_calls(one, facts) for one in unmet))


@rule(ReasonCode.PRECONDITION_FAILED)
def its_conditions_hold(facts: Facts) -> Verdict:
    """Nothing that is known speaks against the call: every condition in the policy file holds."""
    found = examine(facts)
    if found is NOTHING:
        return ALLOWED
    against = [*(one.because for one in found.failed), *(one.because for one in found.special if one.then == "deny")]
    if against:
        return Deny(_join_sentences(against), because=_join_sentences(against))
    return strictest([_reaction(one, facts) for one in found.special])


@rule(ReasonCode.LIMIT_REACHED)
def limits_are_kept(facts: Facts) -> Verdict:
    """The call is not one too many, and not too much."""
    if not facts.policy or not facts.policy.limits:
        return ALLOWED
    broken = {problem: one for one in facts.policy.limits if (problem := check_limit(one, facts))}
    if not broken:
        return ALLOWED
    said = (problem for problem, one in broken.items() if problem == one.because)
    return Deny(_join_sentences(broken), because=_join_sentences(said))


@rule(ReasonCode.FACT_NEEDED)
def what_its_conditions_depend_on_is_known(facts: Facts) -> Verdict:
    """Every condition in the policy file can be decided from the arguments and from what was looked up."""
    unknown = _without_missing_arguments(examine(facts).unknown, facts)
    if not unknown:
        return ALLOWED
    if facts.policy and facts.policy.unknown == "ask":
        return Ask(invalid={name: "condition" for one, _ in unknown for name in _arguments(one, facts)})
    fresh = all(any(not need.tried for need in came.needs) for _, came in unknown)
    return Deny(_join_sentences(_look_up(unknown)), look_up=fresh)


@rule(ReasonCode.APPROVAL_REQUIRED)
def special_calls_are_approved(facts: Facts) -> Verdict:
    """A colleague approved the call where a condition in the policy file wants four eyes."""
    return Confirm(by="colleague") if any(one.then == "four_eyes" for one in examine(facts).special) else ALLOWED


@rule(ReasonCode.CONFIRMATION_REQUIRED)
def special_calls_are_confirmed(facts: Facts) -> Verdict:
    """The user said yes where a condition in the policy file wants a confirmation."""
    return Confirm() if any(one.then == "confirm" for one in examine(facts).special) else ALLOWED


PRECONDITION_RULES: tuple[Rule, ...] = (
    what_it_requires_was_called_before,
    its_conditions_hold,
    limits_are_kept,
    what_its_conditions_depend_on_is_known,
    special_calls_are_approved,
    special_calls_are_confirmed,
)


def examine(facts: Facts) -> Examined:
    """Decide every condition of the call that could make a difference; once, though several rules ask."""
    policy = facts.policy
    if policy is None or not (policy.deny_unless or policy.when):
        return NOTHING
    memory = index_history(facts.session)
    about = (facts.call, policy, facts.confirmed, facts.now, facts.words, facts.mode)
    if memory.examined and all(map(is_, about, memory.examined[0])):
        found: Examined = memory.examined[1]
        return found
    seen = view(facts)
    conditions: list[Precondition | Reaction] = [*policy.deny_unless]
    conditions += [one for one in policy.when if _matters(one, facts)]
    outcomes = [(one, decide(one.condition, seen)) for one in conditions]
    found = Examined(
        failed=tuple(one for one, came in outcomes if isinstance(one, Precondition) and came.kind == "fails"),
        special=tuple(one for one, came in outcomes if isinstance(one, Reaction) and came.kind == "holds"),
        unknown=tuple((one, came) for one, came in outcomes if came.kind == "unknown"),
    )
    memory.examined = (about, found)
    return found


def _matters(one: Reaction, facts: Facts) -> bool:
    """A confirmation that was given need not be decided about."""
    if one.then == "confirm":
        return facts.confirmed is None
    return one.then != "four_eyes" or facts.confirmed is None or facts.confirmed.kind != "approval"


def _reaction(one: Reaction, facts: Facts) -> Verdict:
    match one.then:
        case "ask":
            return Ask(invalid=dict.fromkeys(_arguments(one, facts), "condition"))
        case "escalate":
            return Escalate()
        case _:
            return ALLOWED


def _arguments(one: Precondition | Reaction, facts: Facts) -> list[str]:
    """The arguments that the condition is about."""
    if facts.policy is None:
        return []
    places = find_places(one.condition, facts.policy.scope)
    return list(dict.fromkeys(str(path.steps[0]) for path in places if path.root == "args" and path.steps))


def _without_missing_arguments(unknown: Undecided, facts: Facts) -> Undecided:
    """Those that no argument is missing for: of what is not there the user is asked first."""
    if not unknown:
        return ()
    given = facts.call.arguments
    missing = {name for name in find_missing(facts.spec, given) if given.get(name) is None} if facts.spec else set()
    return tuple((one, came) for one, came in unknown if not missing.intersection(_arguments(one, facts)))


def _look_up(unknown: Undecided) -> Iterable[str]:
    """What to tell the model: first what it can still look up, else what nobody could find out."""
    needs: list[Need] = [need for _, came in unknown for need in came.needs]
    if fresh := list(dict.fromkeys(str(need) for need in needs if not need.tried)):
        return [f"Look up {' and '.join(fresh)} first."]
    tried = list(dict.fromkeys(str(need) for need in needs))
    before = [f"{' and '.join(tried)} gave nothing that would tell."] if tried else []
    reasons = [f"It cannot be decided whether this holds: {one.because}" for one, _ in unknown]
    return [*before, *reasons]


def _is_met(one: Requirement, facts: Facts) -> bool:
    calls = _find_calls(one, facts)
    if one.where is None:
        return bool(calls)
    return any(decide(one.where, _about(event, facts)).kind == "holds" for event in reversed(calls))


def _find_calls(one: Requirement, facts: Facts) -> list[PastCall]:
    """The calls that are required, whatever came of them."""
    wanted = facts.call.arguments
    return [
        event
        for event in facts.session.past_calls
        if event.ok
        and event.vouched
        and event.call.tool in one.call
        and all(name in wanted and event.call.arguments.get(name) == wanted[name] for name in one.same)
    ]


def _about(event: PastCall, facts: Facts) -> View:
    call = {"tool": event.call.tool, "args": event.call.arguments}
    if event.trusted:
        call["result"] = index_history(facts.session).result(event)
    return view(facts, {"call": call})


def _unmet(one: Requirement, facts: Facts) -> str:
    if one.because:
        return one.because
    arguments = {name: facts.call.arguments[name] for name in one.same if name in facts.call.arguments}
    said = ", ".join(f"{name}={render_value(value)}" for name, value in arguments.items())
    return f"First call {' or '.join(f'{name}({said})' if said else name for name in one.call)}."


def _join_sentences(sentences: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(sentences))
