"""CrewAI: `guard_crews("policy.yaml", conversation=…)`, once, before a crew is started.

CrewAI's hooks hold for all crews of the process, and a hook of theirs that fails lets the tool run; ours blocks it.
With `ask` a question is put to somebody at once; without it the agent is told what to ask. CrewAI runs the tools, so
the ledger learns from a second hook what came of them.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from circumspect.adapters.frameworks import (
    RUNNING,
    LoopThread,
    as_json,
    as_text,
    choose,
    import_framework,
    is_running,
    open_gate,
    waits_for_user,
)
from circumspect.adapters.tool_loop import AskPerson, put_question
from circumspect.values import ToolCall

with import_framework("crewai", install="crewai"):
    from crewai.hooks import (
        register_after_tool_call_hook,
        register_before_tool_call_hook,
        unregister_after_tool_call_hook,
        unregister_before_tool_call_hook,
    )
    from crewai.tools import ToolFailure

if TYPE_CHECKING:
    from circumspect.gate import Gate, Ruling
    from circumspect.policy.load import PolicyGiven

INSTEAD_OF_A_RESULT = re.compile(
    r"\s*(?:Error executing tool: |I encountered an error|I tried reusing the same input"
    r"|Tool execution blocked by hook|Tool not found$|Tool '.*' has reached its )"
)
"""How CrewAI begins what the agent reads when a tool raised, or was not called after all."""


def guard_crews(
    policy: Gate | PolicyGiven | None = None,
    *,
    conversation: str | Callable[[Any], str | None],
    person: str | Callable[[Any], str | None] | None = None,
    ask: AskPerson | None = None,
    **options: Any,
) -> CrewGuard:
    """Rules on every call of every crew from now on, until `close()`. CrewAI has no conversations of its own, so
    `conversation` says which one a call belongs to: a text, or a function of the hook's context."""
    return CrewGuard(open_gate(policy, options), conversation, person, ask)


class CrewGuard:
    """The two hooks, and the calls that are on their way between them."""

    def __init__(self, gate: Gate, conversation: Any, person: Any, ask: AskPerson | None) -> None:
        self.gate = gate
        self._conversation, self._person, self._ask = conversation, person, ask
        self._loop_thread = LoopThread()
        self._under_way: dict[tuple[int, str, str], Ruling | str] = {}
        register_before_tool_call_hook(self._before)
        register_after_tool_call_hook(self._after)

    def close(self) -> None:
        unregister_before_tool_call_hook(self._before)
        unregister_after_tool_call_hook(self._after)

    def _before(self, context: Any) -> bool | None:
        """False blocks the tool."""
        try:
            ruling = self._loop_thread.wait(self._rule(context))
        except Exception as problem:
            self._under_way[identify(context)] = f"NOT RUN. {problem}"
            return False
        if ruling.verdict != "allow":
            self._under_way[identify(context)] = ruling.tell_model
            return False
        if is_running(ruling, self._under_way.values()):
            self._under_way[identify(context)] = RUNNING
            return False
        # In place: CrewAI runs what stands in this very dict.
        context.tool_input.update(ruling.call.arguments)
        self._under_way[identify(context)] = ruling
        return None

    async def _rule(self, context: Any) -> Ruling:
        person = choose(self._person, context)
        if (schema := getattr(context.tool, "args_schema", None)) is not None:
            self.gate.learn(context.tool_name, schema.model_json_schema(), context.tool.description or "")
        ruling = await self.gate.rule(
            ToolCall(context.tool_name, dict(context.tool_input)),
            messages=[{"role": "user", "content": context.task.description}] if context.task else [],
            conversation=choose(self._conversation, context) or "",
            person=person,
        )
        if self._ask is not None and waits_for_user(ruling):
            ruling = await put_question(self.gate, ruling, self._ask, person)
        return ruling

    def _after(self, context: Any) -> str | None:
        """What the agent reads instead of CrewAI's own words about a blocked tool."""
        under_way = self._under_way.pop(identify(context), None)
        if under_way is None or isinstance(under_way, str):
            return under_way
        told, result = str(context.tool_result), context.raw_tool_result
        failed = told if isinstance(result, ToolFailure) or INSTEAD_OF_A_RESULT.match(told) else ""
        self._loop_thread.wait(self.gate.ran(under_way, None if failed else as_json(result), error=failed or None))
        return None


def identify(context: Any) -> tuple[int, str, str]:
    """A call on its way: a tool runs in the thread in which both of its hooks do."""
    return threading.get_ident(), context.tool_name, as_text(dict(context.tool_input))
