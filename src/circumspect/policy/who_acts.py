"""Who must act on a verdict: nobody, the user, the model, a colleague; or it is not done at all.

In come the strictest verdict on a call and what each rule said; out comes one word, the same for a gate's ruling and
for a line of an audit. A call that only misses a look-up is `redo`: the model looks it up and proposes again, and no
person is troubled. What the user or a colleague would have to say besides is asked when the call comes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from circumspect.values import Ask, Deny, RuleFinding, Verdict

PlainVerdict = Literal["allow", "redo", "ask", "escalate", "deny"]
"""From mild to strict."""


def to_plain_verdict(verdict: Verdict, findings: Sequence[RuleFinding]) -> PlainVerdict:
    """A confirmation is a question; a colleague's approval is a handover; a denial may only be a detour."""
    if verdict.kind == "confirm":
        return "escalate" if verdict.by == "colleague" else "ask"
    return "redo" if is_redo(verdict, findings) else verdict.kind


def is_redo(verdict: Verdict, findings: Sequence[RuleFinding]) -> bool:
    """Only a look-up is missing."""
    return verdict.kind == "deny" and all(_can_wait(one.verdict) for one in findings)


def is_mendable(findings: Sequence[RuleFinding]) -> bool:
    """Every denial goes away with a look-up: whatever else the user is asked for, the model need not give up."""
    denials = [one.verdict for one in findings if isinstance(one.verdict, Deny)]
    return bool(denials) and all(one.look_up for one in denials)


def _can_wait(said: Verdict) -> bool:
    """It asks for a look-up, or for what comes after it. A value that is wrong or made up is not mended by one."""
    match said:
        case Deny():
            return said.look_up
        case Ask():
            return not said.invalid
        case _:
            return True
