"""What people really hand to a gate: their client's own objects, calls of other makers, and what is none of these."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from anthropic.types import TextBlock, ToolUseBlock
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from openai.types.chat import ChatCompletionMessage
from openai.types.responses import ResponseFunctionToolCall
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart
from tests.gate.talks import Talk

from circumspect import CallHeld, Gate
from circumspect.clock import FixedClock
from circumspect.errors import ConfigError, PolicyError
from circumspect.reasons import ReasonCode

POLICY = {
    "version": 1,
    "tools": {
        "get_order": {"effect": "read"},
        "cancel_order": {
            "effect": "destructive",
            "deny_unless": [{"if": "facts.get_order[args.order_id].status == 'open'", "because": "It is not open."}],
        },
        "add_note": {"effect": "write"},
        "refund": {
            "effect": "write",
            "confirm": "never",
            "limits": [{"sum": "amount", "at_most": 100, "per": "person", "window": "24h"}],
        },
    },
}
USER = {"role": "user", "content": "cancel order 12345"}
ORDER = {"order_id": "12345", "status": "open"}
KEY = {"order_id": "12345"}
WRITTEN = json.dumps(KEY)
ANSWER = ChatCompletionMessage.model_validate(
    {
        "role": "assistant",
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "get_order", "arguments": WRITTEN}}],
    }
)
RESULT = {"role": "tool", "tool_call_id": "1", "content": json.dumps(ORDER)}


def respond(number: str, name: str) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        type="function_call", id=f"fc_{number}", call_id=number, name=name, arguments=WRITTEN
    )


HELD_BY_CLIENTS: dict[str, tuple[list[Any], Any]] = {
    "openai: the client's message": ([USER, ANSWER, RESULT], {"id": "2", "name": "cancel_order", "arguments": KEY}),
    "openai: its calls in a message of one's own": (
        [USER, {"role": "assistant", "content": None, "tool_calls": ANSWER.tool_calls}, RESULT],
        {"id": "2", "type": "function", "function": {"name": "cancel_order", "arguments": WRITTEN}},
    ),
    "openai: items of Responses": (
        [
            USER,
            respond("1", "get_order"),
            {"type": "function_call_output", "call_id": "1", "output": RESULT["content"]},
        ],
        respond("2", "cancel_order"),
    ),
    "anthropic: blocks": (
        [
            USER,
            {
                "role": "assistant",
                "content": [
                    TextBlock(type="text", text="One moment.", citations=None),
                    ToolUseBlock(type="tool_use", id="1", name="get_order", input=dict(KEY)),
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": RESULT["content"]}]},
        ],
        ToolUseBlock(type="tool_use", id="2", name="cancel_order", input=dict(KEY)),
    ),
    "langchain: messages": (
        [
            HumanMessage("cancel order 12345"),
            AIMessage("", tool_calls=[{"id": "1", "name": "get_order", "args": dict(KEY)}]),
            ToolMessage(RESULT["content"], tool_call_id="1"),
        ],
        {"id": "2", "name": "cancel_order", "args": KEY, "type": "tool_call"},
    ),
    "pydantic-ai: messages": (
        [
            ModelRequest(parts=[UserPromptPart("cancel order 12345")]),
            ModelResponse(parts=[ToolCallPart("get_order", dict(KEY), "1")]),
            ModelRequest(parts=[ToolReturnPart("get_order", ORDER, "1")]),
        ],
        ToolCallPart("cancel_order", WRITTEN, "2"),
    ),
    "bedrock": (
        [
            {"role": "user", "content": [{"text": "cancel order 12345"}]},
            {
                "role": "assistant",
                "content": [{"toolUse": {"toolUseId": "1", "name": "get_order", "input": KEY}}],
            },
            {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": [{"json": ORDER}]}}]},
        ],
        {"toolUse": {"toolUseId": "2", "name": "cancel_order", "input": KEY}},
    ),
    "vercel": (
        [
            USER,
            {
                "role": "assistant",
                "content": [{"type": "tool-call", "toolCallId": "1", "toolName": "get_order", "input": KEY}],
            },
            {
                "role": "tool",
                "content": [
                    {
                        "type": "tool-result",
                        "toolCallId": "1",
                        "toolName": "get_order",
                        "output": {"type": "json", "value": ORDER},
                    }
                ],
            },
        ],
        {"type": "tool-call", "toolCallId": "2", "toolName": "cancel_order", "input": KEY},
    ),
}


@pytest.mark.parametrize("kept", HELD_BY_CLIENTS)
async def test_what_a_client_gives_is_taken_as_it_is(kept: str) -> None:
    messages, call = HELD_BY_CLIENTS[kept]
    asked = await Gate(POLICY).rule(call, messages=messages, person="p1")
    # The look-up in the messages was read: without it the call would go back to the model.
    assert (asked.verdict, asked.reason_codes) == ("ask", (ReasonCode.DESTRUCTIVE_NO_CONFIRM,))
    assert (asked.call.arguments, asked.call.id) == (KEY, "2")


async def test_a_call_that_has_two_ids_counts_once() -> None:
    """Results of the Responses API name `call_id`; the item's own `id` is another one."""
    gate, messages = Gate(POLICY), [{"role": "user", "content": "refund me 60, and 40"}]

    def refund(number: str, amount: int) -> dict[str, Any]:
        written = json.dumps({"amount": amount})
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": number}
        return {**item, "name": "refund", "arguments": written}

    first = await gate.rule(refund("1", 60), messages=messages, person="p1")
    assert first.allowed
    assert await gate.run(first, lambda amount: amount) == 60
    messages = [*messages, refund("1", 60), {"type": "function_call_output", "call_id": "1", "output": "60"}]
    assert (await gate.rule(refund("2", 40), messages=messages, person="p1")).allowed
    assert (await gate.rule(refund("3", 1), messages=messages, person="p1")).reason_codes == (ReasonCode.LIMIT_REACHED,)


