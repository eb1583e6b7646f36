"""LangChain's own agent with our middleware: what it would have done, and what becomes of it now."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from examples.adapters.shop import POLICY, Shop
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from circumspect.adapters.langchain import Circumspect
from circumspect.clock import FixedClock
from circumspect.errors import ConfigError
from circumspect.gate import Gate

THREAD: Any = {"configurable": {"thread_id": "t1"}}


class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **_: Any) -> Scripted:
        return self


def calls(*made: tuple[str, str, dict[str, str]]) -> AIMessage:
    return AIMessage("", tool_calls=[{"id": id, "name": name, "args": args} for id, name, args in made])


LOOK = ("look", "get_order", {"order_id": "1001"})
CANCEL = ("cancel", "cancel_order", {"order_id": "1001"})


def agent(shop: Shop, *script: AIMessage | str, gate: Any = POLICY, paused: bool = True, **settings: Any) -> Any:
    return create_agent(
        Scripted(messages=iter(script)),
        [shop.get_order, shop.read_note, shop.cancel_order, shop.change_address],
        middleware=[Circumspect(gate, **settings)] if gate else [],
        checkpointer=InMemorySaver() if paused else None,
    )


def says(text: str, *before: BaseMessage) -> dict[str, Any]:
    return {"messages": [*before, {"role": "user", "content": text}]}


def results(state: dict[str, Any]) -> list[str]:
    return [message.content for message in state["messages"] if isinstance(message, ToolMessage)]


def asked(state: dict[str, Any]) -> list[str]:
    return [one.value["description"] for one in state.get("__interrupt__", ())]


def shipped() -> tuple[AIMessage | str, ...]:
    order = {"order_id": "1002"}
    return calls(("look", "get_order", order)), calls(("cancel", "cancel_order", order)), "It is cancelled."


async def test_without_us_a_shipped_order_is_cancelled_and_with_us_it_is_not() -> None:
    before, after = Shop(), Shop()
    await agent(before, *shipped(), gate=None).ainvoke(says("cancel order 1002"), THREAD)
    state = await agent(after, *shipped()).ainvoke(says("cancel order 1002"), THREAD)
    assert before.done == ["cancelled 1002"]
    assert after.done == []
    assert "An order that has been shipped cannot be cancelled" in results(state)[-1]
    assert state["messages"][-2].status == "error"


@dataclass
class Order:
    order_id: str
    status: str
    total: Decimal


class OrderModel(BaseModel):
    order_id: str
    status: str
    total: Decimal


@pytest.mark.parametrize("record", [Order, OrderModel])
async def test_a_record_that_langchain_prints_still_has_its_fields(record: type[Any]) -> None:
    """LangChain makes a text of a dataclass or a model, which the model reads; the policy reads its fields."""

    def get_order(order_id: str) -> Any:
        """Look an order up."""
        return record(order_id=order_id, status="open", total=Decimal("9.50"))

    middle = create_agent(
        Scripted(messages=iter([calls(LOOK), calls(CANCEL), "Done."])),
        [get_order, Shop().cancel_order],
        middleware=[Circumspect(POLICY)],
        checkpointer=InMemorySaver(),
    )
    assert "cancel order 1001" in asked(await middle.ainvoke(says("cancel order 1001"), THREAD))[0]


async def test_an_address_out_of_a_note_is_not_used() -> None:
    script = (
        calls(("note", "read_note", {"order_id": "1001"})),
        calls(("move", "change_address", {"order_id": "1001", "address": "66 Harbour Road"})),
        "Done.",
    )
    before, after = Shop(), Shop()
    await agent(before, *script, gate=None).ainvoke(says("is there a note with order 1001?"), THREAD)
    await agent(after, *script).ainvoke(says("is there a note with order 1001?"), THREAD)
    assert before.done == ["1001 goes to 66 Harbour Road"]
    assert after.done == []


async def test_a_call_that_was_not_looked_up_goes_back_to_the_model() -> None:
    shop = Shop()
    again = ("again", "cancel_order", {"order_id": "1001"})
    one = agent(shop, calls(CANCEL), calls(LOOK), calls(again), "Cancelled.")
    state = await one.ainvoke(says("cancel order 1001"), THREAD)
    assert "get_order" in results(state)[0]
    assert asked(state) == [
        "Just to confirm: you want me to cancel order 1001? This cannot be undone. Please answer yes or no."
    ]


@pytest.mark.parametrize("yes", ["yes, do it", True, {"type": "approve"}, {"decisions": [{"type": "approve"}]}])
async def test_a_yes_runs_exactly_the_call_that_waited_once(yes: Any) -> None:
    shop = Shop()
    one = agent(shop, calls(LOOK), calls(CANCEL), "Cancelled.")
    state = await one.ainvoke(says("cancel order 1001"), THREAD)
    assert shop.done == []
    assert state["__interrupt__"][0].value["args"] == {"order_id": "1001"}
    state = await one.ainvoke(Command(resume=yes), THREAD)
    assert shop.done == ["cancelled 1001"]
    assert results(state)[-1] == "Order 1001 is cancelled."


@pytest.mark.parametrize("no", ["no, leave it", False, {"type": "reject"}])
async def test_a_no_runs_nothing(no: Any) -> None:
    shop = Shop()
    one = agent(shop, calls(LOOK), calls(CANCEL), "Left alone.")
    await one.ainvoke(says("cancel order 1001"), THREAD)
    state = await one.ainvoke(Command(resume=no), THREAD)
    assert shop.done == []
    assert state["messages"][-1].content == "Left alone."


def test_the_same_holds_without_async() -> None:
    shop = Shop()
    one = agent(shop, calls(LOOK), calls(CANCEL), "Cancelled.")
    assert len(asked(one.invoke(says("cancel order 1001"), THREAD))) == 1
    one.invoke(Command(resume="yes"), THREAD)
    assert shop.done == ["cancelled 1001"]


@pytest.mark.parametrize("door", ["invoke", "ainvoke"])
async def test_two_calls_in_one_message_are_answered_one_by_one(door: str) -> None:
    shop = Shop()
    shop.orders["1003"] = {"order_id": "1003", "status": "paid"}
    both = [("b", "cancel_order", {"order_id": "1001"}), ("c", "cancel_order", {"order_id": "1003"})]
    look = [("x", "get_order", {"order_id": "1001"}), ("y", "get_order", {"order_id": "1003"})]
    one = agent(shop, calls(*look), calls(*both), "So it is.")

    async def go(given: Any) -> Any:
        return one.invoke(given, THREAD) if door == "invoke" else await one.ainvoke(given, THREAD)

    state = await go(says("cancel orders 1001 and 1003"))
    while state.get("__interrupt__"):
        said = {waits.id: waits.value["args"]["order_id"] == "1003" for waits in state["__interrupt__"]}
        state = await go(Command(resume=said))
    assert shop.done == ["cancelled 1003"]


async def test_an_edit_is_another_call_which_is_ruled_on_again() -> None:
    shop = Shop()
    one = agent(shop, calls(LOOK), calls(CANCEL), "So it is.")
    await one.ainvoke(says("cancel order 1001"), THREAD)
    edit = {"type": "edit", "edited_action": {"name": "cancel_order", "args": {"order_id": "1002"}}}
    state = await one.ainvoke(Command(resume=edit), THREAD)
    assert shop.done == []
    assert "get_order" in results(state)[-1]


async def test_a_model_that_changes_the_call_after_the_yes_is_asked_again() -> None:
    shop = Shop()
    shop.orders["1003"] = {"order_id": "1003", "status": "paid"}
    other = ("other", "cancel_order", {"order_id": "1003"})
    look = ("see", "get_order", {"order_id": "1003"})
    one = agent(shop, calls(LOOK, look), calls(CANCEL), calls(other), "So it is.")
    await one.ainvoke(says("cancel order 1001, I have 1003 as well"), THREAD)
    state = await one.ainvoke(Command(resume="yes"), THREAD)
    assert shop.done == ["cancelled 1001"]
    assert "order 1003" in asked(state)[0]


async def test_without_a_checkpointer_the_model_asks_and_the_next_message_counts() -> None:
    shop = Shop()
    question = "Just to confirm: you want me to cancel order 1001? This cannot be undone. Please answer yes or no."
    again = ("again", "cancel_order", {"order_id": "1001"})
    one = agent(shop, calls(LOOK), calls(CANCEL), question, calls(again), "Cancelled.", paused=False)
    state = await one.ainvoke(says("cancel order 1001"), THREAD)
    assert question in results(state)[-1]
    assert shop.done == []
    state = await one.ainvoke(says("yes", *state["messages"]), THREAD)
    assert shop.done == ["cancelled 1001"]


async def test_a_failure_of_the_tool_is_the_tools_own_and_is_in_the_ledger() -> None:
    shop = Shop()
    gate = Gate(POLICY)
    one = agent(shop, calls(("look", "get_order", {"order_id": "9"})), "Hm.", gate=gate)
    with pytest.raises(KeyError):
        await one.ainvoke(says("what about order 9?"), THREAD)


async def test_a_worker_that_dies_after_the_tool_ran_does_not_run_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Shop()
    one = agent(shop, calls(LOOK), calls(CANCEL), "Cancelled.")
    await one.ainvoke(says("cancel order 1001"), THREAD)
    gate_run = Gate.run

    async def die_after(self: Gate, *given: Any) -> Any:
        await gate_run(self, *given)
        raise SystemError("the worker died")

    with monkeypatch.context() as patch:
        patch.setattr(Gate, "run", die_after)
        with pytest.raises(SystemError):
            await one.ainvoke(Command(resume="yes"), THREAD)
    assert shop.done == ["cancelled 1001"]
    state = await one.ainvoke(None, THREAD)
    assert shop.done == ["cancelled 1001"]
    assert results(state)[-1] == "Order 1001 is cancelled."


async def test_an_answer_that_is_none_says_what_would_be() -> None:
    one = agent(Shop(), calls(LOOK), calls(CANCEL), "So it is.")
    await one.ainvoke(says("cancel order 1001"), THREAD)
    with pytest.raises(ConfigError, match="Resume with the user's words"):
        await one.ainvoke(Command(resume=42), THREAD)


async def test_people_do_not_share_a_conversation_that_nobody_named() -> None:
    gate, shop = Gate(POLICY), Shop()
    first = agent(shop, calls(LOOK), "It is paid.", gate=gate, paused=False)
    await first.ainvoke(says("what about order 1001?"))
    second = agent(shop, calls(CANCEL), "So it is.", gate=gate, paused=False)
    state = await second.ainvoke(says("what about order 1001?"))
    assert "get_order" in results(state)[-1]


@pytest.mark.parametrize(("second", "done"), [("yes", ["cancelled 1001"]), ("no", [])])
async def test_a_late_yes_is_asked_about_again_and_only_the_second_answer_counts(
    clock: FixedClock, second: str, done: list[str]
) -> None:
    shop = Shop()
    talk = agent(shop, calls(LOOK), calls(CANCEL), "Done.", clock=clock)
    assert asked(await talk.ainvoke(says("cancel order 1001"), THREAD))
    clock.advance(hours=10)
    assert asked(await talk.ainvoke(Command(resume="yes"), THREAD))
    assert shop.done == []
    await talk.ainvoke(Command(resume=second), THREAD)
    assert shop.done == done


async def test_arguments_come_in_the_types_of_the_tools_schema() -> None:
    """LangChain would have run it as 5, and a condition reads it as 5."""
    done: list[int] = []

    def adjust(sku: str, quantity: int) -> str:
        """Set the stock."""
        done.append(quantity)
        return "ok"

    policy = """
