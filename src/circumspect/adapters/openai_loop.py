"""A tool loop over the OpenAI client: `messages += await run_calls(gate, message, messages=messages, functions=…)`.

Takes what the client returned: an answer of the chat API, or the output of the Responses API. It needs nothing of the
client itself, so any client of that format will do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from circumspect.adapters.tool_loop import AskPerson, Functions, run_call

if TYPE_CHECKING:
    from circumspect.gate import Gate


async def run_calls(
    gate: Gate,
    message: Any,
    *,
    messages: Sequence[Any],
    functions: Functions,
    conversation: str,
    person: str | None = None,
    ask: AskPerson | None = None,
) -> list[dict[str, Any]]:
    """The messages to append for what `chat.completions.create` answered: that message, and what became of its calls.

    The calls run one after the other, in the order in which the model made them.
    """
    answer = as_item(message)
    added = [answer]
    history = [as_item(one) for one in messages]
    for call in answer.get("tool_calls") or ():
        outcome = await run_call(
            gate, call, messages=history, functions=functions, conversation=conversation, person=person, ask=ask
        )
        added.append({"role": "tool", "tool_call_id": call["id"], "content": outcome.text})
    return added


async def run_response_calls(
    gate: Gate,
    output: Iterable[Any],
    *,
    items: Sequence[Any],
    functions: Functions,
    conversation: str,
    person: str | None = None,
    ask: AskPerson | None = None,
) -> list[dict[str, Any]]:
    """The items to append for the `output` of `responses.create`: the output itself, and what became of its calls."""
    made = [as_item(one) for one in output]
    history = [as_item(one) for one in items]
    results = []
    for call in made:
        if call.get("type") == "function_call":
            outcome = await run_call(
                gate,
                {"name": call["name"], "arguments": call["arguments"], "id": call["call_id"]},
                messages=history,
                functions=functions,
                conversation=conversation,
                person=person,
                ask=ask,
            )
            results.append({"type": "function_call_output", "call_id": call["call_id"], "output": outcome.text})
    return [*made, *results]


def as_item(one: Any) -> dict[str, Any]:
    """A message or item as plain JSON, whether the client made it or the caller did."""
    if isinstance(one, Mapping):
        return dict(one)
    plain: dict[str, Any] = one.model_dump(mode="json", exclude_none=True)
    return plain
