"""A database that fails around a call: what the user is told of the call stays so, whoever looks after it later."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.database_clock import database_follows

from circumspect import Agent, IdempotencyKey, tool
from circumspect.clock import FixedClock, RandomIds
from circumspect.errors import CallUnderWay, StoreError, ToolError
from circumspect.language import catalogue
from circumspect.models.scripted import ScriptedModel, calls
from circumspect.policy.load import load
from circumspect.reasons import ReasonCode
from circumspect.steps.sweep import sweep

NOON = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)
POLICY = "version: 1\ntools:\n  annotate: {effect: write, confirm: never}\n"
WISH = "annotate order 12345"
ANNOTATE = calls("annotate", {"order_id": "12345"})


class Office:
    """What is behind the tool: it refuses the first time, and afterwards does as it is told."""

    def __init__(self):
        self.done, self.refuses = [], True

        @tool(effect="write", recovery="keyed")
        async def annotate(order_id: str, key: IdempotencyKey) -> str:
            """Annotate an order."""
            if self.refuses:
                raise ToolError("The order is locked.")
            if key not in self.done:
                self.done.append(key)
            return "annotated"

        self.tools = [annotate]


@pytest.fixture
def clock():
    fixed = FixedClock(NOON)
    with database_follows(fixed):
        yield fixed


@pytest.fixture
def office():
    return Office()


@pytest.fixture
async def shop(tmp_path, clock, office):
    def make(*replies):
        model = ScriptedModel(replies or [ANNOTATE, "I could not do it."])
        return Agent(
            "shop", tools=office.tools, policy=load(POLICY), model=model, database=tmp_path / "u.db", clock=clock,
            mode="standard",
        )  # fmt: skip

    async with make() as agent:
        agent.make = make
        yield agent


async def store_of(shop):
    return (await shop.open()).ports.store


def fail(monkeypatch, store, name, *, after=False, times=99):
    """So many times the database does not answer; with `after`, although it did what it was asked to."""
    real, left = getattr(store, name), [times]

    async def gone(*args):
        if left[0] == 0:
            return await real(*args)
        left[0] -= 1
        if after:
            await real(*args)
        raise StoreError("The database is away.")

    monkeypatch.setattr(store, name, gone)


async def look_after(shop, office, clock):
    """Much later somebody settles what was left open, with a tool that works again."""
    office.refuses = False
    clock.advance(seconds=600)
    ports = (await shop.open()).ports
    return await sweep("shop", ports.tools, ports.store, clock, RandomIds())


async def test_a_refusal_that_could_be_stored_only_with_the_turn_is_final(shop, office, clock, monkeypatch):
    fail(monkeypatch, await store_of(shop), "finish_call", times=1)
    told = await shop.turn(WISH)
    assert "refused" in told.reply
    assert not await look_after(shop, office, clock)
    assert not office.done


async def test_a_refusal_that_could_not_be_stored_is_not_told(shop, office, clock, monkeypatch):
    store = await store_of(shop)
    with monkeypatch.context() as away:
        fail(away, store, "finish_call")
        fail(away, store, "close_turn")
        with pytest.raises(CallUnderWay):
            await shop.turn(WISH, key="k")
    await look_after(shop, office, clock)
    async with shop.make("Hello.") as later:
        assert "Done:" in (await later.turn(WISH, key="k")).reply


async def test_a_refusal_whose_turn_could_not_be_stored_has_to_be_asked_for_again(shop, monkeypatch):
    fail(monkeypatch, await store_of(shop), "close_turn")
    assert (await shop.turn(WISH, key="k")).lost


async def test_a_call_that_may_have_been_written_down_and_was_not_made_is_not_made_later(
    shop, office, clock, monkeypatch
):
    fail(monkeypatch, await store_of(shop), "begin_call", after=True)
    told = await shop.turn(WISH)
    assert told.outcome == "failed"
    assert not await look_after(shop, office, clock)
    assert not office.done
    [call] = await (await store_of(shop)).executions("shop", "default")
    assert call.state == "failed"


async def test_whoever_took_a_call_over_says_how_it_ended(shop, office, clock, monkeypatch):
    store = await store_of(shop)
    real = store.finish_call

    async def finish(ended):
        """Somebody else was quicker, and with them it worked."""
        assert await real(replace(ended, state="succeeded", result="annotated"))
        return await real(ended)

    monkeypatch.setattr(store, "finish_call", finish)
    told = await shop.turn(WISH)
    assert told.outcome == "acted"
    assert "refused" not in told.reply


async def test_a_failure_that_was_stored_is_an_answer(shop, monkeypatch):
    store = await store_of(shop)
    with monkeypatch.context() as away:
        fail(away, store, "begin_call")
        told = await shop.turn(WISH, key="k")
    assert ReasonCode.STORE_FAILED in told.reason_codes
    again = await shop.turn(WISH, key="k")
    assert again.reply == told.reply
    assert not again.lost


async def leave_call_open(shop, office, monkeypatch, key):
    """The call is made, and then the database is gone."""
    store = await store_of(shop)
    office.refuses = False
    with monkeypatch.context() as away:
        fail(away, store, "finish_call")
        fail(away, store, "close_turn")
        assert (await shop.turn(WISH, key=key)).outcome == "acted"


async def test_what_an_attempt_that_was_broken_off_did_is_not_denied(shop, office, clock, monkeypatch):
    await leave_call_open(shop, office, monkeypatch, "k")
    clock.advance(seconds=600)
    async with shop.make(*["Order 12345 has been cancelled."] * 3) as later:
        told = await later.turn(WISH, key="k")
    assert "Done:" in told.reply
    assert catalogue.say("en", "claim-replaced") not in told.reply


async def test_what_has_become_known_is_told_although_the_answer_could_not_be_stored(shop, office, clock, monkeypatch):
    await leave_call_open(shop, office, monkeypatch, "k")
    clock.advance(seconds=600)
    fail(monkeypatch, await store_of(shop), "close_turn")
    told = await shop.turn("I want to talk to a person")
    assert "It went through" in told.reply


async def test_a_failure_does_not_hide_a_call_of_this_message_whose_end_nobody_knows(shop, office, clock, monkeypatch):
    await leave_call_open(shop, office, monkeypatch, "k")
    store = await store_of(shop)
    office.refuses = True
    clock.advance(seconds=600)
    ports = (await shop.open()).ports
    [unknown] = await sweep("shop", ports.tools, store, clock, RandomIds())
    assert unknown.state == "indeterminate"
    fail(monkeypatch, store, "messages")
    async with shop.make(ToolError("no model")) as later:
        told = await later.turn(WISH, key="k")
    assert catalogue.say("en", "failed-store") not in told.reply
    assert "do not know" in told.reply
