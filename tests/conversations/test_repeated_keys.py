"""A message that is sent again after its worker died: it is told what became of its call, whatever that was."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from circumspect import Agent, IdempotencyKey, tool
from circumspect.clock import RandomIds
from circumspect.errors import CallUnderWay, StoreError, ToolError
from circumspect.language import catalogue
from circumspect.models.scripted import ScriptedModel, says
from circumspect.policy.load import load
from circumspect.reasons import ReasonCode
from circumspect.steps.sweep import sweep

NOON = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)
PROCEED = '{"decision": "PROCEED", "reasoning": ""}'
CONVERSATION_FREE, CALL_FREE = 25, 80
"""Seconds after which a dead worker's conversation, and its call, may be taken over."""


class Bank:
    """What is behind the tool: keeps what it did, and never answers the first time."""

    def __init__(self, recovery):
        self.done, self.reached, self.refuses = [], asyncio.Event(), False

        @tool(effect="destructive", recovery=recovery)
        async def refund(order_id: str, key: IdempotencyKey) -> str:
            """Refund an order."""
            if self.refuses:
                raise ToolError("This key is in progress.")
            first = key not in self.done
            if first:
                self.done.append(key)
                self.reached.set()
                await asyncio.Event().wait()
            return "refunded"

        self.tools = [refund]


@pytest.fixture
def make(tmp_path, clock):
    def agent(bank, replies=()):
        model = ScriptedModel(
            [says("", tool="refund", params={"order_id": "7"}), PROCEED, *replies, "Thanks.", "Thanks."]
        )
        policy = load("version: 1\ntools:\n  refund: {effect: destructive, confirm: always}\n")
        return Agent("shop", tools=bank.tools, policy=policy, model=model, database=tmp_path / "k.db", clock=clock)

    return agent


async def die_during_the_call(shop, bank, monkeypatch, key="yes-1"):
    """The yes is sent, its call reaches the bank, and the worker is gone: nothing that it would write is written."""
    assert (await shop.turn("refund order 7")).outcome == "asked"
    store = (await shop.open()).ports.store
    sent = asyncio.create_task(shop.turn("yes", key=key))
    await bank.reached.wait()

    async def gone(*_):
        raise StoreError("the worker is dead")

    with monkeypatch.context() as dead:
        dead.setattr(store, "finish_call", gone)
        dead.setattr(store, "close_turn", gone)
        sent.cancel()
        with suppress(asyncio.CancelledError, CallUnderWay):  # nobody hears what it says
            await sent
    return store


async def test_a_repeated_yes_hears_that_its_call_is_under_way_and_then_what_became_of_it(make, clock, monkeypatch):
    bank = Bank("keyed")
    async with make(bank) as shop:
        await die_during_the_call(shop, bank, monkeypatch)
        clock.advance(seconds=CONVERSATION_FREE)
        for _ in range(2):
            with pytest.raises(CallUnderWay):
                await shop.turn("yes", key="yes-1")
        clock.advance(seconds=CALL_FREE)
        told = await shop.turn("yes", key="yes-1")
        assert told.outcome == "acted"
        assert catalogue.say("en", "nothing-to-confirm") not in told.reply
        assert len(bank.done) == 1
        assert (await shop.turn("yes", key="yes-1")).reply == told.reply


async def test_a_repeated_yes_whose_call_nobody_knows_about_is_told_so(make, clock, monkeypatch):
    bank = Bank("blind")
    async with make(bank) as shop:
        store = await die_during_the_call(shop, bank, monkeypatch)
        clock.advance(seconds=CONVERSATION_FREE + CALL_FREE)
        await sweep("shop", (await shop.open()).ports.tools, store, clock, RandomIds())
        [ended] = await store.executions("shop", "default")
        assert ended.state == "indeterminate"
        told = await shop.turn("yes", key="yes-1")
        assert told.outcome == "escalated"
        assert "do not know" in told.reply
        assert catalogue.say("en", "nothing-to-confirm") not in told.reply


async def test_a_refused_second_try_says_nothing_about_the_first(make, clock, monkeypatch):
    bank = Bank("keyed")
    async with make(bank) as shop:
        store = await die_during_the_call(shop, bank, monkeypatch)
        bank.refuses = True
        clock.advance(seconds=CONVERSATION_FREE + CALL_FREE)
        told = await shop.turn("yes", key="yes-1")
        [ended] = await store.executions("shop", "default")
        assert (ended.state, ended.reason) == ("indeterminate", ReasonCode.OUTCOME_UNKNOWN)
        assert "do not know" in told.reply


async def test_nobody_is_told_that_nothing_changed_after_something_did(make, clock, monkeypatch):
    bank = Bank("keyed")
    again = says("", tool="refund", params={"order_id": "7"}, confidence=1)
    async with make(bank, [again, '{"decision": "ESCALATE", "reasoning": ""}']) as shop:
        await die_during_the_call(shop, bank, monkeypatch)
        clock.advance(seconds=CONVERSATION_FREE + CALL_FREE)
        told = await shop.turn("what about my refund? refund order 7")
        assert "It went through" in told.reply
        assert "Nothing has been changed" not in told.reply


async def test_a_question_after_a_notice_takes_its_first_yes(make, clock, monkeypatch):
    bank = Bank("keyed")
    other = says("", tool="refund", params={"order_id": "8"})
    async with make(bank, [other, PROCEED]) as shop:
        await die_during_the_call(shop, bank, monkeypatch)
        clock.advance(seconds=CONVERSATION_FREE + CALL_FREE)
        asked = await shop.turn("refund order 8")
        assert asked.outcome == "asked"
        assert "It went through" in asked.reply
        bank.reached.clear()
        yes = asyncio.create_task(shop.turn("yes"))
        await bank.reached.wait()
        assert len(bank.done) == 2
        yes.cancel()


async def test_what_ran_is_told_although_it_could_not_be_stored(make, clock, monkeypatch):
    bank = Bank("keyed")
    bank.done = _Everything()
    async with make(bank) as shop:
        assert (await shop.turn("refund order 7")).outcome == "asked"
        store = (await shop.open()).ports.store

        async def gone(*_):
            raise StoreError("the database is away")

        monkeypatch.setattr(store, "finish_call", gone)
        monkeypatch.setattr(store, "close_turn", gone)
        told = await shop.turn("yes")
        assert told.outcome == "acted"
        assert catalogue.say("en", "failed-store") not in told.reply


class _Everything(list):
    """A bank that answers at once: it has seen every key."""

    def __contains__(self, _):
        return True
