"""A conversation belongs to one worker at a time, for as long as its turn takes."""

import asyncio

from tests.patience import PATIENCE

from circumspect import Agent, tool
from circumspect.models.scripted import ScriptedModel, says
from circumspect.steps import claim


@tool(effect="read")
async def look() -> str:
    """Look."""
    return "seen"


class Slow(ScriptedModel):
    """Thinks for a while, and says when it begins and ends."""

    def __init__(self, seconds, log):
        super().__init__(lambda request: says("hello"))
        self.seconds, self.log = seconds, log

    async def complete(self, request):
        self.log.append("begin")
        await asyncio.sleep(self.seconds)
        self.log.append("end")
        return await super().complete(request)


async def test_messages_to_one_conversation_are_answered_one_after_the_other_in_order(tmp_path):
    log = []
    async with Agent("t", tools=[look], model=Slow(0.05, log), database=f"sqlite:///{tmp_path}/c.db") as agent:
        turns = await asyncio.gather(*(agent.turn(f"message {n}", conversation="c") for n in range(4)))
        assert log == ["begin", "end"] * 4
        assert [turn.outcome for turn in turns] == ["answered"] * 4
        said = await (await agent.open()).ports.store.messages("t", "c")
    assert [one.content for one in said if one.role == "user"] == [f"message {n}" for n in range(4)]


async def test_different_conversations_are_answered_at_the_same_time(tmp_path):
    log = []
    async with Agent("t", tools=[look], model=Slow(0.3, log), database=f"sqlite:///{tmp_path}/c.db") as agent:
        await asyncio.gather(*(agent.turn("hi", conversation=f"c{n}") for n in range(3)))
    assert log[:3] == ["begin"] * 3


async def test_two_agents_on_one_database_take_turns_on_one_conversation(tmp_path):
    log, url = [], f"sqlite:///{tmp_path}/c.db"
    async with (
        Agent("t", tools=[look], model=Slow(0.1, log), database=url) as one,
        Agent("t", tools=[look], model=Slow(0.1, log), database=url) as other,
    ):
        await asyncio.gather(one.turn("hi", conversation="c"), other.turn("hi", conversation="c"))
    assert log == ["begin", "end"] * 2


async def test_a_turn_that_outlasts_its_lease_keeps_the_conversation(tmp_path, monkeypatch):
    monkeypatch.setattr(claim, "LEASE_SECONDS", 0.3)
    log, url = [], f"sqlite:///{tmp_path}/c.db"
    async with (
        Agent("t", tools=[look], model=Slow(1.2, log), database=url) as one,
        Agent("t", tools=[look], model=Slow(0.0, log), database=url) as other,
    ):
        first = asyncio.create_task(one.turn("hi", conversation="c"))
        await asyncio.sleep(0.1)
        await asyncio.gather(first, other.turn("hi", conversation="c"))
    assert log == ["begin", "end"] * 2


async def test_a_turn_that_is_cancelled_gives_the_conversation_back_and_is_recorded(tmp_path):
    log = []
    async with Agent("t", tools=[look], model=Slow(PATIENCE, log), database=f"sqlite:///{tmp_path}/c.db") as agent:
        turn = asyncio.create_task(agent.turn("hi", conversation="c"))
        while not log:
            await asyncio.sleep(0.01)
        turn.cancel()
        await asyncio.wait([turn])
        agent.model.seconds = 0
        async with asyncio.timeout(PATIENCE):
            assert (await agent.turn("hi again", conversation="c")).outcome == "answered"
        rows = await (await agent.open()).ports.store.messages("t", "c", internal=True)
    assert any(row.reason == "TURN_INTERRUPTED" for row in rows)
