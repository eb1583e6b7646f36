"""An agent of LlamaIndex with guarded tools: what it would have done, and what becomes of it now."""

from __future__ import annotations

from typing import Any

import pytest
from examples.adapters.shop import POLICY, Shop

pytest.importorskip("llama_index.core", reason="needs llama-index-core: make test-adapters")

from llama_index.core.agent.workflow import FunctionAgent, ToolCallResult
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent

from circumspect.adapters.llama_index import guard_tools

pytestmark = pytest.mark.filterwarnings("ignore")
QUESTION = "Just to confirm: you want me to cancel order 1001? This cannot be undone. Please answer yes or no."
Said = tuple[str, dict[str, str]] | str
LOOK = ("get_order", {"order_id": "1001"})
CANCEL = ("cancel_order", {"order_id": "1001"})


class Scripted(MockFunctionCallingLLM):
    script: list[Any] = []
    said: int = 0

    async def astream_chat_with_tools(self, *_: Any, **__: Any) -> Any:
        said = self.script.pop(0)
        self.said += 1
        block: Any = (
            TextBlock(text=said)
            if isinstance(said, str)
            else ToolCallBlock(tool_call_id=f"call-{self.said}", tool_name=said[0], tool_kwargs=said[1])
        )

        async def answer() -> Any:
            yield ChatResponse(message=ChatMessage(role="assistant", blocks=[block]))

        return answer()


class Talk:
    def __init__(self, shop: Shop, *script: Said, guarded: bool = True, pauses: bool = False) -> None:
        tools: list[Any] = [shop.get_order, shop.read_note, shop.cancel_order, shop.change_address]
        if guarded:
            tools = guard_tools(tools, POLICY, pauses=pauses)
        self.agent = FunctionAgent(tools=tools, llm=Scripted(script=list(script), is_chat_model=True))
        self.context = Context(self.agent)
        self.memory = ChatMemoryBuffer.from_defaults(token_limit=9999)
        self.told: list[str] = []
        self.asked: list[str] = []

    async def user(self, text: str, answer: str = "") -> None:
        run = self.agent.run(text, ctx=self.context, memory=self.memory)
        async for event in run.stream_events():
            if isinstance(event, ToolCallResult):
                self.told.append(event.tool_output.content)
            elif isinstance(event, InputRequiredEvent):
                self.asked.append(event.prefix)
                run.ctx.send_event(HumanResponseEvent(response="yes", intent="another"))
                run.ctx.send_event(HumanResponseEvent(response=answer, intent=event.intent))
        await run


async def test_without_us_a_shipped_order_is_cancelled_and_with_us_it_is_not() -> None:
    order = {"order_id": "1002"}
    script: tuple[Said, ...] = ("get_order", order), ("cancel_order", order), "It is cancelled."
    before, after = Shop(), Shop()
    await Talk(before, *script, guarded=False).user("cancel order 1002")
    talk = Talk(after, *script)
    await talk.user("cancel order 1002")
    assert before.done == ["cancelled 1002"]
    assert after.done == []
    assert "An order that has been shipped cannot be cancelled" in talk.told[-1]


async def test_an_address_out_of_a_note_is_not_used() -> None:
    move = {"order_id": "1001", "address": "66 Harbour Road"}
    script: tuple[Said, ...] = ("read_note", {"order_id": "1001"}), ("change_address", move), "Done."
    before, after = Shop(), Shop()
    await Talk(before, *script, guarded=False).user("is there a note with order 1001?")
    await Talk(after, *script).user("is there a note with order 1001?")
    assert before.done == ["1001 goes to 66 Harbour Road"]
    assert after.done == []


async def test_the_model_asks_and_the_next_message_counts_once() -> None:
    shop = Shop()
    talk = Talk(shop, LOOK, CANCEL, QUESTION, CANCEL, "Cancelled.", CANCEL, "Done.")
    await talk.user("cancel order 1001")
    assert QUESTION in talk.told[-1]
    assert shop.done == []
    await talk.user("yes")
    await talk.user("thanks")
    assert shop.done == ["cancelled 1001"]


@pytest.mark.parametrize(("said", "done"), [("yes", ["cancelled 1001"]), ("no", [])])
async def test_an_event_with_the_same_intent_answers_exactly_the_call_that_waits(said: str, done: list[str]) -> None:
    shop = Shop()
    talk = Talk(shop, LOOK, CANCEL, "So it is.", pauses=True)
    await talk.user("cancel order 1001", answer=said)
    assert talk.asked == [QUESTION]
    assert shop.done == done
