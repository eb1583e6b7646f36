"""Our gate, asked directly, as in a loop of one's own; in this process and with SQLite."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

from bench.gates.contestant import Watch, check_yes, count_lines
from bench.gates.proposals import FOLDER, PERSON, House, Outcome, Proposal
from circumspect import Gate, Ruling

POLICY = FOLDER / "policy.yaml"


async def guard(gate: Gate, call: Any, messages: list[Any], conversation: str, function: Any) -> Any:
    """What a loop of one's own has to say: this, and the policy."""
    ruling = await gate.rule(call, messages=messages, conversation=conversation, person=PERSON)
    if ruling.intent:
        ruling = await gate.answer(ruling.intent, input(ruling.ask_user), person=PERSON)
    return await gate.run(ruling, function) if ruling.allowed else ruling.tell_model


class ThroughGate:
    package = "circumspect"

    def __init__(self, house: House, name: str = "Circumspect, the gate itself", store: Path | None = None) -> None:
        self.name = name
        # Two more: the import and the gate itself.
        self.glue = count_lines(guard, POLICY) + 2
        self.gate = Gate(POLICY, tools=house.definitions, store=f"sqlite:///{store}" if store else None)
        self.numbers = count()

    async def rule(self, proposal: Proposal, watch: Watch) -> Ruling:
        conversation = f"c{next(self.numbers)}"
        watch.start()
        # A conversation that was never seen: everything in it is read for this ruling.
        ruling = await self.gate.rule(
            proposal.call, messages=proposal.messages, conversation=conversation, person=PERSON
        )
        watch.stop()
        return ruling

    async def propose(self, proposal: Proposal, watch: Watch, says_yes: bool) -> Outcome:
        ruling = await self.rule(proposal, watch)
        if ruling.allowed:
            return "ran"
        # A question without an intent asks for another value. There is nothing to say yes to, so this call is held.
        if not ruling.intent:
            return "held"
        if says_yes:
            colleague = "dana" if ruling.verdict == "escalate" else ""
            answered = await self.gate.answer(ruling.intent, approve=True, person=PERSON, by=colleague)
            check_yes(proposal, answered.allowed)
        return "asked"

    async def close(self) -> None:
        await self.gate.close()
