"""An agent of the OpenAI Agents SDK with `needs_approval` on the tools that need a yes by the rules of the house."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, FunctionTool, Runner, set_tracing_disabled
from agents.items import ModelResponse, TResponseOutputItem, TResponseStreamEvent
from agents.models.interface import Model
from agents.testing import assistant_message, function_call
from agents.usage import Usage

from bench.gates.contestant import Watch, check_yes, count_lines
from bench.gates.proposals import House, Outcome, Proposal


def ask_where_a_yes_is_needed(tools: list[FunctionTool]) -> None:
    asked = ("cancel_order", "refund", "transfer", "block_card", "delete_mail", "delete_event")
    for tool in tools:
        tool.needs_approval = tool.name in asked


class Scripted(Model):
    """Proposes the call, and has nothing to add to what comes of it."""

    proposal: Proposal
    watch: Watch

    async def get_response(self, *_args: Any, **_options: Any) -> ModelResponse:
        item: TResponseOutputItem = assistant_message("That is all.")
        if self.watch.started:
            self.watch.stop()
        else:
            item = function_call(self.proposal.tool, self.proposal.arguments, call_id="proposed")
            self.watch.start()
        return ModelResponse([item], Usage(requests=1), response_id=None)

    def stream_response(self, *_args: Any, **_options: Any) -> AsyncIterator[TResponseStreamEvent]:
        raise NotImplementedError("The benchmark does not stream.")


class ThroughOpenAIAgents:
    name = "OpenAI Agents SDK, needs_approval"
    package = "openai-agents"
    glue = count_lines(ask_where_a_yes_is_needed)

    def __init__(self, house: House) -> None:
        set_tracing_disabled(True)
        self.model = Scripted()
        tools = [
            FunctionTool(name, one["description"], one["inputSchema"], self._run, strict_json_schema=False)
            for name, one in house.tools.items()
        ]
        ask_where_a_yes_is_needed(tools)
        self.agent: Agent[None] = Agent("house", model=self.model, tools=list(tools))

    async def propose(self, proposal: Proposal, watch: Watch, says_yes: bool) -> Outcome:
        self.model.proposal, self.model.watch = proposal, watch
        run = await Runner.run(self.agent, _write_items(proposal.messages))
        watch.stop()
        if watch.ran:
            return "ran"
        if not run.interruptions:
            return "held"
        if says_yes:
            state = run.to_state()
            for item in run.interruptions:
                state.approve(item)
            await Runner.run(self.agent, state)
            check_yes(proposal, watch.ran)
        return "asked"

    async def close(self) -> None:
        """Nothing is open."""

    async def _run(self, _context: Any, _arguments: str) -> str:
        return self.model.watch.run()


def _write_items(messages: list[dict[str, Any]]) -> list[Any]:
    """Chat messages as the items that the SDK takes."""
    items: list[Any] = []
    for message in messages:
        if message["role"] == "tool":
            output = {"call_id": message["tool_call_id"], "output": message["content"]}
            items.append({"type": "function_call_output", **output})
        elif calls := message.get("tool_calls"):
            items += [{"type": "function_call", "call_id": one["id"], **one["function"]} for one in calls]
        else:
            items.append({"role": message["role"], "content": message["content"]})
    return items
