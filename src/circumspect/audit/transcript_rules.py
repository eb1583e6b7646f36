"""Rules over a conversation that was only written down: what was agreed to is read from the words.

In a live turn the yes is bound to a stored intent and none of this is needed. Here the question that the assistant
asked, the reply, and the calls that ran since then are all there is. Each rule reads the least that decides it.

What may surprise: in an audit a call that failed and is proposed again unchanged is denied, too. Nothing happened in
between that could make it succeed.
"""

from __future__ import annotations

from circumspect.audit.agreed_values import find_unagreed, is_named
from circumspect.language.folding import fold
from circumspect.policy import arguments
from circumspect.policy.arguments import is_misbuilt
from circumspect.policy.facts import Facts
from circumspect.policy.grounding.described_records import is_listed_otherwise, record_ids, strip_markdown
from circumspect.policy.grounding.exchanges import exchange_of, has_user_agreed
from circumspect.policy.grounding.grounding_rules import ask_for, find_unseen
from circumspect.policy.grounding.tracing import ledger_of, names_a_destination, names_an_id
from circumspect.policy.judge import ALLOWED, Rule, rule
from circumspect.policy.likeness import likeness
from circumspect.policy.preconditions import examine
from circumspect.policy.validators import find_validator
from circumspect.reasons import ReasonCode
from circumspect.values import Ask, Confirm, Deny, ToolSpec, Verdict


def _wants_a_yes(facts: Facts) -> bool:
    """The policy wants one; or it does not say, and the assistant itself asked for one."""
    confirm = facts.policy.confirm if facts.policy else None
    if facts.effect == "destructive" or confirm == "always":
        return True
    return confirm is None and _changes(facts) and exchange_of(facts.session).asked


def _is_incomplete(facts: Facts) -> bool:
    """What is missing is asked for before what is there is compared."""
    return facts.spec is not None and bool(arguments.find_missing(facts.spec, facts.call.arguments))


def _changes(facts: Facts) -> bool:
    return facts.effect in ("write", "destructive")


@rule(ReasonCode.CONFIRMATION_REQUIRED)
def the_user_said_yes_to_it(facts: Facts) -> Verdict:
    """Where a confirmation is wanted, the user's last words agree to what was put to them, plainly."""
    return ALLOWED if not _wants_a_yes(facts) or has_user_agreed(facts) else Confirm()


@rule(ReasonCode.CONFIRMATION_REQUIRED)
def the_user_said_yes_to_what_is_special(facts: Facts) -> Verdict:
    """Where a condition in the policy file wants a confirmation, the user's last words agree, plainly."""
    wanted = any(one.then == "confirm" for one in examine(facts).special)
    return Confirm() if wanted and not has_user_agreed(facts) else ALLOWED


@rule(ReasonCode.CONFIRMATION_REUSED)
def one_yes_is_for_what_was_listed(facts: Facts) -> Verdict:
    """After a yes was used, a further call is only covered when the question or the reply named what it acts on."""
    if not _wants_a_yes(facts) or not has_user_agreed(facts):
        return ALLOWED
    exchange = exchange_of(facts.session)
    used = [one for one in exchange.since if one.ok and one.call.tool == facts.call.tool]
    if not used:
        return ALLOWED
    mine = dict(record_ids(facts.call.arguments))
    words = fold(f"{exchange.question}\n{exchange.answer}")
    for name, value in mine.items():
        theirs = {str(one.call.arguments.get(name)) for one in used}
        # The earlier call was named in the question and this one was not: the yes was for the other.
        if value not in theirs and is_named(value, words) is False and any(is_named(other, words) for other in theirs):
            return Confirm()
    return ALLOWED


