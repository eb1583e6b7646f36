"""What a turn came to and could not be stored is no answer: the message has to be sent again, and is then answered."""

import asyncio

import pytest

from circumspect import Agent, tool
from circumspect.errors import ModelUnavailable, StoreError
from circumspect.models.scripted import ScriptedModel, calls
from circumspect.policy.load import load

WISH = "cancel order 12345"
CANCEL = calls("cancel_order", {"order_id": "12345"})


@tool(effect="destructive")
def cancel_order(order_id: str) -> str:
    """Cancel an order."""
    return "cancelled"


async def open_shop(tmp_path, confirm, *replies):
    policy = load(f"version: 1\ntools:\n  cancel_order: {{effect: destructive, confirm: {confirm}}}\n")
    model = ScriptedModel(replies or [CANCEL, CANCEL])
    agent = Agent("shop", tools=[cancel_order], policy=policy, model=model, database=tmp_path / "l.db", mode="standard")
    return agent, (await agent.open()).ports.store


def break_store(monkeypatch, store, *names):
    async def gone(*args, **named):
        raise StoreError("The database is away.")

    for name in names:
        monkeypatch.setattr(store, name, gone)


async def send_again(agent, store):
    """At once: the lost turn let its conversation go, and nobody waits until its lease has run out."""
    lease = "SELECT lease_token FROM conversations"
    assert await store.tx(lambda connection: connection.exec_driver_sql(lease).scalar_one()) is None
    return await agent.turn(WISH, key="k")


@pytest.mark.parametrize(("confirm", "outcome"), [("always", "asked"), ("four_eyes", "escalated")])
async def test_a_question_that_is_not_stored_is_not_asked(tmp_path, monkeypatch, confirm, outcome):
    agent, store = await open_shop(tmp_path, confirm)
    async with agent:
        with monkeypatch.context() as away:
            break_store(away, store, "close_turn")
            told = await agent.turn(WISH, key="k")
        assert (told.outcome, told.pending, told.lost) == ("failed", None, True)
        again = await send_again(agent, store)
    assert (again.outcome, again.lost) == (outcome, False)


async def test_a_failure_that_is_not_stored_is_no_answer(tmp_path, monkeypatch):
    agent, store = await open_shop(tmp_path, "always", ModelUnavailable("It is away."), CANCEL)
    async with agent:
        with monkeypatch.context() as away:
            break_store(away, store, "close_turn")
            told = await agent.turn(WISH, key="k")
        assert (told.outcome, told.lost) == ("failed", True)
        again = await send_again(agent, store)
    assert (again.outcome, again.lost) == ("asked", False)


async def test_a_store_that_does_not_answer_keeps_nobody_waiting(tmp_path, monkeypatch):
    monkeypatch.setattr("circumspect.steps.record.LET_GO_SECONDS", 0.01)

    async def hang(*args):
        await asyncio.Event().wait()

    agent, store = await open_shop(tmp_path, "always")
    async with agent:
        break_store(monkeypatch, store, "close_turn")
        monkeypatch.setattr(store, "give_back", hang)
        told = await agent.turn(WISH, key="k")
    assert told.lost


async def test_a_failure_that_is_stored_is_one(tmp_path):
    agent, _ = await open_shop(tmp_path, "always", ModelUnavailable("It is away."), CANCEL)
    async with agent:
        told = await agent.turn(WISH, key="k")
        assert (told.outcome, told.lost) == ("failed", False)
        again = await agent.turn(WISH, key="k")
    assert (again.reply, again.lost) == (told.reply, False)
