"""The rules every call is held against, in the order in which they may speak.

Each is named for the claim that should hold; its docstring is the sentence an operator reads. Adding a rule can only
make a verdict stricter.
"""

from __future__ import annotations

from dataclasses import replace

from circumspect.language import wishes
from circumspect.policy import arguments
from circumspect.policy.facts import Facts
from circumspect.policy.grounding.grounding_rules import GROUNDING_RULES
from circumspect.policy.grounding.stand_for import STAND_FOR_RULES
from circumspect.policy.grounding.tracing import ledger_of
from circumspect.policy.judge import ALLOWED, Rule, rule
from circumspect.policy.likeness import is_among, likeness
from circumspect.policy.preconditions import PRECONDITION_RULES
from circumspect.policy.understanding.named_record import find_named_instead
from circumspect.policy.understanding.plain_orders import is_ordered_of_another, is_plainly_ordered
from circumspect.policy.understanding.wish_standing import WishStanding, find_standing, is_refused, nobody_asked
from circumspect.reasons import ReasonCode
from circumspect.values import Ask, Confirm, Deny, Escalate, Utterance, Verdict

SURE_ENOUGH = 0.6
"""Below this, a change is confirmed and an answer is marked."""


@rule(ReasonCode.TOOL_NOT_FOUND)
def the_tool_exists(facts: Facts) -> Verdict:
    """The name is, to the letter, one of the tools enabled for this tenant."""
    return ALLOWED if facts.spec else Deny(f"There is no tool named '{facts.call.tool}'.")


@rule(ReasonCode.TOOL_NOT_CONFIGURED)
def the_tool_is_configured(facts: Facts) -> Verdict:
    """The integration behind the tool is set up."""
    if facts.spec and not facts.spec.configured:
        return Deny(f"The tool '{facts.call.tool}' is not set up for this tenant.")
    return ALLOWED


@rule(ReasonCode.TOOL_NOT_COVERED)
def somebody_said_what_the_tool_does(facts: Facts) -> Verdict:
    """The policy file or the tool itself declares whether a call reads, writes or destroys."""
    if facts.spec and facts.effect is None and not (facts.policy and facts.policy.deny):
        return Deny(f"No policy covers the tool '{facts.call.tool}'.")
    return ALLOWED


@rule(ReasonCode.TOOL_DENIED)
def the_policy_leaves_the_tool_on(facts: Facts) -> Verdict:
    """The policy file does not switch the tool off."""
    if facts.policy and facts.policy.deny:
        return Deny(facts.policy.deny, because=facts.policy.deny)
    return ALLOWED


@rule(ReasonCode.MISSING_PARAM)
def required_arguments_are_present(facts: Facts) -> Verdict:
    """Everything the tool's schema requires is there, and the model itself misses nothing that it does."""
    if facts.spec is None:
        return ALLOWED
    missing = arguments.find_missing(facts.spec, facts.call.arguments)
    if not facts.assessment:
        return Ask(missing=missing) if missing else ALLOWED
    said = facts.assessment.missing_params
    optional = facts.spec.properties.keys() - facts.spec.required if said else ()
    declared = [name for name in said if name not in optional]
    everything = tuple(dict.fromkeys((*missing, *declared)))
    return Ask(missing=everything) if everything else ALLOWED


@rule(ReasonCode.INVALID_PARAM)
def arguments_have_the_right_form(facts: Facts) -> Verdict:
    """Every argument has the type and format that the tool's schema asks for."""
    if facts.spec is None:
        return ALLOWED
    given = facts.call.arguments
    invalid = arguments.find_problems(facts.spec, given)
    if "unknown" in invalid.values():
        unknown = ", ".join(name for name, problem in invalid.items() if problem == "unknown")
        return Deny(f"The tool '{facts.call.tool}' has no parameter {unknown}.")
    # Nobody is asked to mend a list, an object or a type; the model built it, and the model can.
    misbuilt = [
        name for name, problem in invalid.items() if arguments.is_misbuilt(problem, given.get(name), facts.words)
    ]
    if misbuilt:
        return Deny(f"The tool '{facts.call.tool}' does not take this: {', '.join(misbuilt)}. Follow its schema.")
    return Ask(invalid=invalid) if invalid else ALLOWED


@rule(ReasonCode.ASSESSMENT_UNPARSABLE, adaptive_only=True)
def the_assessment_can_be_read(facts: Facts) -> Verdict:
    """A call is only considered when the model's self-assessment could be read."""
    if facts.confirmed or (facts.assessment and facts.assessment.readable):
        return ALLOWED
    return Deny("Your assessment block could not be read. Answer again and end with one valid block.")


@rule(ReasonCode.ASSESSMENT_MISSING, adaptive_only=True)
def the_model_said_how_sure_it_is(facts: Facts) -> Verdict:
    """A call that changes something is confirmed where the model proposed it without a word on how sure it is."""
    silent = facts.assessment is not None and ReasonCode.ASSESSMENT_MISSING in facts.assessment.reasons
    return Confirm() if silent and not facts.confirmed and facts.effect != "read" else ALLOWED


