"""What we promise, tried as an attacker or a careless user would: the right person's yes, to the question they read."""

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from circumspect import Agent, tool
from circumspect.errors import CallUnderWay, NotYourConversation, StoreError
from circumspect.language import catalogue
from circumspect.models.scripted import ScriptedModel, says
from circumspect.policy.load import load
from circumspect.reasons import ReasonCode
from circumspect.values import Incoming

PROCEED = '{"decision": "PROCEED", "reasoning": ""}'
POLICY = "version: 1\ntools:\n  cancel_order: {effect: destructive, confirm: always}\n"


def propose(order_id):
    return says("", tool="cancel_order", params={"order_id": order_id})


class Slow(ScriptedModel):
    """Thinks until it is told to go on."""

    def __init__(self, replies):
        super().__init__(replies)
        self.go = asyncio.Event()
        self.asked = asyncio.Event()

    async def complete(self, request):
        self.asked.set()
        await self.go.wait()
        return await super().complete(request)


@pytest.fixture
def cancelled():
    return []


@pytest.fixture
def make(cancelled, tmp_path):
    @tool(effect="destructive")
    async def cancel_order(order_id: str) -> str:
        """Cancel an order."""
        cancelled.append(order_id)
        return "cancelled"

    def agent(model, database="promises.db", **options):
        return Agent(
            "shop", tools=[cancel_order], policy=load(POLICY), model=model, database=tmp_path / database, **options
        )

    return agent


async def test_a_yes_that_was_said_before_its_question_could_be_read_runs_nothing(make, cancelled):
    model = Slow([propose("901"), PROCEED, "Done.", "Done."])
    async with make(model) as agent:
        first = asyncio.create_task(agent.turn("cancel order 901", conversation="c"))
        await model.asked.wait()
        early = asyncio.create_task(agent.turn("yes", conversation="c"))
        await asyncio.sleep(0.05)
        model.go.set()
        assert (await first).pending is not None
        answer = await early
        assert (answer.outcome, cancelled) == ("asked", [])
        assert answer.pending is not None
        assert (await agent.turn("yes", conversation="c")).outcome == "acted"
    assert cancelled == ["901"]


async def test_a_lost_yes_that_is_sent_again_is_none_to_a_newer_question(make, cancelled, monkeypatch):
    async with make(ScriptedModel([propose("901"), PROCEED, propose("902"), PROCEED, "Done."])) as agent:
        assert (await agent.turn("cancel order 901")).outcome == "asked"
        store = (await agent.open()).ports.store

        async def gone(*_):
            raise StoreError("the worker is dead")

        with monkeypatch.context() as dead:
            dead.setattr(store, "begin_call", gone)
            dead.setattr(store, "close_turn", gone)
            with pytest.raises(CallUnderWay):
                await agent.turn("yes", key="yes-1")
        await store.give_back(Incoming("shop", "default", "", "", datetime.now(UTC)), await _find_token(store))
        assert (await agent.turn("cancel order 902")).outcome == "asked"

        again = await agent.turn("yes", key="yes-1")
        assert cancelled == []
        assert again.outcome == "asked"
        assert (await agent.turn("yes")).outcome == "acted"
        assert cancelled == ["902"]


async def _find_token(store):
    """Whoever held the conversation when it died."""
    query = sa.text("SELECT lease_token FROM conversations")
    return await store.tx(lambda connection: connection.execute(query).scalar_one())


async def test_another_persons_yes_is_nobodys(make, cancelled):
    async with make(ScriptedModel([propose("901"), PROCEED, "Done.", "Done."])) as agent:
        asked = await agent.turn("cancel order 901", conversation="c", person="anna", key="k1")
        assert asked.pending is not None
        for said, key in (("yes", None), ("cancel order 901", "k1"), ("what is going on?", None)):
            with pytest.raises(NotYourConversation):
                await agent.turn(said, conversation="c", person="mallory", key=key)
        assert cancelled == []
        await agent.turn("yes", conversation="c", person="anna")
    assert cancelled == ["901"]


async def test_a_question_that_could_not_be_stored_is_not_asked(make, cancelled):
    model = ScriptedModel([propose("2"), PROCEED, propose("3"), PROCEED])
    async with make(model) as agent:
        await agent.turn("cancel order 2", conversation="c")
        store = (await agent.open()).ports.store

        async def sql(text):
            await store.tx(lambda connection: connection.execute(sa.text(text)) and None)

        await sql("CREATE TRIGGER broken BEFORE INSERT ON intents BEGIN SELECT RAISE(ABORT, 'no room'); END")
        lost = await agent.turn("cancel order 3", conversation="c")
        assert (lost.outcome, lost.reply) == ("failed", catalogue.say("en", "failed-store"))
        assert ReasonCode.STORE_FAILED in lost.reason_codes
        assert "3" not in lost.reply
        await sql("DROP TRIGGER broken")
    assert cancelled == []


async def test_a_question_that_was_stored_without_an_answer_of_the_store_is_asked(make, cancelled, monkeypatch):
    """Told that nothing could be done, the user would say yes to something else, and run what they never read."""
    async with make(ScriptedModel([propose("2"), PROCEED, "Done."])) as agent:
        store = (await agent.open()).ports.store
        close_turn = store.close_turn

        async def lose_the_answer(closing):
            await close_turn(closing)
            raise StoreError("The database did not answer.", fix="Wait.")

        with monkeypatch.context() as patch:
            patch.setattr(store, "close_turn", lose_the_answer)
            asked = await agent.turn("cancel order 2", conversation="c")
        assert (asked.outcome, "2" in asked.reply) == ("asked", True)
        await agent.turn("yes", conversation="c", answers=asked.pending.id)
    assert cancelled == ["2"]


async def test_databases_that_are_opened_at_once_do_not_disturb_each_other(make):
    async with AsyncExitStack() as stack:
        agents = [make(ScriptedModel(["Hello."]), f"{number}.db") for number in range(8)]
        await asyncio.gather(*(stack.enter_async_context(agent) for agent in agents))
        turns = await asyncio.gather(*(agent.turn("hi", conversation="c") for agent in agents))
    assert [turn.outcome for turn in turns] == ["answered"] * 8
