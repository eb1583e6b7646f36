"""An agent of Google's ADK with our plugin: what it would have done, and what becomes of it now."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from examples.adapters.shop import POLICY, Shop

pytest.importorskip("google.adk", reason="needs google-adk: make test-adapters")

from google.adk.agents import LlmAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from circumspect.adapters.adk import CircumspectPlugin
from circumspect.gate import Gate

pytestmark = pytest.mark.filterwarnings("ignore")
Said = tuple[str, dict[str, str]] | str
LOOK = ("get_order", {"order_id": "1001"})
CANCEL = ("cancel_order", {"order_id": "1001"})


class Scripted(BaseLlm):
    model: str = "scripted"
    script: list[Any]

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[LlmResponse]:
        said = self.script.pop(0)
        part = (
            types.Part(text=said)
            if isinstance(said, str)
            else types.Part(function_call=types.FunctionCall(name=said[0], args=said[1]))
        )
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


class Talk:
    def __init__(self, shop: Shop, *script: Said, gate: Any = POLICY) -> None:
        tools = [shop.get_order, shop.read_note, shop.cancel_order, shop.change_address]
        agent = LlmAgent(name="shop", model=Scripted(script=list(script)), tools=tools)
        plugins = [CircumspectPlugin(gate)] if gate else []
        app = App(
            name="shop", root_agent=agent, plugins=plugins, resumability_config=ResumabilityConfig(is_resumable=True)
        )
        self.runner = InMemoryRunner(app=app)
        self.asked: list[Any] = []
        self.told: list[Any] = []
        self.session = ""
        self.invocation = ""

    async def say(self, *parts: types.Part, again: bool = False) -> None:
        if not self.session:
            made = await self.runner.session_service.create_session(app_name="shop", user_id="u1")
            self.session = made.id
        more = {"invocation_id": self.invocation} if again else {}
        message = types.Content(role="user", parts=list(parts))
        async for event in self.runner.run_async(user_id="u1", session_id=self.session, new_message=message, **more):
            self.invocation = event.invocation_id
            for call in event.get_function_calls():
                if call.name == "adk_request_confirmation":
                    self.asked.append(call)
            self.told += [one.response for one in event.get_function_responses()]

    async def user(self, text: str) -> None:
        await self.say(types.Part(text=text))

    async def answer(self, confirmed: bool) -> None:
        call = self.asked[-1]
        response = types.FunctionResponse(id=call.id, name=call.name, response={"confirmed": confirmed})
        await self.say(types.Part(function_response=response), again=True)


async def test_without_us_a_shipped_order_is_cancelled_and_with_us_it_is_not() -> None:
    order = {"order_id": "1002"}
    script: tuple[Said, ...] = ("get_order", order), ("cancel_order", order), "It is cancelled."
    before, after = Shop(), Shop()
    await Talk(before, *script, gate=None).user("cancel order 1002")
    talk = Talk(after, *script)
    await talk.user("cancel order 1002")
    assert before.done == ["cancelled 1002"]
    assert after.done == []
    assert "An order that has been shipped cannot be cancelled" in talk.told[-1]["error"]


@pytest.mark.parametrize(("confirmed", "done"), [(True, ["cancelled 1001"]), (False, [])])
async def test_a_confirmation_of_adks_own_answers_exactly_the_call_that_waits(confirmed: bool, done: list[str]) -> None:
    shop = Shop()
    talk = Talk(shop, LOOK, CANCEL, "So it is.")
    await talk.user("cancel order 1001")
    assert shop.done == []
    asked = talk.asked[-1].args["toolConfirmation"]
    assert asked["hint"].startswith("Just to confirm: you want me to cancel order 1001?")
    await talk.answer(confirmed)
    assert shop.done == done


async def test_an_address_out_of_a_note_is_not_used() -> None:
    move = {"order_id": "1001", "address": "66 Harbour Road"}
    script: tuple[Said, ...] = ("read_note", {"order_id": "1001"}), ("change_address", move), "Done."
    before, after = Shop(), Shop()
    await Talk(before, *script, gate=None).user("is there a note with order 1001?")
    await Talk(after, *script).user("is there a note with order 1001?")
    assert before.done == ["1001 goes to 66 Harbour Road"]
    assert after.done == []


async def test_a_look_up_that_failed_is_no_fact() -> None:
    gate = Gate(POLICY)
    talk = Talk(Shop(), ("get_order", {"order_id": "9"}), "Hm.", gate=gate)
    with pytest.raises(KeyError):
        await talk.user("cancel order 9")
    ruling = await gate.rule(
        {"name": "cancel_order", "arguments": {"order_id": "9"}}, conversation=talk.session, person="u1"
    )
    assert ruling.verdict != "allow"
    assert "get_order" in ruling.tell_model
