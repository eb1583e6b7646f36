"""Rehearsing: a tenant's `TurnSetup` -> one with which nothing happens, for the conversations of the playground.

Policy, model and prompts are the tenant's own. A tool with a test back end is called there, whatever it does, and the
ledger says so. Of the others, one that only reads is asked. A call that changes something is not made: it brings what
the same tool brought last time it was really called, and nothing where it never was. What a policy looks at afterwards
to see the effect is answered from the same recording. No colleague is called, no experiment counts it, and the ledger's
row of such a call is one that nobody repeats.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from circumspect.errors import ToolError
from circumspect.journal import LookEvent, find_events
from circumspect.lab.trials.watching_store import Passing
from circumspect.policy.keys.tool_policy import effect_of
from circumspect.ports import Clock, Closing, Store
from circumspect.server.tenants.tool_building import TenantTools
from circumspect.setup import TurnSetup
from circumspect.stores import SqlStore
from circumspect.stores.rehearsals import Recording, find_recording, transpose
from circumspect.tools.toolset import Toolset
from circumspect.values import Execution, Json, ToolCall, ToolSpec


def rehearse(setup: TurnSetup, store: SqlStore) -> TurnSetup:
    tools = _Rehearsed(setup, store, setup.ports.clock)
    return replace(setup, ports=replace(setup.ports, tools=tools, store=_Quiet(setup.ports.store, tools.tested)))


class _Quiet(Passing):
    """A store that calls nobody, and whose calls under way nobody makes again."""

    def __init__(self, store: Store, tested: Collection[str]) -> None:
        super().__init__(store)
        self._tested = tested

    async def begin_call(self, execution: Execution, token: str, by: str = "") -> bool:
        runner = "test" if execution.call.tool in self._tested and execution.runner == "us" else execution.runner
        return await super().begin_call(replace(execution, recovery="blind", runner=runner), token, by)

    async def close_turn(self, closing: Closing) -> None:
        await super().close_turn(replace(closing, escalation=None))


class _Rehearsed:
    """The tools of one turn of a rehearsal."""

    def __init__(self, setup: TurnSetup, store: SqlStore, clock: Clock) -> None:
        self._tools, self._tenant, self._policy = setup.ports.tools, setup.tenant.id, setup.policy
        self._store, self._clock = store, clock
        tests = self._tools.tests if isinstance(self._tools, TenantTools) else Toolset(())
        self._tests, self.tested = tests, frozenset(name for name, one in tests.specs().items() if one.configured)
        """Tools whose calls are made, at their test back end."""
        self._made: list[tuple[ToolCall, Recording]] = []
        """Calls that were rehearsed, with the recording that stood in."""

    def specs(self) -> Mapping[str, ToolSpec]:
        return self._tools.specs()

    async def call(self, name: str, arguments: Mapping[str, Json], key: str) -> Json:
        if name in self.tested:
            return await self._tests.call(name, arguments, key)
        call, spec = ToolCall(name, dict(arguments)), self.specs().get(name)
        if effect_of(spec, self._policy.of(name, self._tenant)) == "read":
            return await self._look(call, key)
        if spec is None or not spec.configured:
            raise ToolError(f"There is no tool named '{name}' that could be called.")
        found = await self._store.tx(find_recording, self._tenant, call, self._clock.now())
        if found is None:
            return {}
        self._made.append((call, found))
        return transpose(found.execution.result, found.execution.call.arguments, call.arguments)

    async def lookup(self, name: str, arguments: Mapping[str, Json], key: str) -> Json | None:
        return None

    async def _look(self, call: ToolCall, key: str) -> Json:
        """After a rehearsed call, what was seen after the recorded one; else what is so."""
        for made, recording in reversed(self._made):
            ran = recording.execution
            said = await self._store.messages(ran.tenant, ran.conversation, internal=True)
            looks = [one for one in find_events([m for m in said if m.turn == ran.turn], LookEvent) if not one.error]
            if seen := next((one for one in looks if one.tool == call.tool), None):
                return transpose(seen.result, ran.call.arguments, made.arguments)
        return await self._tools.call(call.tool, call.arguments, key)
