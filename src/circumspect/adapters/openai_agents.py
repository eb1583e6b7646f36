"""The OpenAI Agents SDK: `agent = guard_agent(Agent(…), "policy.yaml")`.

A call that needs the user's yes interrupts the run as the SDK's own `needs_approval` does; `state.approve(item)`
answers exactly that call. `always_approve=True` is a yes to calls that nobody has seen, so it lets none of them run.
What a colleague has to approve does not interrupt: it waits in the console, and the model is told so.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from circumspect.adapters.frameworks import (
    alone,
    as_json,
    as_text,
    choose,
    import_framework,
    open_gate,
    settle,
    waits_for_user,
)
from circumspect.errors import ConfigError
from circumspect.gate import Gate
from circumspect.values import ToolCall

with import_framework("agents", install="circumspect[openai-agents]"):
    from agents import Agent as SdkAgent
    from agents import FunctionTool, Handoff, RunContextWrapper, ToolApprovalItem, get_current_trace
    from agents.tool import maybe_invoke_function_tool_failure_error_function
    from agents.tool_context import ToolContext

if TYPE_CHECKING:
    from circumspect.gate import Ruling
    from circumspect.policy.load import PolicyGiven
    from circumspect.values import Json

RunSetting = str | Callable[[RunContextWrapper[Any]], str | None] | None


def guard_agent(
    agent: SdkAgent[Any],
    policy: Gate | PolicyGiven | None = None,
    *,
    conversation: RunSetting = None,
    person: RunSetting = None,
    **options: Any,
) -> SdkAgent[Any]:
    """The same agent, and the agents it hands over to, whose calls are ruled on before they run.

    `conversation` and `person` are texts, or functions of the run's context; without the first, the trace's group
    (`RunConfig(group_id=…)`) is the conversation, or the trace where it has no group.
    """
    return _guard(agent, open_gate(policy, options), conversation, person)


def _guard(agent: SdkAgent[Any], gate: Gate, conversation: RunSetting, person: RunSetting) -> SdkAgent[Any]:
    unruled = [tool.name for tool in agent.tools if not isinstance(tool, FunctionTool)]
    unruled += [server.name for server in agent.mcp_servers]
    if unruled or any(isinstance(one, Handoff) for one in agent.handoffs):
        raise ConfigError(
            f"Calls of {', '.join(unruled) or 'a ready-made handoff'} would not pass the gate of agent '{agent.name}'.",
            fix="Give function tools and agents to hand over to; put `circumspect mcp` in front of MCP servers.",
        )
    tools = [one for one in agent.tools if isinstance(one, FunctionTool)]
    others = [one for one in agent.handoffs if isinstance(one, SdkAgent)]
    return agent.clone(
        tools=[GuardedTool(tool, gate, conversation, person).build() for tool in tools],
        handoffs=[_guard(other, gate, conversation, person) for other in others],
    )


def is_json_object(text: Any) -> bool:
    try:
        return isinstance(json.loads(text or "{}"), dict)
    except ValueError:
        return False


class GuardedTool:
    """One function tool: asked about before it runs, and run through the ledger."""

    def __init__(self, tool: FunctionTool, gate: Gate, conversation: RunSetting, person: RunSetting) -> None:
        self._tool = tool
        # A failure has to reach the ledger before the SDK turns it into words for the model.
        self._bare = replace(tool, _failure_error_function=None, _use_default_failure_error_function=False)
        self._gate = gate
        self._conversation = conversation
        self._person = person
        self.asked: dict[str, Ruling] = {}

    def build(self) -> FunctionTool:
        return replace(self._tool, on_invoke_tool=self._invoke, needs_approval=self._needs_approval)

    async def _needs_approval(self, run: RunContextWrapper[Any], arguments: dict[str, Json], call_id: str) -> bool:
        ruling = await self._rule(run, arguments, call_id)
        if waits_for_user(ruling):
            self.asked[call_id] = ruling
        return waits_for_user(ruling)

    async def _invoke(self, run: ToolContext[Any], arguments: str) -> Any:
        place = choose(self._conversation, run) or find_group()
        async with alone(self._gate, place, ToolCall(self._tool.name, {"": arguments})):
            return await self._rule_and_run(run, arguments)

    async def _rule_and_run(self, run: ToolContext[Any], arguments: str) -> Any:
        ruling = await self._rule(run, arguments, run.tool_call_id)
        if waits_for_user(ruling) and self._was_approved(run):
            ruling = await settle(self._gate, ruling, True, person=choose(self._person, run))
        if ruling.verdict != "allow":
            return ruling.tell_model

        async def run_tool(**allowed: Json) -> Json:
            return as_json(await self._bare.on_invoke_tool(run, as_text(allowed)))

        try:
            return as_text(await self._gate.run(ruling, run_tool))
        except Exception as error:
            told = await maybe_invoke_function_tool_failure_error_function(
                function_tool=self._tool, context=run, error=error
            )
            if told is None:
                raise
            return told

    async def _rule(self, run: RunContextWrapper[Any], arguments: dict[str, Json] | str, call_id: str) -> Ruling:
        self._gate.learn(self._tool.name, self._tool.params_json_schema, self._tool.description)
        return await self._gate.rule(
            {"name": self._tool.name, "arguments": arguments, "id": call_id},
            messages=run.turn_input,
            conversation=choose(self._conversation, run) or find_group(),
            person=choose(self._person, run),
        )

    def _was_approved(self, run: ToolContext[Any]) -> bool:
        """Somebody approved this very call, and not just every call of this tool."""
        approved = run.is_tool_approved(self._tool.name, run.tool_call_id)
        return approved is True and (
            run.tool_call_id in self.asked or run.is_tool_approved(self._tool.name, "no call has this id") is None
        )


def find_question(item: ToolApprovalItem) -> str:
    """What to ask before `state.approve(item)`: the gate's question, in the process that was interrupted."""
    for tool in item.agent.tools:
        guarded = getattr(getattr(tool, "on_invoke_tool", None), "__self__", None)
        if isinstance(guarded, GuardedTool) and item.call_id in guarded.asked:
            return guarded.asked[item.call_id].ask_user
    if not is_json_object(item.arguments):
        return f"{item.tool_name}: its arguments cannot be read. Approve it, and the model is told to send them again."
    return f"{item.tool_name}: {item.arguments}"


def find_group() -> str:
    """What the SDK itself takes for one conversation."""
    trace = get_current_trace()
    known = getattr(trace, "group_id", None) or (trace.trace_id if trace else "no-op")
    if known == "no-op":
        raise ConfigError(
            "Nothing says which conversation this run belongs to.",
            fix="Give guard_agent(…, conversation=…): a text, or a function of the run's context.",
        )
    return str(known)