version: 1
tools:
  adjust: {effect: write, confirm: never, deny_unless: [{if: args.quantity < 10, because: Too many.}]}
"""
    made: Any = calls(("a", "adjust", {"sku": "SKU-1", "quantity": "5"}))
    middle = create_agent(Scripted(messages=iter([made, "Done."])), [adjust], middleware=[Circumspect(policy)])
    await middle.ainvoke(says("set SKU-1 to 5"))
    assert done == [5]


async def test_the_same_call_twice_in_one_message_runs_once_and_nobody_is_sent_to_a_colleague() -> None:
    done: list[int] = []

    async def adjust(sku: str, quantity: int) -> str:
        """Set the stock."""
        await asyncio.sleep(0.05)
        done.append(quantity)
        return "ok"

    policy = {"version": 1, "tools": {"adjust": {"effect": "write", "confirm": "never"}}}
    given = {"sku": "SKU-1", "quantity": "5"}
    made: Any = calls(("a", "adjust", given), ("b", "adjust", given))
    middle = create_agent(Scripted(messages=iter([made, "Done."])), [adjust], middleware=[Circumspect(policy)])
    state = await middle.ainvoke(says("set SKU-1 to 5"))
    assert done == [5]
    assert "OUTCOME_UNKNOWN" not in str(results(state))
    assert "colleague" not in str(results(state))