async def test_messages_that_nobody_can_read_are_spoken_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        await Gate(POLICY).rule({"name": "get_order", "arguments": KEY}, messages=[USER, object(), {"role": "alien"}])
    assert "2 of the messages" in caplog.text
    assert "alien" in caplog.text


@pytest.mark.parametrize(
    ("call", "part"),
    [
        ({"name": "add_note", "arguments": {"tea"}}, "arguments"),
        ({"name": "add_note", "arguments": b"{}"}, "arguments"),
        ({"name": "add_note", "arguments": {}, "id": 1.5}, "id"),
    ],
)
async def test_what_is_wrong_with_a_call_is_said(call: Any, part: str) -> None:
    with pytest.raises(ConfigError, match=f"The {part} of a call cannot be read from a"):
        await Gate(POLICY).rule(call)


async def test_a_number_is_an_id_too() -> None:
    ruling = await Gate(POLICY).rule({"id": 7, "name": "get_order", "arguments": KEY})
    assert (ruling.call.id, ruling.verdict) == ("7", "allow")


@pytest.mark.parametrize("person", [12, b"p1", ["p1"]])
async def test_a_person_is_a_text(person: Any) -> None:
    gate = Gate(POLICY)
    for work in (gate.rule({"name": "get_order"}, person=person), gate.find("turn_1", person=person)):
        with pytest.raises(ConfigError, match="person"):
            await work


async def test_an_empty_id_is_nobodys() -> None:
    """Programs that have not signed anybody in yet send it."""
    gate, talk = Gate(POLICY), Talk("note that I like tea")
    assert (await gate.rule(talk.call("add_note", text="tea"), messages=talk.messages, person="")).person is None
    assert (await gate.rule(talk.call("add_note", text="tea"), messages=talk.messages, person="p1")).allowed


async def test_a_generator_is_not_written_down_as_having_run() -> None:
    ran: list[str] = []

    def later(text: str) -> Iterator[str]:
        ran.append(text)
        yield text

    async def even_later(text: str) -> AsyncIterator[str]:
        ran.append(text)
        yield text

    gate, talk = Gate(POLICY), Talk("note tea")
    ruling = await gate.rule(talk.call("add_note", text="tea"), messages=talk.messages)
    wrongs: list[Any] = [later, even_later, "add_note"]
    for wrong in wrongs:
        with pytest.raises(ConfigError):
            await gate.run(ruling, wrong)
    assert await gate.run(ruling, lambda text: text) == "tea"
    assert not ran


