"""What the policy file says about one tool: its keys, and what each of them means.

A setting left out is not a loosening: the effect falls back to what the tool declares, the cap to what the effect gets.
Conditions are kept as the text they were written in; `expressions.py` compiles them, once, on first use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from circumspect.policy.keys.call_limit import CallLimit
from circumspect.policy.keys.checks import check_names, check_parameter
from circumspect.policy.keys.clauses import (
    Expression,
    ParameterPolicy,
    Precondition,
    Reaction,
    Requirement,
    Verify,
    WholeValue,
    is_rewritten_condition,
)
from circumspect.policy.keys.findings import LintRemark, Place
from circumspect.policy.keys.meaning import (
    ClauseLists,
    ExplainedCall,
    KeyChange,
    LintedSection,
    Moment,
    PolicyDifference,
    PolicyKey,
    PolicySection,
    RankedValues,
    explain_clause,
    explain_section,
    keys_of,
    lint_clause,
    lint_clauses,
    lint_section,
    say_value,
    stay_silent,
)
from circumspect.policy.keys.scope import ConditionScope
from circumspect.values import LANGUAGES, Effect, Recovery, ToolSpec

UnitShare = Annotated[float, Field(ge=0.0, le=1.0)]
ConfirmWhen = Literal["never", "when_implied", "always", "four_eyes"]

EFFECTS: tuple[Effect, ...] = ("read", "write", "destructive")
CAP_OF_CHANGES = 0.6
"""What the model's confidence counts for at most, where a call changes something and the file sets no cap."""

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def effect_of(spec: ToolSpec | None, policy: ToolPolicy | None) -> Effect | None:
    """The stricter of what the file says and what the tool declares; None when nobody said anything."""
    said, declared = policy.effect if policy else None, spec.effect if spec else None
    return max(said, declared, key=EFFECTS.index) if said and declared else said or declared


def cap_of(effect: Effect, policy: ToolPolicy | None) -> float:
    """The file's cap, else none for a read and .6 for anything that changes something."""
    if policy and policy.confidence_cap is not None:
        return policy.confidence_cap
    return 1.0 if effect == "read" else CAP_OF_CHANGES


# --- effect, confidence and confirmation ----------------------------------------------------------------------------

_EFFECTS: Mapping[Effect, str] = {
    "read": "It only reads: a call changes nothing.",
    "write": "It changes something.",
    "destructive": "It changes something that cannot be taken back.",
}


def _check_declared_effect(effect: Effect | None, at: Place, about: LintedSection) -> Iterator[LintRemark]:
    declared = about.spec.effect if about.spec else None
    if effect and declared and EFFECTS.index(effect) < EFFECTS.index(declared):
        problem = f"effect '{effect}' is looser than what the tool declares, '{declared}'"
        yield LintRemark("error", at, problem, f"Write {declared}, or leave it out.")


def _explain_cap(_cap: float | None, call: ExplainedCall) -> Iterator[str]:
    cap = cap_of(call.effect, call.section)
    if cap < 1:
        yield f"However sure the model is, that counts for at most {cap:g}."


def _compare_caps(change: KeyChange) -> Iterator[PolicyDifference]:
    words = f"{change.name} {say_value(change.before)} → {say_value(change.after)}"
    if change.before is None or change.after is None:
        yield change.tell(words, "look at it")
    else:
        yield change.tell(words, "loosened" if change.after > change.before else "tightened")


def _check_cap(cap: float | None, at: Place, _about: LintedSection) -> Iterator[LintRemark]:
    if cap == 1:
        yield LintRemark("warning", at, "a cap of 1 caps nothing", "Leave it out, or lower it.")


def _explain_confirmation(confirm: ConfirmWhen | None, call: ExplainedCall) -> Iterator[str]:
    if confirm == "four_eyes":
        yield "A colleague must approve it, in every mode."
    elif call.effect == "destructive" or confirm == "always":
        yield "The user is asked to confirm it first."
    elif confirm == "when_implied":
        yield "The user is asked to confirm it when their words only imply the wish."
    else:
        yield "No confirmation is asked for."


