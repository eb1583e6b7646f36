"""A tool loop over the Anthropic client: `messages += await run_calls(gate, message, messages=messages, functions=…)`.

Takes what `messages.create` returned. It needs nothing of the client itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from circumspect.adapters.tool_loop import AskPerson, Functions, run_call

if TYPE_CHECKING:
    from circumspect.gate import Gate


async def run_calls(
    gate: Gate,
    message: Any,
    *,
    messages: Sequence[Mapping[str, Any]],
    functions: Functions,
    conversation: str,
    person: str | None = None,
    ask: AskPerson | None = None,
) -> list[dict[str, Any]]:
    """The messages to append for an answer: the answer itself, and what became of its calls, if it made any.

    The calls run one after the other, in the order in which the model made them.
    """
    blocks = [
        dict(block) if isinstance(block, Mapping) else block.model_dump(mode="json", exclude_none=True)
        for block in (message["content"] if isinstance(message, Mapping) else message.content)
    ]
    results = []
    for block in blocks:
        if block["type"] == "tool_use":
            outcome = await run_call(
                gate, block, messages=messages, functions=functions, conversation=conversation, person=person, ask=ask
            )
            results.append(
                {
                    "type": "tool_result",
                    "tool_use_id": block["id"],
                    "content": outcome.text,
                    "is_error": outcome.failed,
                }
            )
    answer = {"role": "assistant", "content": blocks}
    return [answer, {"role": "user", "content": results}] if results else [answer]
