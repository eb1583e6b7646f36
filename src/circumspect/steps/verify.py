"""verify: did it happen? An Execution that reports success, held against a look by a read tool the policy names."""

from __future__ import annotations

from circumspect import running
from circumspect.journal import Journal, LookEvent
from circumspect.policy.facts import Facts
from circumspect.policy.postconditions import came_true, check_call
from circumspect.ports import Clock, Ids, Tools
from circumspect.reasons import ReasonCode
from circumspect.values import Execution


async def verify(ended: Execution, facts: Facts, notes: Journal, tools: Tools, clock: Clock, ids: Ids) -> bool:
    """False only when a look was possible and did not show the effect."""
    look = check_call(facts) if ended.state == "succeeded" else None
    if look is None:
        return True
    spec = tools.specs().get(look.tool)
    seen = await running.look(look, ended, tools, clock, ids, spec.timeout if spec else 30.0)
    shown = seen.state == "succeeded" and came_true(facts, seen.result).kind == "holds"
    reasons = () if shown else (ReasonCode.VERIFICATION_FAILED,)
    told = f"verified by {look.tool}: {'yes' if shown else 'no'}"
    notes.write(
        LookEvent(told, tool=look.tool, arguments=look.arguments, result=seen.result, error=seen.error), *reasons
    )
    return shown
