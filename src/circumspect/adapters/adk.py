"""Google's Agent Development Kit: `App(…, plugins=[CircumspectPlugin("policy.yaml")])`.

A call that needs the user's yes requests ADK's own tool confirmation, with the question as its hint. ADK runs the
tools, so the ledger learns from a second callback what came of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from circumspect.adapters.frameworks import (
    RUNNING,
    as_json,
    as_text,
    describe_question,
    import_framework,
    is_running,
    open_gate,
    settle,
    waits_for_yes,
)
from circumspect.audit.readers.model_bodies import lower_types
from circumspect.values import ToolCall

with import_framework("google.adk", install="google-adk"):
    from google.adk.plugins.base_plugin import BasePlugin

if TYPE_CHECKING:
    from circumspect.gate import Gate, Ruling
    from circumspect.policy.load import PolicyGiven
    from circumspect.values import Json


class CircumspectPlugin(BasePlugin):  # type: ignore[misc]
    """Rules on every call of every agent of the app. A session is a conversation, and its user the person."""

    def __init__(self, policy: Gate | PolicyGiven | None = None, **options: Any) -> None:
        super().__init__(name="circumspect")
        self.gate = open_gate(policy, options)
        self._running: dict[str, Ruling] = {}

    async def before_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any
    ) -> dict[str, Any] | None:
        session = tool_context.session
        call_id = tool_context.function_call_id or ""
        self.gate.learn(tool.name, read_schema(tool), getattr(tool, "description", "") or "")
        ruling = await self.gate.rule(
            ToolCall(tool.name, tool_args, call_id),
            messages=read_history(session.events),
            conversation=session.id,
            person=session.user_id,
        )
        if ruling.intent is not None and waits_for_yes(ruling):
            answer = tool_context.tool_confirmation
            if answer is None:
                tool_context.request_confirmation(hint=ruling.intent.shown, payload=describe_question(ruling))
                tool_context.actions.skip_summarization = True
            else:
                by = answer.payload.get("by", "") if isinstance(answer.payload, dict) else ""
                ruling = await settle(self.gate, ruling, answer.confirmed, person=session.user_id, by=by)
        if ruling.verdict != "allow":
            return {"error": ruling.tell_model}
        if is_running(ruling, self._running.values()):
            return {"error": RUNNING}
        tool_args.update(ruling.call.arguments)
        self._running[call_id] = ruling
        return None

    async def after_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, result: Any
    ) -> dict[str, Any] | None:
        if (ruling := self._running.pop(tool_context.function_call_id or "", None)) is not None:
            await self.gate.ran(ruling, read_result(result))
        return None

    async def on_tool_error_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, error: BaseException
    ) -> dict[str, Any] | None:
        if (ruling := self._running.pop(tool_context.function_call_id or "", None)) is not None:
            await self.gate.ran(ruling, error=f"{type(error).__name__}: {error}")
        return None


def read_schema(tool: Any) -> Any:
    """The schema that ADK sends to the model; None where it sends none."""
    declared = tool._get_declaration()
    if declared is None:
        return None
    schema = getattr(declared, "parameters_json_schema", None)
    if schema is None and declared.parameters is not None:
        schema = declared.parameters.model_dump(mode="json", exclude_none=True, by_alias=True)
    return lower_types(schema)


def read_result(result: Any) -> Json:
    """ADK wraps what is no record as `{"result": …}`."""
    return as_json(result["result"] if isinstance(result, dict) and set(result) == {"result"} else result)


def read_history(events: list[Any]) -> list[dict[str, Any]]:
    """What was said and looked up; ADK's own confirmations are no part of the talk."""
    messages: list[dict[str, Any]] = []
    for event in events:
        for part in (event.content.parts or ()) if event.content else ():
            if part.text:
                role = "user" if event.author == "user" else "assistant"
                messages.append({"role": role, "content": part.text})
            elif (call := part.function_call) and call.name != "adk_request_confirmation":
                made = {"id": call.id, "function": {"name": call.name, "arguments": as_text(call.args or {})}}
                messages.append({"role": "assistant", "content": "", "tool_calls": [made]})
            elif (told := part.function_response) and told.name != "adk_request_confirmation":
                text = as_text(read_result(told.response))
                messages.append({"role": "tool", "tool_call_id": told.id, "content": text})
    while messages and "tool_calls" in messages[-1]:
        messages.pop()
    return messages