def _check_confirmation(confirm: ConfirmWhen | None, at: Place, about: LintedSection) -> Iterator[LintRemark]:
    if about.effect == "destructive" and confirm == "never":
        problem = "what cannot be undone is never run without a confirmation"
        yield LintRemark("error", at, problem, "Leave `confirm` out, or write always or four_eyes.")
    if about.effect == "read" and confirm in ("always", "four_eyes"):
        problem = "a tool that changes nothing has nothing to confirm"
        yield LintRemark("error", at, problem, "Leave `confirm` out, or correct the effect.")


def _explain_key_approvals(keys_approve: bool, call: ExplainedCall) -> Iterator[str]:
    if keys_approve and call.effect != "read":
        yield "Where a colleague must approve it, an API key may do so, too."


def _check_key_approvals(keys_approve: bool, at: Place, about: LintedSection) -> Iterator[LintRemark]:
    if about.effect == "read" and keys_approve:
        problem = "a tool that changes nothing has nothing to approve"
        yield LintRemark("error", at, problem, "Leave `keys_approve` out, or correct the effect.")


# --- switched off ---------------------------------------------------------------------------------------------------


def _compare_denials(change: KeyChange) -> Iterator[PolicyDifference]:
    if change.before is None:
        yield change.tell(f"is switched off: {change.after}", "tightened")
    elif change.after is None:
        yield change.tell("is switched on again", "loosened")
    else:
        yield change.tell(f"is switched off for another reason: {change.after}")


def _lint_denial(reason: str | None, at: Place, about: LintedSection) -> Iterator[LintRemark]:
    if reason is None:
        return
    section: ToolPolicy = about.section
    if rest := [
        name for name, key in keys_of(type(section)).items() if key.governs and name in section.model_fields_set
    ]:
        problem = f"a tool that is switched off has no use for {', '.join(rest)}"
        yield LintRemark("error", at, problem, "Keep one or the other.")
    if not reason.strip():
        yield LintRemark("error", at, "'deny' says no reason", "Say in one sentence why it is switched off.")


# --- when something goes wrong --------------------------------------------------------------------------------------

_RECOVERIES: Mapping[Recovery, str] = {
    "keyed": "it is run again with the same key",
    "local_tx": "it is run again",
    "lookup": "it is looked up whether it happened; it is never run again",
    "blind": "it is never run again, and a person is told",
}


def _explain_recovery(said: Recovery | None, call: ExplainedCall) -> Iterator[str]:
    if call.effect != "read":
        yield f"If a call is interrupted, {_RECOVERIES[said or (call.spec.recovery if call.spec else 'blind')]}."


def _check_recovery(said: Recovery | None, at: Place, about: LintedSection) -> Iterator[LintRemark]:
    section = about.section
    if said in ("keyed", "local_tx") and "idempotent" in section.model_fields_set and not section.idempotent:
        problem = f"recovery '{said}' runs an interrupted call again, and the tool is not idempotent"
        yield LintRemark("error", at, problem, "Write lookup or blind.")
    if about.effect == "read" and said:
        yield LintRemark("warning", at, "a read is simply made again", "Leave `recovery` out.")


def _explain_critical(critical: bool, call: ExplainedCall) -> Iterator[str]:
    if critical and call.effect != "read":
        yield "If it fails, a person is told."


def _explain_strangers(open_world: bool, _call: ExplainedCall) -> Iterator[str]:
    if open_world:
        yield "Strangers can write what it returns: none of it becomes a fact, or says where something goes."


def _compare_idempotence(change: KeyChange) -> Iterator[PolicyDifference]:
    yield change.tell("may be called twice without harm" if change.after else "may not be called twice")


# --- words and values -----------------------------------------------------------------------------------------------


