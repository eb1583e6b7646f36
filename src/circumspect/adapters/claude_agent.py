"""The Claude Agent SDK: `ClaudeAgentOptions(…, hooks=CircumspectHooks("policy.yaml").hooks)`.

A hook rules before each tool, and a hook that fails blocks the tool. With `ask` a question is put to somebody at once;
without it Claude is told what to ask, and the user's next prompt counts. Claude runs the tools, so the ledger learns
from a second hook what came of them.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from circumspect.adapters.frameworks import (
    RUNNING,
    as_json,
    as_text,
    import_framework,
    is_running,
    open_gate,
    waits_for_user,
)
from circumspect.adapters.tool_loop import AskPerson, put_question
from circumspect.values import ToolCall

with import_framework("claude_agent_sdk", install="circumspect[claude-agent]"):
    from claude_agent_sdk import HookMatcher

if TYPE_CHECKING:
    from circumspect.gate import Gate, Ruling
    from circumspect.policy.load import PolicyGiven
    from circumspect.values import Json


class CircumspectHooks:
    """Hooks for one application; a session of Claude's is a conversation.

    The tools of the MCP server named `server` go by their own names in the policy; all others by Claude's, such as
    `Bash` or `mcp__mail__send`.
    """

    def __init__(
        self,
        policy: Gate | PolicyGiven | None = None,
        *,
        server: str | None = None,
        ask: AskPerson | None = None,
        person: str | None = None,
        **options: Any,
    ) -> None:
        self.gate = open_gate(policy, options)
        self._prefix = f"mcp__{server}__" if server else ""
        self._ask = ask
        self._person = person
        self._messages: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._running: dict[str, Ruling] = {}

    @property
    def hooks(self) -> dict[str, list[HookMatcher]]:
        return {
            "UserPromptSubmit": [HookMatcher(hooks=[self._hear])],
            "PreToolUse": [HookMatcher(hooks=[self._rule], on_failure="block", timeout=3600)],
            "PostToolUse": [HookMatcher(hooks=[self._note_result])],
            "Stop": [HookMatcher(hooks=[self._hear_claude])],
            "PostToolUseFailure": [HookMatcher(hooks=[self._note_failure])],
        }

    async def _hear(self, event: Any, _id: str | None, _context: Any) -> Any:
        self._messages[event["session_id"]].append({"role": "user", "content": event["prompt"]})
        return {}

    async def _hear_claude(self, event: Any, _id: str | None, _context: Any) -> Any:
        said = event.get("last_assistant_message", "")
        self._messages[event["session_id"]].append({"role": "assistant", "content": said})
        return {}

    async def _rule(self, event: Any, _id: str | None, _context: Any) -> Any:
        call = ToolCall(event["tool_name"].removeprefix(self._prefix), event["tool_input"], event["tool_use_id"])
        session = event["session_id"]
        ruling = await self.gate.rule(call, messages=self._messages[session], conversation=session, person=self._person)
        ask = self._ask if waits_for_user(ruling) else None
        if ask is not None:
            ruling = await put_question(self.gate, ruling, ask, self._person)
        if ruling.verdict != "allow":
            return decide("deny", permissionDecisionReason=ruling.tell_model)
        if is_running(ruling, self._running.values()):
            return decide("deny", permissionDecisionReason=RUNNING)
        self._running[call.id] = ruling
        # What nobody was asked about stays subject to Claude's own permissions.
        return decide("allow", updatedInput=ruling.call.arguments) if ask is not None else {}

    async def _note_result(self, event: Any, _id: str | None, _context: Any) -> Any:
        result = read_response(event["tool_response"])
        if (ruling := self._running.pop(event["tool_use_id"], None)) is not None:
            await self.gate.ran(ruling, result)
            self._messages[event["session_id"]] += [
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [
                        {
                            "id": event["tool_use_id"],
                            "function": {"name": ruling.call.tool, "arguments": as_text(ruling.call.arguments)},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": event["tool_use_id"], "content": as_text(result)},
            ]
        return {}

    async def _note_failure(self, event: Any, _id: str | None, _context: Any) -> Any:
        if (ruling := self._running.pop(event["tool_use_id"], None)) is not None:
            await self.gate.ran(ruling, error=event["error"])
        return {}


def decide(decision: str, **more: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision, **more}}


def read_response(response: Any) -> Json:
    """What a tool returned; the one text of an MCP server's answer as the record that it is."""
    content = response.get("content", response) if isinstance(response, dict) else response
    match content:
        case [{"type": "text", "text": str(text)}]:
            return as_json(text)
    return as_json(response)
