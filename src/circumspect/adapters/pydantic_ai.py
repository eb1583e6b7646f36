"""Pydantic AI: `Agent(…, capabilities=[CircumspectCapability("policy.yaml")])`.

Where the agent may answer with `DeferredToolRequests`, a question is a call that waits for approval, with the question
in its metadata, and `DeferredToolResults(approvals={id: True})` answers exactly that call. Elsewhere the model is told
what to ask, and the user's next message counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from circumspect.adapters.frameworks import (
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
from circumspect.errors import ConfigError
from circumspect.values import ToolCall

with import_framework("pydantic_ai", install="circumspect[pydantic-ai]"):
    from pydantic_ai import ApprovalRequired, DeferredToolRequests, RunContext, messages
    from pydantic_ai.capabilities import AbstractCapability, WrapToolExecuteHandler
    from pydantic_ai.tools import ToolDefinition

if TYPE_CHECKING:
    from circumspect.gate import Gate, Ruling
    from circumspect.policy.load import PolicyGiven
    from circumspect.values import Json

ContextSetting = str | Callable[[RunContext[Any]], str | None] | None


class CircumspectCapability(AbstractCapability[Any]):
    """Rules on every call of the agent's tools before it runs.

    `conversation` and `person` are texts, or functions of the run's context; without the first, the run's own
    `conversation_id` is the conversation. Everything else goes to the gate.
    """

    def __init__(
        self,
        policy: Gate | PolicyGiven | None = None,
        *,
        conversation: ContextSetting = None,
        person: ContextSetting = None,
        **options: Any,
    ) -> None:
        self.gate = open_gate(policy, options)
        self._conversation = conversation
        self._person = person
        self._asked: dict[str, str] = {}

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: messages.ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        place = choose(self._conversation, ctx) or find_conversation(ctx)
        async with alone(self.gate, place, ToolCall(call.tool_name, {"": call.args_as_json_str()})):
            return await self._rule_and_run(ctx, place, call, tool_def, args, handler)

    async def _rule_and_run(
        self,
        ctx: RunContext[Any],
        place: str,
        call: messages.ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        person = choose(self._person, ctx)
        self.gate.learn(call.tool_name, tool_def.parameters_json_schema, tool_def.description or "")
        ruling = await self.gate.rule(
            ToolCall(call.tool_name, args, call.tool_call_id),
            messages=list(read_history(ctx.messages)),
            conversation=place,
            person=person,
        )
        if waits_for_yes(ruling) and self._was_approved(ctx, call, ruling):
            by = (ctx.tool_call_metadata or {}).get("by", "")
            ruling = await settle(self.gate, ruling, True, person=person, by=by)
        if ruling.intent is not None and waits_for_yes(ruling) and can_defer(ctx):
            self._asked[call.tool_call_id] = ruling.intent.hash
            raise ApprovalRequired(metadata=describe_question(ruling))
        if ruling.verdict != "allow":
            return ruling.tell_model
        returned: list[Any] = []

        async def run_tool(**allowed: Json) -> Json:
            returned.append(await handler(allowed))
            value = returned[-1]
            return as_json(value.return_value if isinstance(value, messages.ToolReturn) else value)

        kept = await self.gate.run(ruling, run_tool)
        return returned[-1] if returned else kept

    def _was_approved(self, ctx: RunContext[Any], call: messages.ToolCallPart, ruling: Ruling) -> bool:
        """The yes belongs to this call as it was last asked about, and not to one that an edit made of it."""
        if not ctx.tool_call_approved or ruling.intent is None:
            return False
        asked = self._asked.pop(call.tool_call_id, None)
        if isinstance(ctx.tool_call_metadata, dict) and "hash" in ctx.tool_call_metadata:
            asked = ctx.tool_call_metadata["hash"]
        return proposes(ctx.messages, call) if asked is None else asked == ruling.intent.hash


def find_conversation(ctx: RunContext[Any]) -> str:
    known = ctx.conversation_id or ctx.run_id
    if known is None:
        raise ConfigError(
            "Nothing says which conversation this run belongs to.",
            fix="Give CircumspectCapability(…, conversation=…): a text, or a function of the run's context.",
        )
    return known


def proposes(history: Sequence[messages.ModelMessage], call: messages.ToolCallPart) -> bool:
    """The model proposed the call with exactly these arguments, so that they are what the question was about."""
    responses = [message for message in history if isinstance(message, messages.ModelResponse)]
    proposed = [part for message in responses for part in message.tool_calls]
    return any(
        part.tool_call_id == call.tool_call_id and part.args_as_dict() == call.args_as_dict() for part in proposed
    )


def can_defer(ctx: RunContext[Any]) -> bool:
    """The agent may end its run with calls that wait for somebody."""
    kinds = ctx.agent.output_type if ctx.agent else None
    return DeferredToolRequests in (kinds if isinstance(kinds, Sequence) else (kinds,))


def read_history(history: Sequence[messages.ModelMessage]) -> Iterator[dict[str, Any]]:
    """What was said and looked up before the message that proposes the call."""
    earlier = history[:-1] if history and isinstance(history[-1], messages.ModelResponse) else history
    for message in earlier:
        if isinstance(message, messages.ModelResponse):
            calls = [
                {"id": call.tool_call_id, "function": {"name": call.tool_name, "arguments": call.args_as_json_str()}}
                for call in message.tool_calls
            ]
            yield {"role": "assistant", "content": message.text or "", **({"tool_calls": calls} if calls else {})}
            continue
        for part in message.parts:
            match part:
                case messages.SystemPromptPart():
                    yield {"role": "system", "content": part.content}
                case messages.UserPromptPart():
                    words = [part.content] if isinstance(part.content, str) else part.content
                    yield {"role": "user", "content": "\n".join(word for word in words if isinstance(word, str))}
                case messages.ToolReturnPart():
                    yield {"role": "tool", "tool_call_id": part.tool_call_id, "content": as_text(part.content)}
                case messages.RetryPromptPart(tool_name=str()):
                    yield {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response()}
