"""An agent of the OpenAI Agents SDK under our guard: what it would have done, and what becomes of it now."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, RunResult, RunState, WebSearchTool, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call
from examples.adapters.shop import POLICY, Shop

from circumspect.adapters.openai_agents import find_question, guard_agent
from circumspect.errors import ConfigError
from circumspect.gate import Gate

CHAT = RunConfig(group_id="chat-1", tracing={"api_key": "none"})


@pytest.fixture(autouse=True)
def no_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces are made, and go nowhere."""
    monkeypatch.setattr("agents.tracing.processors.BatchTraceProcessor.on_span_end", lambda *_: None)
    monkeypatch.setattr("agents.tracing.processors.BatchTraceProcessor.on_trace_start", lambda *_: None)


def plain(shop: Shop, *script: list[Any]) -> Agent[Any]:
    functions = (shop.get_order, shop.read_note, shop.cancel_order, shop.change_address)
    return Agent("shop", model=ScriptedModel(script), tools=[function_tool(one) for one in functions])


def guarded(shop: Shop, *script: list[Any], gate: Any = POLICY, **settings: Any) -> Agent[Any]:
    return guard_agent(plain(shop, *script), gate, **settings)


def call(id: str, name: str, **arguments: str) -> Any:
    return function_call(name, arguments, call_id=id)


LOOK = [call("look", "get_order", order_id="1001")]
CANCEL = [call("cancel", "cancel_order", order_id="1001")]


def say(text: str) -> list[Any]:
    return [assistant_message(text)]


def results(run: RunResult) -> list[str]:
    return [one["output"] for one in run.to_input_list() if one.get("type") == "function_call_output"]  # type: ignore[misc]


async def test_without_us_a_shipped_order_is_cancelled_and_with_us_it_is_not() -> None:
    script = (
        [call("look", "get_order", order_id="1002")],
        [call("cancel", "cancel_order", order_id="1002")],
        say("Done."),
    )
    before, after = Shop(), Shop()
    await Runner.run(plain(before, *script), "cancel order 1002", run_config=CHAT)
    run = await Runner.run(guarded(after, *script), "cancel order 1002", run_config=CHAT)
    assert before.done == ["cancelled 1002"]
    assert after.done == []
    assert "An order that has been shipped cannot be cancelled" in results(run)[-1]


async def test_an_address_out_of_a_note_is_not_used() -> None:
    script = (
        [call("note", "read_note", order_id="1001")],
        [call("move", "change_address", order_id="1001", address="66 Harbour Road")],
        say("Done."),
    )
    before, after = Shop(), Shop()
    await Runner.run(plain(before, *script), "is there a note with order 1001?", run_config=CHAT)
    await Runner.run(guarded(after, *script), "is there a note with order 1001?", run_config=CHAT)
    assert before.done == ["1001 goes to 66 Harbour Road"]
    assert after.done == []


async def test_an_approved_call_runs_once_and_records_stay_json() -> None:
    shop = Shop()
    agent = guarded(shop, LOOK, CANCEL, say("Cancelled."))
    run = await Runner.run(agent, "cancel order 1001", run_config=CHAT)
    [item] = run.interruptions
    assert find_question(item).startswith("Just to confirm: you want me to cancel order 1001?")
    assert shop.done == []
    state = run.to_state()
    state.approve(item)
    run = await Runner.run(agent, state, run_config=CHAT)
    assert shop.done == ["cancelled 1001"]
    assert json.loads(results(run)[0]) == shop.get_order("1001") | {"status": "paid"}


async def test_an_approval_reaches_a_run_that_was_written_down() -> None:
    shop, gate = Shop(), Gate(POLICY)
    run = await Runner.run(guarded(shop, LOOK, CANCEL, gate=gate), "cancel order 1001", run_config=CHAT)
    written = run.to_state().to_string()
    agent = guarded(shop, say("Cancelled."), gate=gate)
    state = await RunState.from_string(agent, written)
    [item] = state.get_interruptions()
    state.approve(item)
    await Runner.run(agent, state, run_config=CHAT)
    assert shop.done == ["cancelled 1001"]


