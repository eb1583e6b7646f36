"""A tool loop of one's own over the official Anthropic client, with the gate in the one line that ran the calls."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from anthropic import AsyncAnthropic
from examples.adapters.shop import POLICY, Shop

from circumspect.adapters.anthropic_loop import run_calls
from circumspect.gate import Gate

QUESTION = "Just to confirm: you want me to cancel order 1001? This cannot be undone. Please answer yes or no."
Said = list[tuple[str, str, dict[str, str]]] | str
LOOK = ("look", "get_order", {"order_id": "1001"})
CANCEL = ("cancel", "cancel_order", {"order_id": "1001"})


def client(*script: Said) -> AsyncAnthropic:
    said = iter(script)

    def answer(_: httpx2.Request) -> httpx2.Response:
        one = next(said)
        content: list[Any] = (
            [{"type": "text", "text": one}]
            if isinstance(one, str)
            else [{"type": "tool_use", "id": id, "name": name, "input": args} for id, name, args in one]
        )
        usage = {"input_tokens": 1, "output_tokens": 1}
        stop = "end_turn" if isinstance(one, str) else "tool_use"
        made = {"id": "1", "type": "message", "role": "assistant", "model": "scripted", "usage": usage}
        return httpx2.Response(200, json={**made, "content": content, "stop_reason": stop, "stop_sequence": None})

    transport = httpx2.MockTransport(answer)
    return AsyncAnthropic(
        api_key="none", base_url="http://scripted", http_client=httpx2.AsyncClient(transport=transport)
    )


async def chat(script: AsyncAnthropic, shop: Shop, messages: list[Any], gate: Gate | None, **more: Any) -> list[Any]:
    """The loop that everybody has; `gate` decides which of the two lines it has inside."""
    functions = [shop.get_order, shop.read_note, shop.cancel_order, shop.change_address]
    while True:
        message = await script.messages.create(model="scripted", max_tokens=100, messages=messages)
        if gate is not None:
            messages += await run_calls(
                gate, message, messages=messages, functions=functions, conversation="c1", **more
            )
        else:
            uses = [block for block in message.content if block.type == "tool_use"]
            ran = [(use.id, str(getattr(shop, use.name)(**use.input))) for use in uses]
            messages.append({"role": "assistant", "content": message.content})
            results = [{"type": "tool_result", "tool_use_id": id, "content": text} for id, text in ran]
            messages.append({"role": "user", "content": results})
        if message.stop_reason != "tool_use":
            return messages


async def test_without_us_a_shipped_order_is_cancelled_and_with_us_it_is_not() -> None:
    order = {"order_id": "1002"}
    script: tuple[Said, ...] = [("a", "get_order", order)], [("b", "cancel_order", order)], "It is cancelled."
    before, after = Shop(), Shop()
    await chat(client(*script), before, [{"role": "user", "content": "cancel order 1002"}], None)
    messages = await chat(client(*script), after, [{"role": "user", "content": "cancel order 1002"}], Gate(POLICY))
    assert before.done == ["cancelled 1002"]
    assert after.done == []
    [held] = messages[4]["content"]
    assert held["is_error"]
    assert "An order that has been shipped cannot be cancelled" in held["content"]


async def test_an_address_out_of_a_note_is_not_used() -> None:
    move = {"order_id": "1001", "address": "66 Harbour Road"}
    script: tuple[Said, ...] = [("a", "read_note", {"order_id": "1001"})], [("b", "change_address", move)], "Done."
    before, after = Shop(), Shop()
    await chat(client(*script), before, [{"role": "user", "content": "a note with 1001?"}], None)
    await chat(client(*script), after, [{"role": "user", "content": "a note with 1001?"}], Gate(POLICY))
    assert before.done == ["1001 goes to 66 Harbour Road"]
    assert after.done == []


async def test_the_model_asks_and_the_users_next_message_counts() -> None:
    shop, gate = Shop(), Gate(POLICY)
    script = client([LOOK], [CANCEL], QUESTION, [("again", *CANCEL[1:])], "Cancelled.")
    messages = await chat(script, shop, [{"role": "user", "content": "cancel order 1001"}], gate)
    assert shop.done == []
    await chat(script, shop, [*messages, {"role": "user", "content": "yes"}], gate)
    assert shop.done == ["cancelled 1001"]


@pytest.mark.parametrize(("said", "done"), [("yes please", ["cancelled 1001"]), (False, [])])
async def test_somebody_who_is_asked_at_once_decides(said: str | bool, done: list[str]) -> None:
    shop = Shop()
    first = [{"role": "user", "content": "cancel order 1001"}]
    await chat(client([LOOK], [CANCEL], "So it is."), shop, first, Gate(POLICY), ask=lambda _: said)
    assert shop.done == done


async def test_several_calls_of_one_answer_run_in_order_and_come_back_in_one_message() -> None:
    shop = Shop()
    messages = await chat(
        client([LOOK, CANCEL], "So it is."),
        shop,
        [{"role": "user", "content": "cancel order 1001"}],
        Gate(POLICY),
        ask=lambda _: True,
    )
    assert [one["tool_use_id"] for one in messages[2]["content"]] == ["look", "cancel"]
    assert shop.done == ["cancelled 1001"]