@rule(ReasonCode.PROPOSAL_DISAGREES, adaptive_only=True)
def the_model_proposes_one_thing(facts: Facts) -> Verdict:
    """The call that the assessment names is among those that the provider's own format carries."""
    if facts.disagreement:
        return Deny("Your tool call and your assessment name different calls. Propose exactly one.")
    return ALLOWED


@rule(ReasonCode.REPEATED_CALL)
def nothing_runs_twice_in_a_turn(facts: Facts) -> Verdict:
    """The same call did not already run in this turn."""
    if facts.done and likeness(facts.call) in facts.done:
        return Deny("This exact call already ran in this turn; its result is above.")
    return ALLOWED


@rule(ReasonCode.OUTCOME_UNKNOWN)
def no_earlier_outcome_is_unknown(facts: Facts) -> Verdict:
    """The same call is not still under way, nor did it end without anyone knowing how."""
    if facts.unsettled and facts.effect != "read" and is_among(facts.call, facts.unsettled):
        return Escalate()
    return ALLOWED


@rule(ReasonCode.REPEATED_CALL)
def what_a_person_saw_done_is_not_done_again(facts: Facts) -> Verdict:
    """No colleague found out that the same call, whose outcome nobody knew, has happened."""
    if facts.happened and is_among(facts.call, facts.happened):
        return Deny("A colleague found out that this exact call has happened. It is not made again: tell the user.")
    return ALLOWED


@rule(ReasonCode.APPROVAL_REQUIRED)
def a_colleague_approved(facts: Facts) -> Verdict:
    """A call under four eyes was approved by a second person, in every mode."""
    if not facts.policy or facts.policy.confirm != "four_eyes":
        return ALLOWED
    return ALLOWED if facts.confirmed and facts.confirmed.kind == "approval" else Confirm(by="colleague")


@rule(ReasonCode.DESTRUCTIVE_NO_CONFIRM)
def what_cannot_be_undone_is_confirmed(facts: Facts) -> Verdict:
    """The user said yes to exactly this call before anything irreversible runs."""
    says_so = facts.assessment is not None and facts.assessment.is_destructive
    if facts.confirmed or not (facts.effect == "destructive" or says_so):
        return ALLOWED
    return Confirm()


@rule(ReasonCode.CONFIRMATION_REQUIRED)
def asked_for_confirmations_are_given(facts: Facts) -> Verdict:
    """The user said yes where the policy, or the model itself, wants a confirmation."""
    wanted = (facts.policy is not None and facts.policy.confirm == "always") or (
        facts.assessment is not None and facts.assessment.needs_confirmation
    )
    return Confirm() if wanted and not facts.confirmed else ALLOWED


@rule(ReasonCode.IMPLIED_DESTRUCTIVE_INTENT)
def a_wish_is_not_a_command(facts: Facts) -> Verdict:
    """Words that only imply a destructive wish are confirmed before anything changes."""
    if facts.confirmed or facts.effect in ("read", None):
        return ALLOWED
    if facts.policy and facts.policy.confirm == "never":
        return ALLOWED
    if not wishes.implies_destruction(facts.words):
        return ALLOWED
    return ALLOWED if _is_ordered(facts) and _find_standing(facts) == "wished" else Confirm()


def _is_ordered(facts: Facts) -> bool:
    if facts.effect == "write" and is_plainly_ordered(facts.words, facts.call):
        return True
    return wishes.is_order(facts.words) and not is_ordered_of_another(facts.words, facts.call)


@rule(ReasonCode.ONLY_ASKED)
def a_question_is_no_order(facts: Facts) -> Verdict:
    """A change that the user only asked about, and never asked for, is confirmed first."""
    return Confirm() if _find_standing(facts) == "asked" else ALLOWED


@rule(ReasonCode.WISH_TAKEN_BACK)
def what_was_taken_back_is_not_wished(facts: Facts) -> Verdict:
    """A change that the user does not want any more, by their own words, is confirmed before it is made after all."""
    standing = _find_standing(facts)
    refused = standing == "unknown" and is_refused(_find_talk(facts), facts.call)
    return Confirm() if refused or standing == "taken back" else ALLOWED


@rule(ReasonCode.NOT_ASKED_FOR)
def somebody_asked_for_it(facts: Facts) -> Verdict:
    """What takes something away or pays is confirmed where nothing that the user said asks for it."""
    if facts.effect == "destructive" or (facts.policy and facts.policy.confirm in ("always", "four_eyes")):
        return ALLOWED  # asked about anyway
    return (
        Confirm()
        if _find_standing(facts) == "unknown" and nobody_asked(_find_talk(facts), facts.call.tool)
        else ALLOWED
    )


