"""LangChain and LangGraph: `create_agent(…, middleware=[Circumspect("policy.yaml")])`.

With a checkpointer a question is LangGraph's own interrupt, in the shape of its `tool_approval`, and
`Command(resume=…)` answers it: with the user's words, with true or false, or with a decision (`approve`, `edit`,
`reject`). Without one the model is told what to ask, and the user's next message counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from circumspect.adapters.frameworks import (
    LoopThread,
    alone,
    as_json,
    as_text,
    choose,
    describe_question,
    import_framework,
    open_gate,
    settle,
    waits_for_yes,
)
from circumspect.errors import ConfigError, ToolError
from circumspect.values import ToolCall

with import_framework("langchain", install="circumspect[langchain]"):
    from langchain.agents.middleware import AgentMiddleware, ToolCallRequest
    from langchain_core.messages import AIMessage, ToolMessage, convert_to_openai_messages
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.types import Command, interrupt

if TYPE_CHECKING:
    from circumspect.gate import Gate, Ruling
    from circumspect.policy.load import PolicyGiven
    from circumspect.values import Json

Answered = ToolMessage | Command[Any]
Setting = str | Callable[[ToolCallRequest], str | None] | None


class Circumspect(AgentMiddleware[Any, Any, Any]):
    """Rules on every call of the agent's tools before it runs.

    `conversation` and `person` are texts, or functions of the request; without the first, the thread is the
    conversation, or the first message where there is no thread. Everything else goes to the gate.
    """

    def __init__(
        self,
        policy: Gate | PolicyGiven | None = None,
        *,
        conversation: Setting = None,
        person: Setting = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.gate = open_gate(policy, options)
        self._conversation = conversation
        self._person = person

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Answered]]
    ) -> Answered:
        given = request.tool_call["args"]
        async with alone(self.gate, self._find_conversation(request), ToolCall(request.tool_call["name"], given)):
            return await self._rule_and_run(request, handler)

    async def _rule_and_run(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Answered]]
    ) -> Answered:
        ruling = await self._rule(request, request.tool_call["args"])
        while waits_for_yes(ruling) and can_pause(request):
            asked = {"type": "tool_approval", "tool_call_id": ruling.call.id, **describe_question(ruling)}
            ruling = await self._settle(request, ruling, interrupt(asked))
        if ruling.verdict != "allow":
            return write_message(request, ruling.tell_model, failed=True)
        return await self._run(ruling, request, handler)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Answered]) -> Answered:
        async def run_in_thread(allowed: ToolCallRequest) -> Answered:
            return await asyncio.to_thread(handler, allowed)

        return self._loop_thread.wait(self.awrap_tool_call(request, run_in_thread))

    @cached_property
    def _loop_thread(self) -> LoopThread:
        return LoopThread()

    async def _rule(self, request: ToolCallRequest, arguments: dict[str, Json]) -> Ruling:
        if request.tool is not None:
            described = convert_to_openai_tool(request.tool)["function"]
            self.gate.learn(request.tool_call["name"], described.get("parameters"), described.get("description", ""))
        return await self.gate.rule(
            ToolCall(request.tool_call["name"], arguments, request.tool_call["id"] or ""),
            messages=read_history(request),
            conversation=self._find_conversation(request),
            person=choose(self._person, request),
        )

    def _find_conversation(self, request: ToolCallRequest) -> str:
        found: str = choose(self._conversation, request) or find_thread(request) or request.state["messages"][0].id
        return found

    async def _settle(self, request: ToolCallRequest, ruling: Ruling, resumed: Any) -> Ruling:
        """The call after what `Command(resume=…)` brought: a changed call is a new one, which is ruled on again."""
        person = choose(self._person, request)
        match resumed:
            case {"decisions": [decision]}:
                return await self._settle(request, ruling, decision)
            case {"type": "edit", "edited_action": {"name": name, "args": dict(arguments)}}:
                if name != ruling.call.tool:
                    raise ConfigError("An edit cannot change the tool.", fix="Reject the call, and say what to do.")
                return await self._rule(request, arguments)
            case {"type": "approve" | "reject" as kind}:
                return await settle(self.gate, ruling, kind == "approve", person=person, by=resumed.get("by", ""))
            case bool() | str():
                return await settle(self.gate, ruling, resumed, person=person)
        raise ConfigError(
            f"{resumed!r} is no answer to a call that waits.",
            fix="Resume with the user's words, with True or False, or with {'type': 'approve' | 'edit' | 'reject'}.",
        )

    async def _run(
        self, ruling: Ruling, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Answered]]
    ) -> Answered:
        answered: list[Answered] = []

        async def run_tool(**arguments: Json) -> Json:
            answered.append(await handler(request.override(tool_call={**request.tool_call, "args": arguments})))
            return read_result(answered[-1])

        try:
            kept = await self.gate.run(ruling, run_tool)
        except ToolError:
            if not answered:
                raise
            return answered[-1]
        return answered[-1] if answered else write_message(request, as_text(kept))


def find_thread(request: ToolCallRequest) -> str | None:
    thread: str | None = request.runtime.config.get("configurable", {}).get("thread_id")
    return thread


def can_pause(request: ToolCallRequest) -> bool:
    """A run that is interrupted can be resumed: there is a checkpointer. A thread's name alone does not say so."""
    return bool(request.runtime.config.get("configurable", {}).get("__pregel_checkpointer"))


def read_history(request: ToolCallRequest) -> list[dict[str, Any]]:
    """What was said and looked up before the message that proposes the call."""
    messages = list(request.state["messages"])
    while messages and not (isinstance(messages[-1], AIMessage) and messages[-1].tool_calls):
        messages.pop()
    return convert_to_openai_messages(messages[:-1])


def read_result(answered: Answered) -> Json:
    if not isinstance(answered, ToolMessage):
        return as_json(answered.update)
    if answered.status == "error":
        raise ToolError(answered.text)
    return as_json(answered.content)


def write_message(request: ToolCallRequest, text: str, *, failed: bool = False) -> ToolMessage:
    return ToolMessage(
        text,
        name=request.tool_call["name"],
        tool_call_id=request.tool_call["id"],
        status="error" if failed else "success",
    )
