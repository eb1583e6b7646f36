"""LlamaIndex: `FunctionAgent(tools=guard_tools([…], "policy.yaml"))`.

The model is told what to ask, and the user's next message counts. With `pauses=True` a question is LlamaIndex's own
`InputRequiredEvent`, and a `HumanResponseEvent` that carries the same `intent` answers exactly that call.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from circumspect.adapters.frameworks import (
    alone,
    as_json,
    as_text,
    describe_question,
    import_framework,
    open_gate,
    settle,
    waits_for_user,
)
from circumspect.values import ToolCall

with import_framework("llama_index", install="llama-index-core"):
    from llama_index.core.tools import FunctionTool
    from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent

if TYPE_CHECKING:
    from circumspect.gate import Gate, Ruling
    from circumspect.policy.load import PolicyGiven
    from circumspect.values import Json


def guard_tools(
    tools: Sequence[Any],
    policy: Gate | PolicyGiven | None = None,
    *,
    pauses: bool = False,
    person: str | None = None,
    **options: Any,
) -> list[Any]:
    """The same tools, ruled on before they run. A workflow's context is the conversation; keep it between messages."""
    gate = open_gate(policy, options)
    made = [one if isinstance(one, FunctionTool) else FunctionTool.from_defaults(one) for one in tools]
    return [FunctionTool(async_fn=_guard(one, gate, pauses, person), metadata=one.metadata) for one in made]


def _guard(tool: Any, gate: Gate, pauses: bool, person: str | None) -> Callable[..., Any]:
    async def run_guarded(ctx: Any, **arguments: Json) -> str:
        async with alone(gate, await find_conversation(ctx), ToolCall(tool.metadata.get_name(), arguments)):
            return await rule_and_run(ctx, arguments)

    async def rule_and_run(ctx: Any, arguments: dict[str, Json]) -> str:
        gate.learn(tool.metadata.get_name(), tool.metadata.get_parameters_dict(), tool.metadata.description or "")
        ruling = await gate.rule(
            ToolCall(tool.metadata.get_name(), arguments),
            messages=await read_history(ctx),
            conversation=await find_conversation(ctx),
            person=person,
        )
        if pauses and waits_for_user(ruling):
            ruling = await settle(gate, ruling, await _wait_for_answer(ctx, ruling), person=person)
        if ruling.verdict != "allow":
            return ruling.tell_model

        async def run_tool(**allowed: Json) -> Json:
            context = {tool.ctx_param_name: ctx} if tool.requires_context else {}
            return as_json((await tool.acall(**context, **allowed)).raw_output)

        return as_text(await gate.run(ruling, run_tool))

    # LlamaIndex reads the annotation itself, and not the text that it is in this module.
    run_guarded.__annotations__["ctx"] = Context
    return run_guarded


async def _wait_for_answer(ctx: Any, ruling: Ruling) -> str:
    asked = describe_question(ruling)
    answer = await ctx.wait_for_event(
        HumanResponseEvent,
        waiter_id=str(asked["intent"]),
        waiter_event=InputRequiredEvent(prefix=ruling.ask_user, **asked),
        requirements={"intent": asked["intent"]},
    )
    return str(answer.response)


async def find_conversation(ctx: Any) -> str:
    """An id that stays with the context, also when it is written down and read again."""
    known: str | None = await ctx.store.get("circumspect_conversation", default=None)
    if known is None:
        known = uuid.uuid4().hex
        await ctx.store.set("circumspect_conversation", known)
    return known


async def read_history(ctx: Any) -> list[dict[str, Any]]:
    """What the user and the agent said; what the tools returned is in the ledger."""
    memory = await ctx.store.get("memory", default=None)
    said = await memory.aget_all() if memory is not None else []
    return [
        {"role": one.role.value, "content": one.content or ""}
        for one in said
        if one.role.value in ("user", "assistant")
    ]