async def test_a_policy_is_a_file_its_text_or_what_it_holds(tmp_path: Path) -> None:
    text = "version: 1\ntools:\n  get_order: {effect: read}\n"
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    for given in (path, str(path), text, {"version": 1, "tools": {"get_order": {"effect": "read"}}}):
        gate = Gate(given)
        assert (await gate.rule({"name": "get_order", "arguments": KEY})).allowed
        assert (await gate.rule({"name": "add_note", "arguments": {}})).verdict == "deny"
    with pytest.raises(PolicyError, match="given as a dict"):
        Gate({"version": 1, "tools": {"get_order": {"efect": "read"}}})
    wrongs: list[Any] = [5, ["a"], {"version": 1, "tools": {1: object()}}, "no-such-file.yaml"]
    for wrong in wrongs:
        with pytest.raises(ConfigError):
            Gate(wrong)


async def test_a_url_with_too_few_slashes_is_refused_in_words() -> None:
    with pytest.raises(ConfigError, match="three slashes"):
        await Gate(POLICY, store="sqlite://gate.db").rule({"name": "get_order"})


def test_scripts_have_every_method_and_hear_when_it_is_too_late(tmp_path: Path, clock: FixedClock) -> None:
    doors = {name for name in vars(Gate) if not name.startswith("_")} - {"sync", "tenant", "close"}
    with Gate(POLICY, store=f"sqlite:///{tmp_path}/gate.db", clock=clock).sync() as gate:
        assert doors <= set(dir(gate))
        ruling = gate.rule({"name": "add_note", "arguments": {"text": "tea"}}, messages=[USER], person="p1")
        found = gate.find(ruling.id, person="p1")
        assert found
        assert found.verdict == "allow"
        assert gate.find(ruling.id, person="p2") is None
        assert gate.ran(ruling, "noted") == "succeeded"
    with pytest.raises(ConfigError, match="closed"):
        gate.rule({"name": "add_note"})


async def test_a_conversation_that_turns_out_to_be_somebodys_counts_for_them() -> None:
    gate, words = Gate(POLICY), [{"role": "user", "content": "refund me 60"}]

    async def refund(conversation: str, person: str | None) -> bool:
        call = {"id": conversation, "name": "refund", "arguments": {"amount": 60}}
        return (await gate.rule(call, messages=words, conversation=conversation, person=person)).allowed

    assert await refund("c1", None)
    assert await refund("c2", "p2")
    await gate.rule({"name": "get_order", "arguments": KEY}, conversation="c1", person="p1")
    assert not await refund("c3", "p1")
    assert not await refund("c4", "p2")
    assert await refund("c5", "p3")


async def test_what_nobody_said_is_asked_for_by_name_although_nothing_is_known_of_the_tool() -> None:
    policy = {"version": 1, "tools": {"transfer": {"effect": "destructive"}}}
    call = {"name": "transfer", "arguments": {"iban": "DE89370400440532013000", "amount": 50}}
    asked = await Gate(policy).rule(call, messages=Talk("please send them 50").messages)
    assert (asked.verdict, asked.missing) == ("ask", ("iban",))
    assert "iban" in asked.ask_user
    assert asked.ask_user in asked.tell_model


async def test_a_value_of_another_form_is_for_the_model_to_mend() -> None:
    schema = {"type": "object", "properties": {"amounts": {"type": "array", "items": {"type": "number"}}}}
    policy = {"version": 1, "tools": {"refund": {"effect": "write"}}}
    gate = Gate(policy, tools=[{"name": "refund", "inputSchema": schema}])
    call = {"name": "refund", "arguments": {"amounts": {"first": 5}}}
    held = await gate.rule(call, messages=Talk("refund me 5").messages)
    assert held.reason_codes[0] is ReasonCode.INVALID_PARAM
    assert "does not take this: amounts" in held.tell_model
    assert "Do not try it again" not in held.tell_model
    with pytest.raises(CallHeld):
        await gate.run(held, lambda amounts: amounts)


@pytest.mark.parametrize("error", ["", TimeoutError()])
async def test_a_failure_without_words_is_no_success(error):
    async with Gate(POLICY) as gate:
        ruling = await gate.rule({"name": "get_order", "arguments": {"order_id": "12345"}}, messages=[USER])
        assert await gate.ran(ruling, error=error) == "failed"


async def test_a_call_has_one_outcome():
    async with Gate(POLICY) as gate:
        ruling = await gate.rule({"name": "get_order", "arguments": {"order_id": "12345"}}, messages=[USER])
        for given in ({"result": 1, "error": "no"}, {"result": 1, "not_run": True}, {"error": "", "not_run": True}):
            with pytest.raises(ConfigError, match="one outcome"):
                await gate.ran(ruling, given.pop("result", None), **given)
        assert await gate.ran(ruling, {"found": 1}, error="") == "succeeded"
