"""CrewAI: `guard_crews("policy.yaml", conversation=…)`, once, before a crew is started.

CrewAI's hooks hold for all crews of the process, and a hook of theirs that fails lets the tool run; ours blocks it.
With `ask` a question is put to somebody at once; without it the agent is told what to ask. CrewAI runs the tools, so
the ledger learns from a second hook what came of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from circumspect.adapters.frameworks import (
    LoopThread,
    as_json,
    as_text,
    choose,
    import_framework,
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

if TYPE_CHECKING:
    from circumspect.gate import Gate, Ruling
    from circumspect.policy.policy_file import Policy

FAILURES = ("Error executing tool: ", "I encountered an error while trying to use the tool.")
"""How CrewAI begins the result of a tool that raised."""


def guard_crews(
    policy: Gate | Policy | str | Path | None = None,
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
        key = identify(context)
        try:
            ruling = self._loop_thread.wait(self._rule(context))
        except Exception as problem:
            self._under_way[key] = f"NOT RUN. {problem}"
            return False
        self._under_way[key] = ruling if ruling.verdict == "allow" else ruling.tell_model
        return None if ruling.verdict == "allow" else False

    async def _rule(self, context: Any) -> Ruling:
        person = choose(self._person, context)
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
        told = str(context.tool_result)
        failed = told if told.startswith(FAILURES) else ""
        self._loop_thread.wait(self.gate.ran(under_way, as_json(context.raw_tool_result), error=failed))
        return None


def identify(context: Any) -> tuple[int, str, str]:
    """A call on its way: a tool runs in the thread in which both of its hooks do."""
    return threading.get_ident(), context.tool_name, as_text(dict(context.tool_input))
