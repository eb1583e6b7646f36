"""enforce: a proposed call and everything known about it -> Enforced. Pure: no port, no clock, no randomness.

Every decision about a call is made here, by rules; the model can only ever make it stricter. This is the only place
that makes an `Enforced`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from circumspect.policy.arguments import materialised
from circumspect.policy.facts import Facts
from circumspect.policy.file import Policy, cap_of, effect_of
from circumspect.policy.judge import Rule, judge
from circumspect.policy.rules import HARD_STOPS
from circumspect.reasons import ReasonCode
from circumspect.turn import (
    Allow,
    Confirm,
    Draft,
    Effect,
    Enforced,
    Finding,
    Intent,
    Notes,
    Profile,
    Screened,
    Session,
    ToolCall,
    ToolSpec,
    Verdict,
)


def enforce(
    call: ToolCall,
    screened: Screened,
    drafted: Draft | None,
    policy: Policy,
    tools: Mapping[str, ToolSpec],
    rules: Sequence[Rule],
    profile: Profile,
    now: datetime,
    *,
    confirmed: Intent | None = None,
    done: frozenset[str] = frozenset(),
    session: Session | None = None,
) -> Enforced:
    spec = tools.get(call.tool)
    said = policy.of(call.tool, screened.incoming.tenant)
    effect = effect_of(spec, said)
    if spec:
        call = replace(call, arguments=materialised(spec, call.arguments))
    facts = Facts(
        call=call,
        spec=spec,
        policy=said,
        effect=effect,
        mode=profile.mode,
        now=now,
        words=screened.incoming.text,
        language=screened.language,
        assessment=drafted.assessment if drafted else None,
        disagreement=drafted.disagreement if drafted else False,
        confirmed=confirmed,
        unsettled=screened.opened.unsettled,
        done=done,
        session=session or Session(),
    )
    verdict, findings = judge(facts, rules)
    assumed: Effect = effect or "destructive"
    confidence, noted = _confidence(facts, assumed)
    return Enforced(
        call=call,
        spec=spec,
        verdict=verdict,
        findings=(*noted, *findings),
        effect=assumed,
        confidence=confidence,
        policy_version=policy.hash,
        recovery=(said and said.recovery) or (spec.recovery if spec else "blind"),
        intent=confirmed,
        critique=_pays(verdict, assumed, confidence, confirmed, profile),
    )


def write_down(enforced: Enforced, notes: Notes) -> None:
    """The verdict and who spoke, for the journal."""
    notes.write(
        "policy",
        f"{enforced.call.tool}: {enforced.verdict.kind}",
        *enforced.reasons,
        meta={
            "tool": enforced.call.tool,
            "arguments": enforced.call.arguments,
            "verdict": enforced.verdict.kind,
            "effect": enforced.effect,
            "confidence": enforced.confidence,
            "policy": enforced.policy_version,
            "findings": [
                {"rule": one.rule, "verdict": one.verdict.kind, "reason": one.reason and str(one.reason)}
                for one in enforced.findings
            ],
        },
    )


def is_hard_stop(enforced: Enforced) -> bool:
    """Answered directly, with no further model call."""
    return any(
        finding.reason in HARD_STOPS and finding.verdict.kind == enforced.verdict.kind for finding in enforced.findings
    )


def _confidence(facts: Facts, effect: Effect) -> tuple[float | None, tuple[Finding, ...]]:
    """The model's confidence under the tool's cap, and a note where the cap bites."""
    if facts.assessment is None or facts.mode == "standard":
        return None, ()
    cap = cap_of(facts.call.tool, effect, facts.policy)
    if facts.assessment.confidence <= cap:
        return facts.assessment.confidence, ()
    return cap, (Finding("confidence_is_capped", Allow(), ReasonCode.CONFIDENCE_FLOOR_APPLIED),)


def _pays(
    verdict: Verdict, effect: Effect, confidence: float | None, confirmed: Intent | None, profile: Profile
) -> bool:
    """Is a second opinion worth a model call? Never on a hard stop, never after the user's own yes."""
    if profile.mode == "standard" or confirmed or not isinstance(verdict, Allow | Confirm):
        return False
    unsure = confidence is None or confidence < profile.critique_below
    return effect == "destructive" or unsure or isinstance(verdict, Confirm)
