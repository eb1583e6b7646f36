"""Microsoft's Agent Governance Toolkit: `govern` around the function through which the agent's tools are run.

Its conditions read the call: the tool and the arguments. Every rule of the house that can be said of those is said.
"""

from __future__ import annotations

import logging
from typing import Any

from agentmesh.governance import govern
from agentmesh.governance.approval import ApprovalDecision, CallbackApproval
from agentmesh.governance.govern import GovernanceDenied

from bench.gates.contestant import Watch, count_lines
from bench.gates.proposals import FOLDER, House, Outcome, Proposal

POLICY = FOLDER / "agt_policy.yaml"


def guard(run_tool: Any, ask: Any) -> Any:
    def answer(request: Any) -> ApprovalDecision:
        return ApprovalDecision(approved=ask(request), approver="customer")

    return govern(run_tool, policy=str(POLICY), approval_handler=CallbackApproval(answer))


class ThroughToolkit:
    name = "Agent Governance Toolkit, govern"
    package = "agentmesh-platform"
    # Three more: its imports.
    glue = count_lines(guard, POLICY) + 3

    def __init__(self, house: House) -> None:
        logging.getLogger("agentmesh").setLevel(logging.ERROR)
        self.run_tool = guard(self._run, self._ask)
        self.watch = Watch()
        self.asked = False

    async def propose(self, proposal: Proposal, watch: Watch, says_yes: bool) -> Outcome:
        self.watch, self.asked = watch, False
        watch.start()
        try:
            self.run_tool(action=proposal.tool, **proposal.arguments)
        except GovernanceDenied:
            watch.stop()
            return "held"
        return "asked" if self.asked else "ran"

    async def close(self) -> None:
        """Nothing is open."""

    def _ask(self, _request: Any) -> bool:
        self.watch.stop()
        self.asked = True
        return True

    def _run(self, **_arguments: Any) -> str:
        return self.watch.run()
