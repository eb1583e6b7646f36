"""A worker that was held up beyond its lease has nothing to say: the answer is that of whoever took over."""

import asyncio

import pytest
from tests.patience import PATIENCE

from circumspect import Agent, IdempotencyKey, tool
from circumspect.clock import RandomIds
from circumspect.errors import StoreError
from circumspect.language import catalogue
from circumspect.models.scripted import ScriptedModel, says
from circumspect.server.stores import privacy
from circumspect.steps.sweep import sweep
from circumspect.stores import people

PROCEED = '{"decision": "PROCEED", "reasoning": ""}'
CONVERSATION_FREE, CALL_FREE = 25, 80
"""Seconds after which a held-up worker's conversation, and its call, may be taken over."""


class Gate:
    """Where a worker is held up, in a model or in a tool, until somebody lets it go on."""

    def __init__(self):
        self.reached, self.open = asyncio.Event(), asyncio.Event()

    async def pass_through(self):
        self.reached.set()
        await asyncio.wait_for(self.open.wait(), PATIENCE)

    async def is_reached(self):
        await asyncio.wait_for(self.reached.wait(), PATIENCE)


class HeldUp(ScriptedModel):
    def __init__(self, gate, *replies):
        super().__init__(replies)
        self.gate = gate

    async def complete(self, request):
        await self.gate.pass_through()
        return await super().complete(request)


@pytest.fixture
def make(tmp_path, clock):
    def agent(model, *tools):
        return Agent("shop", tools=tools, model=model, database=tmp_path / "t.db", clock=clock)

    return agent


async def test_two_who_send_one_key_hear_the_same(make, clock):
    gate = Gate()
    async with make(HeldUp(gate, says("Too late."))) as slow, make(ScriptedModel([says("In time.")])) as quick:
        first = asyncio.create_task(slow.turn("hello", key="k1"))
        await gate.is_reached()
        clock.advance(seconds=CONVERSATION_FREE)
        second = await quick.turn("hello", key="k1")
        gate.open.set()
        assert second.reply == "In time."
        assert (await first).to_json() == second.to_json()
        said = await (await slow.open()).ports.store.messages("shop", "default")
        assert [one.content for one in said] == ["hello", "In time."]


async def test_a_message_that_was_overtaken_by_another_is_answered_after_it(make, clock):
    gate = Gate()
    async with (
        make(HeldUp(gate, says("Too late."), says("The first."))) as slow,
        make(ScriptedModel([says("The second.")])) as quick,
    ):
        first = asyncio.create_task(slow.turn("one"))
        await gate.is_reached()
        clock.advance(seconds=CONVERSATION_FREE)
        await quick.turn("two")
        gate.open.set()
        assert (await first).reply == "The first."
        said = await (await slow.open()).ports.store.messages("shop", "default")
        assert [one.content for one in said] == ["one", "two", "The second.", "The first."]


async def test_a_call_is_made_once_although_its_message_is_taken_over_and_drafted_anew(make, clock):
    """The second draft need not be the same call: whoever asked for one thing gets one."""
    gate, booked = Gate(), []

    @tool(effect="write", recovery="blind")
    async def book(slot: str, note: str) -> str:
        """Book a slot."""
        booked.append(note)
        return "booked"

    def call(note):
        return says("", tool="book", params={"slot": "9", "note": note})

    class HeldUpAfterwards(ScriptedModel):
        async def complete(self, request):
            if booked:
                await gate.pass_through()
            return await super().complete(request)

    slow = make(HeldUpAfterwards([call("window"), PROCEED, "Too late."]), book)
    quick = make(ScriptedModel([call("by the window"), PROCEED, "Booked."]), book)
    async with slow, quick:
        first = asyncio.create_task(slow.turn("book slot 9, window", key="k1"))
        await gate.is_reached()
        clock.advance(seconds=CONVERSATION_FREE)
        second = await quick.turn("book slot 9, window", key="k1")
        gate.open.set()
        assert (await first).to_json() == second.to_json()
        assert booked == ["window"]
        assert second.reply == catalogue.say("en", "done", action="book (slot: 9, note: window)")


async def test_a_late_worker_does_not_bring_back_what_was_deleted(make, clock):
    gate = Gate()
    async with make(HeldUp(gate, says("Too late."))) as shop:
        turn = asyncio.create_task(shop.turn("hello", key="k1"))
        await gate.is_reached()
        store = (await shop.open()).ports.store
        await store.tx(privacy.forget, "shop", "default")
        gate.open.set()
        assert (await turn).outcome == "failed"
        assert await store.tx(people.list_conversations, ("shop",), None, 10) == []


async def test_a_call_that_was_taken_over_is_not_said_to_be_undone(make, clock, monkeypatch):
    """Its write-ahead was stored, the answer to that was lost, and before the turn was closed somebody made the call."""
    booked = []

    @tool(effect="write", recovery="keyed")
    async def book(slot: str, key: IdempotencyKey) -> str:
        """Book a slot."""
        booked.append(key)
        return "booked"

    model = ScriptedModel([says("", tool="book", params={"slot": "9"}), PROCEED])
    async with make(model, book) as shop:
        ports = (await shop.open()).ports
        begin_call = ports.store.begin_call

        async def lose_answer(*given):
            assert await begin_call(*given)
            clock.advance(seconds=CALL_FREE)
            await sweep("shop", ports.tools, ports.store, clock, RandomIds())
            raise StoreError("The answer was lost.")

        monkeypatch.setattr(ports.store, "begin_call", lose_answer)
        told = await shop.turn("book slot 9", key="k1")
    assert len(booked) == 1
    assert (told.outcome, told.reply) == ("acted", catalogue.say("en", "done", action="book (slot: 9)"))
