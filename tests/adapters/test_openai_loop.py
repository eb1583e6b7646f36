"""A tool loop of one's own over the official OpenAI client, with the gate in the one line that ran the calls."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from examples.adapters.shop import POLICY, Shop
from openai import AsyncOpenAI

from circumspect.adapters.openai_loop import run_calls, run_response_calls
from circumspect.errors import ConfigError
from circumspect.gate import Gate, Ruling

QUESTION = "Just to confirm: you want me to cancel order 1001? This cannot be undone. Please answer yes or no."
Said = list[tuple[str, str, dict[str, str]]] | str


def chat_answer(said: Said) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said if isinstance(said, str) else None}
    if not isinstance(said, str):
        message["tool_calls"] = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
            for id, name, args in said
        ]
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "scripted", "choices": [choice]}


def response_answer(said: Said) -> dict[str, Any]:
    if isinstance(said, str):
        text = {"type": "output_text", "text": said, "annotations": []}
        output = [{"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [text]}]
    else:
        output = [
            {"id": id, "call_id": id, "type": "function_call", "name": name, "arguments": json.dumps(args)}
            for id, name, args in said
        ]
    rest = {"created_at": 1, "model": "scripted", "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return {"id": "1", "object": "response", "output": output, **rest}


def client(*script: Said) -> AsyncOpenAI:
    said = iter(script)

    def answer(request: httpx.Request) -> httpx.Response:
        make = chat_answer if request.url.path.endswith("/chat/completions") else response_answer
        return httpx.Response(200, json=make(next(said)))

    transport = httpx.MockTransport(answer)
    return AsyncOpenAI(
        api_key="none", base_url="http://scripted/v1", http_client=httpx.AsyncClient(transport=transport)
    )


async def chat(script: AsyncOpenAI, shop: Shop, messages: list[Any], gate: Gate | None, **more: Any) -> list[Any]:
    """The loop that everybody has; `gate` decides which of the two lines it has inside."""
    functions = [shop.get_order, shop.read_note, shop.cancel_order, shop.change_address]
    while True:
        message = (await script.chat.completions.create(model="scripted", messages=messages)).choices[0].message
        if gate is not None:
            messages += await run_calls(
                gate, message, messages=messages, functions=functions, conversation="c1", **more
            )
        else:
            messages.append(message)
            for one in message.tool_calls or ():
                ran: Any = getattr(shop, one.function.name)(**json.loads(one.function.arguments))  # type: ignore[union-attr]
                messages.append({"role": "tool", "tool_call_id": one.id, "content": str(ran)})
        if not message.tool_calls:
            return messages


LOOK = ("look", "get_order", {"order_id": "1001"})
CANCEL = ("cancel", "cancel_order", {"order_id": "1001"})


async def test_without_us_a_shipped_order_is_cancelled_and_with_us_it_is_not() -> None:
    order = {"order_id": "1002"}
    script: tuple[Said, ...] = [("a", "get_order", order)], [("b", "cancel_order", order)], "It is cancelled."
    before, after = Shop(), Shop()
    await chat(client(*script), before, [{"role": "user", "content": "cancel order 1002"}], None)
    messages = await chat(client(*script), after, [{"role": "user", "content": "cancel order 1002"}], Gate(POLICY))
    assert before.done == ["cancelled 1002"]
    assert after.done == []
    assert json.loads(messages[2]["content"]) == after.get_order("1002")
    assert "An order that has been shipped cannot be cancelled" in messages[4]["content"]


async def test_the_model_asks_and_the_users_next_message_counts_once() -> None:
    shop, gate = Shop(), Gate(POLICY)
    script = client(
        [LOOK], [CANCEL], QUESTION, [("again", *CANCEL[1:])], "Cancelled.", [("third", *CANCEL[1:])], "Done."
    )
    messages = await chat(script, shop, [{"role": "user", "content": "cancel order 1001"}], gate)
    assert shop.done == []
    messages = await chat(script, shop, [*messages, {"role": "user", "content": "yes"}], gate)
    assert shop.done == ["cancelled 1001"]
    await chat(script, shop, [*messages, {"role": "user", "content": "thanks"}], gate)
    assert shop.done == ["cancelled 1001"]


@pytest.mark.parametrize(
    ("said", "done"), [("yes please", ["cancelled 1001"]), (True, ["cancelled 1001"]), ("no", []), (False, [])]
)
async def test_somebody_who_is_asked_at_once_decides(said: str | bool, done: list[str]) -> None:
    shop, asked = Shop(), []

    async def ask(ruling: Ruling) -> str | bool:
        asked.append(ruling.ask_user)
        return said

    await chat(
        client([LOOK], [CANCEL], "So it is."),
        shop,
        [{"role": "user", "content": "cancel order 1001"}],
        Gate(POLICY),
        ask=ask,
    )
    assert asked == [QUESTION]
    assert shop.done == done


async def test_a_function_that_fails_is_told_to_the_model_and_one_that_is_missing_to_the_developer() -> None:
    shop = Shop()
    messages = await chat(
        client([("a", "get_order", {"order_id": "9"})], "Hm."),
        shop,
        [{"role": "user", "content": "order 9?"}],
        Gate(POLICY),
    )
    assert messages[2]["content"] == "KeyError: '9'"
    answer = chat_answer([LOOK])["choices"][0]["message"]
    with pytest.raises(ConfigError, match="no such function"):
        await run_calls(Gate(POLICY), answer, messages=[], functions={}, conversation="c1")


async def test_the_same_holds_for_the_responses_api() -> None:
    shop, gate = Shop(), Gate(POLICY)
    script = client([LOOK], [CANCEL], QUESTION, [("again", *CANCEL[1:])], "Cancelled.")
    items: list[Any] = [{"role": "user", "content": "cancel order 1001"}]
    for answer in ("yes", "thanks"):
        while items[-1].get("type") != "message":
            output = (await script.responses.create(model="scripted", input=items)).output
            items += await run_response_calls(
                gate, output, items=items, functions=[shop.get_order, shop.cancel_order], conversation="c1"
            )
        assert shop.done == ([] if answer == "yes" else ["cancelled 1001"])
        items.append({"role": "user", "content": answer})
