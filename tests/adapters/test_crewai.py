"""A crew of CrewAI under our guard: what it would have done, and what becomes of it now."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from examples.adapters.shop import POLICY, Shop

pytest.importorskip("crewai", reason="needs crewai: make test-adapters")

from crewai import Agent, Crew, Task
from crewai.hooks import register_before_tool_call_hook, unregister_before_tool_call_hook
from crewai.llms.base_llm import BaseLLM
from crewai.tools import ToolFailure, tool

from circumspect.adapters.crewai import guard_crews

pytestmark = pytest.mark.filterwarnings("ignore")
Said = tuple[str, dict[str, str]] | str
LOOK = ("get_order", {"order_id": "1001"})
CANCEL = ("cancel_order", {"order_id": "1001"})


class Scripted(BaseLLM):
    script: list[Any] = []
    heard: list[str] = []
    native: bool = False

    def call(self, messages: Any, *_: Any, **__: Any) -> Any:
        self.heard.append(str(messages))
        said = self.script.pop(0)
        if isinstance(said, str):
            return said if self.native else f"Thought: I now know the final answer\nFinal Answer: {said}"
        if self.native:
            made = {"name": said[0], "arguments": json.dumps(said[1])}
            return [{"id": f"call-{len(self.heard)}", "type": "function", "function": made}]
        return f"Thought: I should act\nAction: {said[0]}\nAction Input: {json.dumps(said[1])}"

    def supports_function_calling(self) -> bool:
        return self.native


@pytest.fixture
def guards() -> Iterator[list[Any]]:
    made: list[Any] = []
    yield made
    for one in made:
        one.close()


def run(shop: Shop, wish: str, *script: Said, native: bool = False, uses: int | None = None) -> str:
    model = Scripted(model="scripted", script=list(script), heard=[], native=native)
    tools = [
        tool(one.__name__, max_usage_count=uses)(lambda_of(one))
        for one in (shop.get_order, shop.read_note, shop.cancel_order, shop.change_address)
    ]
    agent = Agent(role="shop", goal="help", backstory="a shop", llm=model, tools=tools, max_iter=8)
    Crew(agents=[agent], tasks=[Task(description=wish, expected_output="an answer", agent=agent)]).kickoff()
    return model.heard[-1]


def lambda_of(method: Any) -> Any:
    """CrewAI's decorator takes functions, not methods."""
    if method.__name__ == "change_address":

        def with_address(order_id: str, address: str) -> Any:
            """Send an order somewhere else."""
            return method(order_id, address)

        return with_address

    def with_order(order_id: str) -> Any:
        """Do something with an order."""
        return method(order_id)

    return with_order


def test_without_us_a_shipped_order_is_cancelled_and_with_us_it_is_not(guards: list[Any]) -> None:
    order = {"order_id": "1002"}
    script: tuple[Said, ...] = ("get_order", order), ("cancel_order", order), "It is cancelled."
    before, after = Shop(), Shop()
    run(before, "cancel order 1002", *script)
    guards.append(guard_crews(POLICY, conversation="c1"))
    heard = run(after, "cancel order 1002", *script)
    assert before.done == ["cancelled 1002"]
    assert after.done == []
    assert "An order that has been shipped cannot be cancelled" in heard


@pytest.mark.parametrize(("said", "done"), [("yes", ["cancelled 1001"]), (False, [])])
def test_somebody_who_is_asked_decides(guards: list[Any], said: str | bool, done: list[str]) -> None:
    shop, asked = Shop(), []

    def ask(ruling: Any) -> str | bool:
        asked.append(ruling.ask_user)
        return said

    guards.append(guard_crews(POLICY, conversation="c1", ask=ask))
    run(shop, "cancel order 1001", LOOK, CANCEL, "So it is.")
    assert asked[0].startswith("Just to confirm: you want me to cancel order 1001?")
    assert shop.done == done


def test_an_address_out_of_a_note_is_not_used(guards: list[Any]) -> None:
    move = {"order_id": "1001", "address": "66 Harbour Road"}
    shop = Shop()
    guards.append(guard_crews(POLICY, conversation="c1"))
    run(
        shop, "is there a note with order 1001?", ("read_note", {"order_id": "1001"}), ("change_address", move), "Done."
    )
    assert shop.done == []


class ForgetfulShop(Shop):
    def get_order(self, order_id: str) -> Any:
        return ToolFailure(message="The shop is closed.")


def block_look_ups(context: Any) -> bool | None:
    return False if context.tool_name == "get_order" else None


@pytest.fixture
def another_hook() -> Iterator[Callable[[], None]]:
    yield lambda: register_before_tool_call_hook(block_look_ups)
    unregister_before_tool_call_hook(block_look_ups)


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("why", ["raised", "declared", "blocked", "spent"])
def test_a_look_up_that_did_not_happen_is_no_fact(
    guards: list[Any], another_hook: Callable[[], None], why: str, native: bool
) -> None:
    guards.append(guard_crews(POLICY, conversation="c1"))
    if why == "blocked":
        another_hook()
    shop = ForgetfulShop() if why == "declared" else Shop()
    order = {"order_id": "9" if why == "raised" else "1001"}
    first: tuple[Said, ...] = (("get_order", {"order_id": "1002"}),) if why == "spent" else ()
    script: tuple[Said, ...] = (*first, ("get_order", order), ("cancel_order", order), "Hm.")
    heard = run(shop, f"cancel order {order['order_id']}", *script, native=native, uses=1 if why == "spent" else None)
    assert "(REQUIREMENT_NOT_MET" in heard
    assert shop.done == []


@pytest.mark.parametrize("native", [True, False])
def test_the_call_runs_as_it_was_ruled_on(guards: list[Any], native: bool) -> None:
    shop = Shop()
    tools = [shop.get_order, shop.read_note, shop.cancel_order, shop.change_address]
    guards.append(guard_crews(POLICY, conversation="c1", tools=tools, ask=lambda _: "yes"))
    as_number: Any = ("cancel_order", {"order_id": 1001})
    run(shop, "cancel order 1001", LOOK, as_number, "Done.", native=native)
    assert shop.done == ["cancelled 1001"]


def test_a_gate_that_cannot_rule_blocks_the_tool(guards: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Shop()
    guards.append(guard_crews(POLICY, conversation="c1"))

    async def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("the store is down")

    monkeypatch.setattr(guards[0].gate, "rule", fail)
    heard = run(shop, "cancel order 1001", CANCEL, "So it is.")
    assert shop.done == []
    assert "the store is down" in heard