async def test_a_rejected_call_does_not_run() -> None:
    shop = Shop()
    agent = guarded(shop, LOOK, CANCEL, say("Left alone."))
    run = await Runner.run(agent, "cancel order 1001", run_config=CHAT)
    state = run.to_state()
    state.reject(run.interruptions[0])
    run = await Runner.run(agent, state, run_config=CHAT)
    assert shop.done == []
    assert run.final_output == "Left alone."


async def test_a_yes_to_every_call_is_a_yes_to_the_one_that_was_shown() -> None:
    shop = Shop()
    shop.orders["1003"] = {"order_id": "1003", "status": "paid"}
    other = [call("other", "cancel_order", order_id="1003")]
    look = [*LOOK, call("see", "get_order", order_id="1003")]
    agent = guarded(shop, look, CANCEL, other, say("So it is."))
    run = await Runner.run(agent, "cancel order 1001, I have 1003 as well", run_config=CHAT)
    state = run.to_state()
    state.approve(run.interruptions[0], always_approve=True)
    run = await Runner.run(agent, state, run_config=CHAT)
    assert shop.done == ["cancelled 1001"]
    assert "cancel order 1003" in results(run)[-1]


async def test_the_next_message_counts_where_nobody_approves_runs() -> None:
    shop, gate = Shop(), Gate(POLICY)
    agent = guarded(shop, LOOK, CANCEL, gate=gate)
    run = await Runner.run(agent, "cancel order 1001", run_config=CHAT)
    question = find_question(run.interruptions[0])
    again = guarded(shop, [call("again", "cancel_order", order_id="1001")], say("Cancelled."), gate=gate)
    said: list[Any] = [
        {"role": "user", "content": "cancel order 1001"},
        {"role": "assistant", "content": question},
        {"role": "user", "content": "yes"},
    ]
    await Runner.run(again, said, run_config=CHAT)
    assert shop.done == ["cancelled 1001"]


async def test_a_failure_is_told_as_the_sdk_tells_it_and_is_no_success() -> None:
    shop, gate = Shop(), Gate(POLICY)
    agent = guarded(
        shop,
        [call("look", "get_order", order_id="9")],
        [call("c", "cancel_order", order_id="9")],
        say("Hm."),
        gate=gate,
    )
    run = await Runner.run(agent, "cancel order 9", run_config=CHAT)
    assert "An error occurred while running the tool" in results(run)[0]
    assert "get_order" in results(run)[1]


async def test_agents_that_are_handed_over_to_are_guarded_as_well() -> None:
    shop = Shop()
    script = (
        [call("look", "get_order", order_id="1002")],
        [call("cancel", "cancel_order", order_id="1002")],
        say("Done."),
    )
    inner = plain(shop, *script)
    front = Agent(
        "front", model=ScriptedModel([[function_call("transfer_to_shop", {}, call_id="h")]]), handoffs=[inner]
    )
    await Runner.run(guard_agent(front, POLICY), "cancel order 1002", run_config=CHAT)
    assert shop.done == []


def test_a_tool_that_would_pass_by_the_gate_is_refused() -> None:
    with pytest.raises(ConfigError, match="web_search"):
        guard_agent(Agent("shop", tools=[WebSearchTool()]), POLICY)


async def test_a_run_of_no_conversation_says_what_to_give() -> None:
    agent = guarded(Shop(), LOOK, say("Paid."))
    with pytest.raises(Exception, match="Nothing says which conversation"):
        await Runner.run(agent, "what about order 1001?", run_config=RunConfig(tracing_disabled=True))
    named = guarded(Shop(), LOOK, say("Paid."), conversation=lambda run: run.context)
    run = await Runner.run(named, "order 1001?", context="chat-7", run_config=RunConfig(tracing_disabled=True))
    assert run.final_output == "Paid."


async def test_arguments_that_are_no_json_are_said_to_be_and_go_back_to_the_model() -> None:
    """The SDK itself interrupts before anybody rules; an approval runs nothing."""
    shop = Shop()
    broken = function_call("cancel_order", {}, call_id="cancel")
    broken.arguments = '{"order_id": "1001'
    run = await Runner.run(guarded(shop, [broken], say("Sorry.")), "cancel order 1001", run_config=CHAT)
    (item,) = run.interruptions
    assert "cannot be read" in find_question(item)
    state = run.to_state()
    state.approve(item)
    run = await Runner.run(run.last_agent, state, run_config=CHAT)
    assert "The call cannot be read" in results(run)[0]
    assert shop.done == []
