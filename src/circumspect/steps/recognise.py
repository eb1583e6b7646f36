"""recognise: Screened -> what the tenant's CRM knows about the person whose conversation this is.

One read, asked for where a decision is to be made, by the id that the tenant itself gave the conversation. What a
message says about its sender is no identity and is not looked at. A CRM that is down, or that does not know the person,
leaves the turn without facts, and it goes on.
"""

from __future__ import annotations

from collections.abc import Mapping

from circumspect import running
from circumspect.journal import Journal, LookEvent, RemarkEvent
from circumspect.policy.keys.tool_policy import ToolPolicy
from circumspect.policy.understanding.customer import CustomerLookup, facts_in, find_obstacle
from circumspect.ports import Clock, Ids, Tools
from circumspect.reasons import ReasonCode
from circumspect.values import Screened, ToolSpec, is_known_person

PATIENCE = 5.0
"""Seconds. An answer without these facts is better than one that comes late."""


async def recognise(
    screened: Screened,
    customer: CustomerLookup,
    spec: ToolSpec | None,
    policy: ToolPolicy | None,
    notes: Journal,
    tools: Tools,
    clock: Clock,
    ids: Ids,
) -> Mapping[str, str]:
    incoming, person = screened.incoming, screened.opened.person
    if not is_known_person(person):
        return {}
    look = customer.look(person)
    why = find_obstacle(look, spec, policy)
    if why or spec is None:
        notes.write(RemarkEvent(f"the customer was not looked up: {why}", "understanding"))
        return {}
    seen = await running.look(look, incoming, tools, clock, ids, min(spec.timeout, PATIENCE), again=False)
    if seen.state != "succeeded":
        told = f"{look.tool}: went on without what is known about the customer"
        notes.write(LookEvent(told, tool=look.tool, arguments=look.arguments, error=seen.error), ReasonCode.TOOL_FAILED)
        return {}
    known = facts_in(seen.result, customer, person)
    told = f"{look.tool}: known about the customer: {', '.join(known) or 'nothing'}"
    result = customer.result(known)
    notes.write(LookEvent(told, tool=look.tool, arguments=look.arguments, error=seen.error, result=result))
    return known
