"""judge: Facts -> findings and the strictest verdict. Rules are pure; none can see or loosen what another said.

A rule that crashes is a denial with its reason written down. A rule about the model's assessment is not asked in
standard mode, which has none; denials and confirmations hold in every mode.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from circumspect.policy.facts import Facts
from circumspect.reasons import ReasonCode
from circumspect.values import SEVERITY, Allow, Deny, Mode, RuleFinding, Verdict, strictest

log = logging.getLogger(__name__)

ALLOWED = Allow()
"""What nearly every rule says of nearly every call, made once."""


@dataclass(frozen=True)
class Rule:
    """A claim that should hold. Its docstring is the sentence an operator reads."""

    name: str
    sentence: str
    reason: ReasonCode
    check: Callable[[Facts], Verdict]
    modes: frozenset[Mode]

    def __call__(self, facts: Facts) -> Verdict:
        return self.check(facts)


def rule(reason: ReasonCode, *, adaptive_only: bool = False) -> Callable[[Callable[[Facts], Verdict]], Rule]:
    """Make a rule of a pure function of Facts. Use it for what a policy file cannot say."""

    def decorate(check: Callable[[Facts], Verdict]) -> Rule:
        sentence = " ".join((check.__doc__ or check.__name__.replace("_", " ")).split())
        modes: frozenset[Mode] = frozenset(("adaptive",)) if adaptive_only else frozenset(("standard", "adaptive"))
        return Rule(check.__name__, sentence, reason, check, modes)

    return decorate


def judge(facts: Facts, rules: Sequence[Rule]) -> tuple[Verdict, tuple[RuleFinding, ...]]:
    """Ask every rule that applies. Only what was not simply allowed becomes a finding."""
    mode, findings = facts.mode, []
    for one in rules:
        if mode in one.modes:
            try:
                verdict = one.check(facts)
            except Exception:
                log.exception("rule %s failed", one.name)
                findings.append(_deny(one, "could not be evaluated"))
                continue
            if verdict is not ALLOWED and not isinstance(verdict, Allow):
                known = getattr(verdict, "kind", None) in SEVERITY
                findings.append(
                    RuleFinding(one.name, verdict, one.reason) if known else _deny(one, "gave no known verdict")
                )
    if not findings:
        return ALLOWED, ()
    return strictest([finding.verdict for finding in findings]), tuple(findings)


def _deny(one: Rule, why: str) -> RuleFinding:
    return RuleFinding(one.name, Deny(f"The rule {one.name} {why}."), ReasonCode.RULE_FAILED)