@rule(ReasonCode.CONFLICTS_WITH_CONFIRMED)
def it_is_what_was_agreed_to(facts: Facts) -> Verdict:
    """Ids, addresses and amounts of the call are the ones that stood in the question or the reply, where any did."""
    if not _wants_a_yes(facts) or not has_user_agreed(facts) or _is_incomplete(facts):
        return ALLOWED
    exchange = exchange_of(facts.session)
    if other := find_unagreed(facts, exchange):
        return Deny(f"'{other}' is not what the user agreed to. Propose what was agreed, or ask again.")
    if is_listed_otherwise(facts, exchange):
        return Deny("Another choice was agreed to for this one. Propose what was agreed, or ask again.")
    return ALLOWED


@rule(ReasonCode.UNGROUNDED_PARAM)
def every_value_has_a_source(facts: Facts) -> Verdict:
    """Ids and destinations were said by the user or returned by a tool; or the model brought one up itself, a tool knew
    it, and the user agreed to it by name."""
    unseen = find_unseen(facts)
    if any(one.origin == "echo" for one in unseen) and has_user_agreed(facts):
        exchange = exchange_of(facts.session)
        words = strip_markdown(f"{exchange.answer}\n{exchange.question}")
        unseen = [one for one in unseen if one.origin != "echo" or not is_named(str(one.value), fold(words))]
    return ask_for(unseen)


@rule(ReasonCode.REPEATED_CALL)
def nothing_is_done_twice(facts: Facts) -> Verdict:
    """The very same call did not already succeed in this conversation, nor fail with nothing changed since."""
    if not _changes(facts) or (facts.policy is not None and getattr(facts.policy, "idempotent", False)):
        return ALLOWED
    changed, own = False, likeness(facts.call)
    for event in reversed(ledger_of(facts.session).by_tool.get(facts.call.tool, ())):
        if event.ok and likeness(event.call) == own:
            return Deny("This exact call already succeeded in this conversation; its result is above.")
        if not event.ok and not changed and event.call.arguments == facts.call.arguments:
            return Deny("This exact call already failed, and nothing has changed since. Do something else.")
        changed = changed or event.ok
    return ALLOWED


@rule(ReasonCode.MISSING_PARAM)
def what_the_schema_requires_is_there(facts: Facts) -> Verdict:
    """Everything the tool's schema requires was given; a blank counts as given where it names nothing."""
    if facts.spec is None:
        return ALLOWED
    given = facts.call.arguments
    if "" not in given.values() and _fits(facts.spec, facts):
        return ALLOWED
    blank = {name for name in given if given[name] == "" and not names_an_id(name) and not names_a_destination(name)}
    missing = tuple(name for name in arguments.find_missing(facts.spec, given) if name not in blank)
    return Ask(missing=missing) if missing else ALLOWED


@rule(ReasonCode.INVALID_PARAM)
def arguments_fit_the_schema(facts: Facts) -> Verdict:
    """Every argument has the form that the schema asks for; a wrong build is the model's to mend, not the user's."""
    if facts.spec is None or _fits(facts.spec, facts):
        return ALLOWED
    given = facts.call.arguments
    invalid = arguments.find_problems(facts.spec, given)
    malformed = [
        name for name, problem in invalid.items() if problem == "unknown" or is_misbuilt(problem, given.get(name))
    ]
    if malformed:
        return Deny(f"The tool '{facts.call.tool}' does not take this: {', '.join(malformed)}. Follow its schema.")
    return Ask(invalid=invalid) if invalid else ALLOWED


def _fits(spec: ToolSpec, facts: Facts) -> bool:
    """Remembered with the session: two rules ask."""
    known = facts.session.__dict__.get("fits")
    if known is None or known[0] is not facts.call:
        known = facts.session.__dict__["fits"] = (facts.call, find_validator(spec).is_valid(facts.call.arguments))
    return bool(known[1])


TRANSCRIPT_RULES: tuple[Rule, ...] = (
    what_the_schema_requires_is_there,
    arguments_fit_the_schema,
    nothing_is_done_twice,
    the_user_said_yes_to_it,
    the_user_said_yes_to_what_is_special,
    one_yes_is_for_what_was_listed,
    it_is_what_was_agreed_to,
    every_value_has_a_source,
)
"""In place of the rules of a live turn that ask for a stored intent or an assessment."""