def _find_standing(facts: Facts) -> WishStanding:
    """Of the user's wish, where a policy does not let the call run whatever they say."""
    if facts.confirmed or facts.effect in ("read", None) or (facts.policy and facts.policy.confirm == "never"):
        return "wished"
    # Worked out once, though three rules ask, and kept where the session keeps what it has worked out.
    known: dict[tuple[str, str], WishStanding] = facts.session.__dict__.setdefault("standings", {})
    about = (facts.call.tool, facts.words)
    if about not in known:
        known[about] = find_standing(_find_talk(facts), facts.call.tool)
    return known[about]


def _find_talk(facts: Facts) -> tuple[Utterance, ...]:
    """All that was said, oldest first, with the user's newest message at its end."""
    said = facts.session.utterances
    if said and said[-1].speaker == "user" and said[-1].text == facts.words:
        return said
    last = next((one.text for one in reversed(said) if one.speaker == "user"), "")
    return said if not facts.words or facts.words == last else (*said, Utterance("user", facts.words, len(said)))


@rule(ReasonCode.CONFLICTS_WITH_CONFIRMED)
def the_record_is_the_one_that_was_named(facts: Facts) -> Verdict:
    """What the user named a record for is done to that one, and to no other of its kind."""
    if facts.effect not in ("write", "destructive") or facts.confirmed:
        return ALLOWED
    problem = find_named_instead(_find_talk(facts), facts.call, ledger_of(facts.session))
    return Deny(f"{problem} Propose what was asked for, or ask again.") if problem else ALLOWED


@rule(ReasonCode.LOW_CONFIDENCE, adaptive_only=True)
def a_change_is_not_guessed(facts: Facts) -> Verdict:
    """The model is sure enough of a change, or the user said yes to it."""
    if facts.confirmed or facts.effect in ("read", None) or facts.assessment is None:
        return ALLOWED
    if facts.policy and facts.policy.confirm == "never":
        return ALLOWED
    return Confirm() if facts.assessment.confidence < SURE_ENOUGH else ALLOWED


def _where_somebody_spoke(one: Rule) -> Rule:
    """A call from outside comes without words of a user that it could be held against: in standard mode that is asked
    where a policy says where values come from."""

    def check(facts: Facts) -> Verdict:
        if facts.mode == "adaptive" or (facts.policy and facts.policy.params) or facts.words.strip():
            return one.check(facts)
        return ALLOWED

    return replace(one, check=check)


RULES: tuple[Rule, ...] = (
    the_tool_exists,
    the_tool_is_configured,
    somebody_said_what_the_tool_does,
    the_policy_leaves_the_tool_on,
    required_arguments_are_present,
    arguments_have_the_right_form,
    *PRECONDITION_RULES,
    the_assessment_can_be_read,
    the_model_said_how_sure_it_is,
    the_model_proposes_one_thing,
    nothing_runs_twice_in_a_turn,
    no_earlier_outcome_is_unknown,
    what_a_person_saw_done_is_not_done_again,
    *(_where_somebody_spoke(one) for one in GROUNDING_RULES),
    *STAND_FOR_RULES,
    the_record_is_the_one_that_was_named,
    a_colleague_approved,
    what_cannot_be_undone_is_confirmed,
    asked_for_confirmations_are_given,
    a_wish_is_not_a_command,
    a_question_is_no_order,
    what_was_taken_back_is_not_wished,
    somebody_asked_for_it,
    a_change_is_not_guessed,
)

_ABOUT_THE_ASSESSMENT = frozenset(
    one.name
    for one in (
        the_assessment_can_be_read,
        the_model_said_how_sure_it_is,
        the_model_proposes_one_thing,
        a_change_is_not_guessed,
    )
)
_ABOUT_WORDS = frozenset(one.name for one in (*GROUNDING_RULES, *STAND_FOR_RULES, the_record_is_the_one_that_was_named))

RULES_FOR_FOREIGN_CALLS: tuple[Rule, ...] = tuple(one for one in RULES if one.name not in _ABOUT_THE_ASSESSMENT)
"""For calls of somebody else's agent, with the conversation they came from: nobody says how sure the model is."""

RULES_FOR_BARE_CALLS: tuple[Rule, ...] = tuple(one for one in RULES_FOR_FOREIGN_CALLS if one.name not in _ABOUT_WORDS)
"""For calls that arrive without the talk they came from: there is no assessment to read and no word to ground a value
in. All that holds of the call itself, and every confirmation, stays."""

HARD_STOPS: frozenset[ReasonCode] = frozenset(
    (
        ReasonCode.TOOL_NOT_FOUND,
        ReasonCode.TOOL_NOT_CONFIGURED,
        ReasonCode.MISSING_PARAM,
    )
)
"""Answered directly: no further model call is spent on them. A malformed value is asked about, and so answered, too; a
malformed build is denied, and the model gets to mend it once."""
