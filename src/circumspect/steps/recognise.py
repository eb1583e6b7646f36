"""recognise: Screened -> what the tenant's CRM knows about the person whose conversation this is.

One read, asked for where a decision is to be made, by the id that the tenant itself gave the conversation. What a
message says about its sender is no identity and is not looked at. A CRM that is down, or that does not know the person,
leaves the turn without facts, and it goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from circumspect.errors import ToolError
from circumspect.policy.file import ToolPolicy
from circumspect.policy.understanding.customer import Customer, facts_in, held
from circumspect.ports import Clock, Ids, Tools
from circumspect.reasons import ReasonCode
from circumspect.running import run
from circumspect.turn import Execution, ExecutionId, Json, Notes, Screened, ToolSpec

PATIENCE = 5.0
"""Seconds. An answer without these facts is better than one that comes late."""


async def recognise(
    screened: Screened,
    customer: Customer,
    spec: ToolSpec | None,
    policy: ToolPolicy | None,
    notes: Notes,
    tools: Tools,
    clock: Clock,
    ids: Ids,
) -> Mapping[str, str]:
    incoming, person, now = screened.incoming, screened.opened.person, clock.now()
    if person is None:
        return {}
    look = customer.look(person)
    why = held(look, spec, policy)
    if why or spec is None:
        notes.write("understanding", f"the customer was not looked up: {why}")
        return {}
    started = Execution(
        id=ExecutionId(ids.new("exec")),
        tenant=incoming.tenant,
        conversation=incoming.conversation,
        turn=incoming.turn,
        call=look,
        effect="read",
        recovery="blind",
        state="started",
        token=ids.new("tok"),
        lease_until=now + timedelta(seconds=60),
        started_at=now,
    )
    seen = await run(started, _Once(tools), clock, min(spec.timeout, PATIENCE))
    asked: dict[str, Json] = {"tool": look.tool, "arguments": look.arguments, "error": seen.error}
    if seen.state != "succeeded":
        told = f"{look.tool}: went on without what is known about the customer"
        notes.write("tool", told, ReasonCode.TOOL_FAILED, meta=asked)
        return {}
    known = facts_in(seen.result, customer, person)
    told = f"{look.tool}: known about the customer: {', '.join(known) or 'nothing'}"
    notes.write("tool", told, meta={**asked, "result": customer.result(known)})
    return known


class _Once:
    """The tools, for one attempt. A read that does not answer would be asked again, and the user waits."""

    def __init__(self, tools: Tools) -> None:
        self._asked, self._tools = False, tools

    def specs(self) -> Mapping[str, ToolSpec]:
        return self._tools.specs()

    async def call(self, name: str, arguments: Mapping[str, Json], key: str) -> Json:
        if self._asked:
            raise ToolError("The tool did not answer in time.")
        self._asked = True
        return await self._tools.call(name, arguments, key)

    async def lookup(self, name: str, arguments: Mapping[str, Json], key: str) -> Json | None:
        return await self._tools.lookup(name, arguments, key)
