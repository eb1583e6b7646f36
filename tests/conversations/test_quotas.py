"""A plan's quota: who reaches it is told so, nothing runs, and nobody pays for being turned away."""

import asyncio
from dataclasses import replace

import pytest
from tests.seed.looking import counting, requests, usage

from circumspect.errors import ModelUnavailable
from circumspect.models.scripted import says
from circumspect.reasons import ReasonCode
from circumspect.values import Plan


def give(chat, quota, price=0.0, mode="adaptive"):
    chat.agent.tenant = replace(chat.agent.tenant, plan=Plan("small", mode, quota=quota, message_price=price))
    return chat


async def used(chat):
    return sum(row.messages for row in await usage(chat))


@pytest.mark.parametrize(("name", "words"), [("shop", "this month"), ("shop-he", "החודש"), ("shop-ru", "месяц")])
async def test_the_message_after_the_last_is_answered_in_words_and_asks_no_model(shop, name, words):
    chat = give(shop(name, replies=[says("Hello."), says("Hello.")]), 2)
    for _ in range(2):
        assert (await chat.agent.turn("hello there", conversation="c")).outcome == "answered"
    for _ in range(3):
        turn = await chat.agent.turn("hello there", conversation="c")
        assert (turn.outcome, turn.reason_codes) == ("blocked", (ReasonCode.QUOTA_REACHED,))
    assert len(requests(chat)) == 2
    assert await used(chat) == 2, "who is turned away is not counted"
    assert words in (await chat.agent.turn({"shop": "hi", "shop-he": "שלום", "shop-ru": "привет"}[name])).reply


async def test_a_yes_beyond_the_quota_runs_nothing(shop):
    chat = give(shop(), 1)
    await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    turn = await chat.agent.turn("yes", conversation=chat.name)
    assert turn.reason_codes == (ReasonCode.QUOTA_REACHED,)
    assert await chat.executions() == []


async def test_who_asks_for_a_person_gets_one_beyond_the_quota(shop):
    turn = await give(shop(), 0).agent.turn("I want to speak to a human")
    assert (turn.outcome, turn.reason_codes[0]) == ("escalated", ReasonCode.PERSON_WANTED)


async def test_a_person_beyond_the_quota_is_neither_counted_nor_billed(shop):
    chat = give(shop(replies=[says("Hello.")]), 2, price=0.25)
    for number, words in enumerate(["I want to talk to a person", "hello there", *["I want to speak to a human"] * 3]):
        turn = await chat.agent.turn(words, conversation=f"c{number}")
        assert turn.outcome == ("answered" if words == "hello there" else "escalated")
        assert (ReasonCode.QUOTA_REACHED in turn.reason_codes) == (number >= 2)
    rows = await usage(chat)
    assert (sum(row.messages for row in rows), sum(row.escalations for row in rows)) == (2, 4)
    assert sum(row.billed for row in rows) == pytest.approx(0.5)


async def test_clients_at_once_go_beyond_it_by_no_more_than_run_at_once(shop):
    at_once, quota = 4, 3
    chat = give(shop(replies=lambda _: says("Hello.")), quota)
    for _ in range(3):
        await asyncio.gather(*(chat.agent.turn("hello there", conversation=f"c{n}") for n in range(at_once)))
    assert quota <= await used(chat) <= quota + at_once - 1


async def test_a_new_month_begins_at_nothing(shop, clock):
    chat = give(shop(replies=[says("Hello."), says("Hello.")]), 1)
    assert (await chat.agent.turn("hello there")).outcome == "answered"
    assert (await chat.agent.turn("hello there")).outcome == "blocked"
    clock.advance(days=31)
    assert (await chat.agent.turn("hello there")).outcome == "answered"


async def test_a_message_has_its_price_beside_the_models_and_a_failure_has_none(shop):
    def reply(request):
        if "fail" in str(request.messages[-1]):
            raise ModelUnavailable("The model is gone.")
        return counting(says("Hello."), 10, 10, 0.5)

    chat = give(shop(replies=reply), 2, price=0.25)
    assert (await chat.agent.turn("hello there")).outcome == "answered"
    assert (await chat.agent.turn("please fail")).outcome == "failed"
    assert (await chat.agent.turn("hello there")).outcome == "blocked"
    assert sum(row.billed for row in await usage(chat)) == pytest.approx(0.75)
