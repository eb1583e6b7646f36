"""What an interrupted turn leaves behind is settled by its own tenant's tools, told, and never taken for more than it is."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from circumspect import Agent, IdempotencyKey, tool
from circumspect.models.scripted import ScriptedModel, says
from circumspect.reasons import ReasonCode
from circumspect.values import Execution, ToolCall

NOON = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)


def booking(log):
    @tool(effect="write", recovery="keyed")
    async def book(slot: str, key: IdempotencyKey) -> str:
        """Book a slot."""
        log.append((slot, key))
        return "booked"

    return book


def agent(tenant, tools, tmp_path, clock, replies=None):
    model = ScriptedModel(replies or (lambda request: says("Hello.")))
    return Agent(tenant, tools=tools, model=model, database=f"sqlite:///{tmp_path}/c.db", clock=clock)


async def left_behind(owner, state="started"):
    """A call that was begun in a turn which then died."""
    store = (await owner.open()).ports.store
    turn = asyncio.create_task(owner.turn("hi", conversation="c"))
    await turn
    execution = Execution(
        "exec_1", owner.tenant.id, "c", turn.result().turn, ToolCall("book", {"slot": "9"}), "write", "keyed", "started",
        "tok", NOON + timedelta(minutes=1), NOON,
    )  # fmt: skip
    from circumspect.values import Incoming

    died = Incoming(owner.tenant.id, "c", "turn_died", "book slot 9", NOON)
    await store.open_turn(died, mode="adaptive", history=5, token="dead", lease_seconds=1)
    from dataclasses import replace

    assert await store.begin_call(replace(execution, turn="turn_died"), "dead")
    return store


async def test_a_tenants_interrupted_call_is_never_settled_with_another_tenants_tools(tmp_path, clock):
    ours, theirs = [], []
    async with (
        agent("a", [booking(ours)], tmp_path, clock) as one,
        agent("b", [booking(theirs)], tmp_path, clock) as two,
    ):
        store = await left_behind(one)
        clock.advance(minutes=10)
        await two.turn("hi", conversation="c")
        assert theirs == []
        turn = await one.turn("hi", conversation="c")
        assert [slot for slot, _ in ours] == ["9"]
        assert "went through" in turn.reply
        (row,) = await store.executions("a", "c")
        assert row.state == "succeeded"


@pytest.mark.parametrize(("hours", "made"), [(23, ["9"]), (25, [])])
async def test_a_call_that_began_too_long_ago_is_not_made_again(tmp_path, clock, hours, made):
    """Such as one that a restored backup left open."""
    log = []
    async with agent("a", [booking(log)], tmp_path, clock) as one:
        store = await left_behind(one)
        clock.advance(hours=hours)
        turn = await one.turn("hi", conversation="c")
        assert [slot for slot, _ in log] == made
        (row,) = await store.executions("a", "c")
        assert row.state == ("succeeded" if made else "indeterminate")
        assert ("not known" in turn.reply) is not bool(made)
        assert len(await store.escalations("a", "open")) == 1 - len(made)


async def test_a_call_whose_tool_is_gone_stays_unknown_and_is_not_called_failed(tmp_path, clock):
    async with agent("a", [booking([])], tmp_path, clock) as one:
        await left_behind(one)
    clock.advance(minutes=10)
    async with agent("a", [], tmp_path, clock) as without:
        turn = await without.turn("hi", conversation="c")
        store = (await without.open()).ports.store
        (row,) = await store.executions("a", "c")
        assert row.state == "indeterminate"
        assert "not known" in turn.reply
        assert [one.reason for one in await store.escalations("a")] == [ReasonCode.OUTCOME_UNKNOWN]


async def test_a_cancelled_turn_can_be_sent_again_under_its_key(tmp_path, clock):

    class Hanging(ScriptedModel):
        async def complete(self, request):
            if not self.requests:
                self.requests.append(request)
                await asyncio.sleep(60)
            return await super().complete(request)

    one = Agent(
        "a",
        tools=[booking([])],
        model=Hanging(lambda request: says("Hello.")),
        database=f"sqlite:///{tmp_path}/c.db",
        clock=clock,
    )
    async with one:
        turn = asyncio.create_task(one.turn("hi", conversation="c", key="k1"))
        await asyncio.sleep(0.2)
        turn.cancel()
        await asyncio.wait([turn])
        again = await one.turn("hi", conversation="c", key="k1")
        assert (again.outcome, again.reply) == ("answered", "Hello.")
        assert (await one.turn("hi", conversation="c", key="k1")).to_json() == again.to_json()


async def test_a_call_that_succeeded_in_a_turn_that_died_is_told_and_not_repeated(tmp_path, clock):
    from dataclasses import replace

    log = []
    replies = [says("Hello."), says("", tool="book", params={"slot": "9"}), says("That is arranged already.")]
    async with agent("a", [booking(log)], tmp_path, clock, replies) as one:
        store = await left_behind(one)
        (row,) = await store.executions("a", "c")
        await store.finish_call(replace(row, state="succeeded", result="booked", finished_at=clock.now()))
        clock.advance(minutes=10)
        turn = await one.turn("book slot 9", conversation="c")
        assert log == []
        assert "went through" in turn.reply
        assert ReasonCode.REPEATED_CALL in turn.reason_codes


async def test_a_turn_cancelled_after_its_call_ran_does_not_run_it_again_under_the_same_key(tmp_path, clock):
    log = []

    class HangsAfterTheCall(ScriptedModel):
        hung = False

        async def complete(self, request):
            if request.messages[-1].role == "tool" and not self.hung:
                self.hung = True
                await asyncio.sleep(60)
            return await super().complete(request)

    def replies(request):
        if request.purpose == "critique":
            return '{"decision": "PROCEED", "reasoning": "", "message": ""}'
        if request.messages[-1].role == "tool":
            return says("It is arranged.")
        return says("", tool="book", params={"slot": "9"})

    one = Agent(
        "a", tools=[booking(log)], model=HangsAfterTheCall(replies), database=f"sqlite:///{tmp_path}/c.db", clock=clock
    )
    async with one:
        turn = asyncio.create_task(one.turn("book slot 9", conversation="c", key="k1"))
        while not log:
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)
        turn.cancel()
        await asyncio.wait([turn])
        again = await one.turn("book slot 9", conversation="c", key="k1")
    assert len(log) == 1
    assert again.reply == "Done: book (slot: 9)."
