"""A LangChain agent: as it is, with HumanInTheLoopMiddleware, and with our middleware.

LangChain's middleware is set up as its guide shows: for the tools that need a yes by the rules of the house, with
approve and reject. A second row asks about everything that changes something, which is the other way to set it up.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from bench.gates.contestant import Watch, check_yes, count_lines
from bench.gates.proposals import FOLDER, PERSON, House, Outcome, Proposal
from circumspect.adapters.langchain import Circumspect

POLICY = FOLDER / "policy.yaml"
Middleware = Callable[[House], list[AgentMiddleware[Any, Any, Any]]]


def leave_alone(house: House) -> list[AgentMiddleware[Any, Any, Any]]:
    return []


def ask_where_a_yes_is_needed(house: House) -> list[AgentMiddleware[Any, Any, Any]]:
    decisions: Any = {"allowed_decisions": ["approve", "reject"]}
    asked = ("cancel_order", "refund", "transfer", "block_card", "delete_mail", "delete_event")
    return [HumanInTheLoopMiddleware(interrupt_on=dict.fromkeys(asked, decisions))]


def ask_about_every_change(house: House) -> list[AgentMiddleware[Any, Any, Any]]:
    decisions: Any = {"allowed_decisions": ["approve", "reject"]}
    asked = ["cancel_order", "refund", "transfer", "block_card", "delete_mail", "delete_event"]
    asked += ["change_address", "send_mail", "add_event", "invite"]
    return [HumanInTheLoopMiddleware(interrupt_on=dict.fromkeys(asked, decisions))]


def gate_every_call(house: House) -> list[AgentMiddleware[Any, Any, Any]]:
    return [Circumspect(POLICY, person=lambda request: PERSON)]


class Scripted(BaseChatModel):
    """Proposes the call, and has nothing to add to what comes of it."""

    proposal: Any = None
    watch: Any = None

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_options: Any) -> Scripted:
        return self

    def _generate(self, messages: list[BaseMessage], *_args: Any, **_options: Any) -> ChatResult:
        said = AIMessage("That is all.")
        if self.watch.started:
            self.watch.stop()
        else:
            call = {"name": self.proposal.tool, "args": self.proposal.arguments, "id": "proposed"}
            said = AIMessage("", tool_calls=[call])
            self.watch.start()
        return ChatResult(generations=[ChatGeneration(message=said)])


class ThroughLangChain:
    def __init__(self, house: House, name: str, package: str, middleware: Middleware, policy: bool = False) -> None:
        os.environ["LANGSMITH_TRACING"] = "false"
        self.name, self.package = name, package
        # One line more wherever there is a guard: its import.
        self.glue = 0 if middleware is leave_alone else count_lines(middleware, *([POLICY] if policy else [])) + 1
        self.model, self.numbers = Scripted(), count()
        tools = [
            StructuredTool(
                name=tool, description=one["description"], args_schema=one["inputSchema"], coroutine=self._run
            )
            for tool, one in house.tools.items()
        ]
        self.agent = create_agent(self.model, tools, middleware=middleware(house), checkpointer=InMemorySaver())

    async def propose(self, proposal: Proposal, watch: Watch, says_yes: bool) -> Outcome:
        self.model.proposal, self.model.watch = proposal, watch
        thread: Any = {"configurable": {"thread_id": f"c{next(self.numbers)}"}}
        talk: Any = {"messages": convert_to_messages(proposal.messages)}
        state = await self.agent.ainvoke(talk, thread)
        watch.stop()
        if watch.ran:
            return "ran"
        if "__interrupt__" not in state:
            return "held"
        if says_yes:
            # Ours knows who decides on what: a colleague answers by name. LangChain's takes any approval.
            yes: Any = {"decisions": [{"type": "approve"}]}
            if state["__interrupt__"][0].value.get("verdict") == "escalate":
                yes = {"decisions": [{"type": "approve", "by": "dana"}]}
            await self.agent.ainvoke(Command(resume=yes), thread)
            check_yes(proposal, watch.ran)
        return "asked"

    async def close(self) -> None:
        """Nothing is open."""

    async def _run(self, **_arguments: Any) -> str:
        ran: str = self.model.watch.run()
        return ran