def _compare_phrases(change: KeyChange) -> Iterator[PolicyDifference]:
    yield change.tell("is said to people in other words")


def _lint_phrases(phrases: Mapping[str, str], at: Place, about: LintedSection) -> Iterator[LintRemark]:
    for language, phrase in phrases.items():
        for name in _PLACEHOLDER.findall(phrase):
            yield from check_parameter((*at, language), name, about.spec)
        if language not in LANGUAGES:
            known = f"Known: {', '.join(LANGUAGES)}."
            yield LintRemark("warning", (*at, language), f"no one is spoken to in '{language}'", known)


def _explain_params(params: Mapping[str, ParameterPolicy], call: ExplainedCall) -> Iterator[str]:
    for name, setting in params.items():
        yield from explain_section(setting, replace(call, parameter=name))


def _compare_params(change: KeyChange) -> Iterator[PolicyDifference]:
    nothing = ParameterPolicy()
    for name in dict.fromkeys((*change.before, *change.after)):
        before, after = change.before.get(name, nothing), change.after.get(name, nothing)
        for key, meaning in keys_of(ParameterPolicy).items():
            if (old := getattr(before, key)) != (new := getattr(after, key)):
                yield from meaning.compare(replace(change, name=name, before=old, after=new))


def _lint_params(params: Mapping[str, ParameterPolicy], at: Place, about: LintedSection) -> Iterator[LintRemark]:
    for name, setting in params.items():
        yield from check_parameter((*at, name), name, about.spec)
        yield from lint_section((*at, name), setting, about)


# --- conditions -----------------------------------------------------------------------------------------------------


def _explain_names(_let: Mapping[str, str], call: ExplainedCall) -> Iterator[str]:
    conditions: tuple[Precondition | Reaction, ...] = (*call.section.deny_unless, *call.section.when)
    for name, place in call.section.scope.let.items():
        if any(re.search(rf"\b{name}\b", one.condition) for one in conditions):
            yield f"('{name}' is {place}.)"


def _compare_names(change: KeyChange) -> Iterator[PolicyDifference]:
    yield change.tell("names in its conditions stand for other places", "look at it" if change.before else "")


def _explain_clauses(clauses: tuple[PolicySection, ...], call: ExplainedCall) -> Iterator[str]:
    return (explain_clause(one, call.tool) for one in clauses)


def _explain_limits(limits: tuple[CallLimit, ...], call: ExplainedCall) -> Iterator[str]:
    return (f"Limit: {explain_clause(one, call.tool)}" for one in limits)


def _check_reactions(reactions: tuple[Reaction, ...], at: Place, about: LintedSection) -> Iterator[LintRemark]:
    confirm = about.section.confirm
    for number, one in enumerate(reactions):
        if one.then == "confirm" and (about.effect == "destructive" or confirm == "always"):
            yield LintRemark("warning", (*at, number), "it is confirmed anyway", "Leave this condition out.")
        if one.then == "four_eyes" and confirm == "four_eyes":
            yield LintRemark("warning", (*at, number), "it is approved anyway", "Leave this condition out.")


def _explain_unknown(unknown: str, call: ExplainedCall) -> Iterator[str]:
    if call.section.deny_unless or call.section.when:
        held = "the user is asked" if unknown == "ask" else "the model is told what to look up first"
        yield f"When that cannot be decided yet, the call is held: {held}."


def _check_unknown(_unknown: str, at: Place, about: LintedSection) -> Iterator[LintRemark]:
    section = about.section
    if "unknown" in section.model_fields_set and not (section.deny_unless or section.when):
        yield LintRemark("warning", at, "there is no condition that could be unknown", "Leave it out.")


def _explain_verification(verify: Verify | None, call: ExplainedCall) -> Iterator[str]:
    if verify:
        yield explain_clause(verify, call.tool)


def _compare_verifications(change: KeyChange) -> Iterator[PolicyDifference]:
    if change.after is None:
        yield change.tell("is no longer verified afterwards", "loosened")
    elif change.before is None:
        yield change.tell("is now verified afterwards", "tightened")
    else:
        yield change.tell("is differently verified afterwards", "look at it")


def _lint_verification(verify: Verify | None, at: Place, about: LintedSection) -> Iterator[LintRemark]:
    return lint_clause(verify, at, about) if verify else iter(())


def _check_verification(verify: Verify | None, at: Place, about: LintedSection) -> Iterator[LintRemark]:
    if about.effect == "read" and verify:
        yield LintRemark("error", at, "a read has no effect to verify", "Leave `verify` out.")


def _explain_whole(whole: WholeValue | None, call: ExplainedCall) -> Iterator[str]:
    if whole:
        yield explain_clause(whole, call.tool)


def _compare_wholes(change: KeyChange) -> Iterator[PolicyDifference]:
    yield change.tell("says otherwise what the whole of an open value is")


def _lint_whole(whole: WholeValue | None, at: Place, about: LintedSection) -> Iterator[LintRemark]:
    return lint_clause(whole, at, about) if whole else iter(())


def _as_requirement(value: Any) -> Any:
    return {"call": (value,)} if isinstance(value, str) else value


class ToolPolicy(PolicySection):
    effect: Annotated[
        Effect | None,
        PolicyKey(
            explain=lambda _, call: (_EFFECTS[call.effect],),
            compare=RankedValues({effect: rank for rank, effect in enumerate(EFFECTS)}),
            contradictions=_check_declared_effect,
            governs=False,
            moment=Moment.PURPOSE,
        ),
    ] = None
    """What a call changes: nothing (read), something (write), or something that cannot be taken back (destructive)."""
    confidence_cap: Annotated[
        UnitShare | None,
        PolicyKey(explain=_explain_cap, compare=_compare_caps, contradictions=_check_cap, moment=Moment.CONFIDENCE),
    ] = None
    """The most the model's own confidence can count for, 0 to 1."""
    confirm: Annotated[
        ConfirmWhen | None,
        PolicyKey(
            explain=_explain_confirmation,
            compare=RankedValues({None: 0, "never": 0, "when_implied": 1, "always": 2, "four_eyes": 3}),
            contradictions=_check_confirmation,
            moment=Moment.CONSENT,
        ),
    ] = None
    """When the user is asked first. Destructive tools are always confirmed; `four_eyes` asks a colleague."""
    keys_approve: Annotated[
        bool,
        PolicyKey(
            explain=_explain_key_approvals,
            compare=RankedValues({True: 0, False: 1}),
            contradictions=_check_key_approvals,
            moment=Moment.CONSENT,
        ),
    ] = False
    """Where a colleague is asked: an API key that did not propose the call may approve it, too."""
    deny: Annotated[
        str | None,
        PolicyKey(explain=stay_silent, compare=_compare_denials, lint=_lint_denial, governs=False),
    ] = None
    """Switch the tool off, and say why in one sentence."""
    critical: Annotated[
        bool,
        PolicyKey(explain=_explain_critical, compare=RankedValues({False: 0, True: 1}), moment=Moment.FAILURE),
    ] = False
    """When it fails, a person is told."""
    open_world: Annotated[
        bool,
        PolicyKey(
            explain=_explain_strangers,
            compare=RankedValues({False: 0, True: 1}),
            governs=False,
            moment=Moment.PURPOSE,
        ),
    ] = False
    """Strangers can write what it returns, as in e-mails, reviews, web pages: none of it becomes a fact."""
    recovery: Annotated[
        Recovery | None,
        PolicyKey(
            explain=_explain_recovery,
            compare=RankedValues({"keyed": 0, "local_tx": 0, "lookup": 1, "blind": 1}),
            contradictions=_check_recovery,
            moment=Moment.INTERRUPTION,
        ),
    ] = None
    """What may be done when a call was interrupted: run it again (keyed, local_tx), look it up, or never (blind)."""
    phrase: Annotated[
        Mapping[str, str],
        PolicyKey(explain=stay_silent, compare=_compare_phrases, lint=_lint_phrases, governs=False),
    ] = Field(default_factory=dict)
    """How a call is said to a person, by language: `{en: "cancel order {order_id}"}`."""
    idempotent: Annotated[bool, PolicyKey(explain=stay_silent, compare=_compare_idempotence, governs=False)] = False
    """Calling it twice does no more than calling it once."""
    params: Annotated[
        Mapping[str, ParameterPolicy],
        PolicyKey(explain=_explain_params, compare=_compare_params, lint=_lint_params, moment=Moment.BEFORE),
    ] = Field(default_factory=dict)
    """Settings by parameter name."""
    let: Annotated[
        Mapping[str, Expression],
        PolicyKey(explain=_explain_names, compare=_compare_names, lint=check_names, governs=False, moment=Moment.NAMES),
    ] = Field(default_factory=dict)
    """Names for places, for the conditions of this tool: `order: facts.get_order[args.order_id]`."""
    requires: Annotated[
        tuple[Annotated[Requirement, BeforeValidator(_as_requirement, json_schema_input_type=str | Requirement)], ...],
        PolicyKey(
            explain=_explain_clauses,
            compare=ClauseLists(lambda old, new: old.call == new.call),
            lint=lint_clauses,
            moment=Moment.BEFORE,
        ),
    ] = ()
    """What must have been called before."""
    deny_unless: Annotated[
        tuple[Precondition, ...],
        PolicyKey(explain=_explain_clauses, compare=ClauseLists(is_rewritten_condition), lint=lint_clauses),
    ] = ()
    """What must hold of the arguments and of the facts that earlier results established."""
    when: Annotated[
        tuple[Reaction, ...],
        PolicyKey(
            explain=_explain_clauses,
            compare=ClauseLists(is_rewritten_condition),
            lint=lint_clauses,
            contradictions=_check_reactions,
        ),
    ] = ()
    """What is done about a call that is complete and permitted, but special."""
    limits: Annotated[
        tuple[CallLimit, ...],
        PolicyKey(
            explain=_explain_limits,
            compare=ClauseLists(
                lambda old, new: (old.sum, old.per) == (new.sum, new.per),
                gone="no longer limited: {}",
                came="now limited: {}",
                rewritten="limit {} → {}",
            ),
            lint=lint_clauses,
            moment=Moment.LIMITS,
        ),
    ] = ()
    """How often, or how much."""
    unknown: Annotated[
        Literal["deny", "ask"],
        PolicyKey(
            explain=_explain_unknown,
            compare=RankedValues({"ask": 0, "deny": 1}),
            contradictions=_check_unknown,
            governs=False,
        ),
    ] = "deny"
    """When a condition cannot be decided: tell the model what to look up first (deny), or ask the user."""
    verify: Annotated[
        Verify | None,
        PolicyKey(
            explain=_explain_verification,
            compare=_compare_verifications,
            lint=_lint_verification,
            contradictions=_check_verification,
            governs=False,
            moment=Moment.PROOF,
        ),
    ] = None
    """How to see afterwards that it happened."""
    whole: Annotated[
        WholeValue | None,
        PolicyKey(
            explain=_explain_whole,
            compare=_compare_wholes,
            lint=_lint_whole,
            governs=False,
            moment=Moment.CONSENT,
        ),
    ] = None
    """What a value that is left open comes to, so that whoever is asked for a yes reads it: the sum of a refund."""

    @cached_property
    def scope(self) -> ConditionScope:
        """What the names in this tool's conditions stand for."""
        return ConditionScope(let=self.let)

    @cached_property
    def conditional(self) -> bool:
        """Does any of this depend on the conversation?"""
        return bool(self.requires or self.deny_unless or self.when or self.limits)
