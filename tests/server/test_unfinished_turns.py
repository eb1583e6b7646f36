"""A turn whose worker died is ended by the server, with what is known, when nobody sends it again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.stores.conftest import postgres, sqlite_template, url  # noqa: F401

from circumspect import IdempotencyKey, tool
from circumspect.clock import FixedClock
from circumspect.language import catalogue
from circumspect.pipeline import run_turn
from circumspect.reasons import ReasonCode
from circumspect.server.apply_tenant import apply_file
from circumspect.server.background import finish_turns
from circumspect.server.config import Settings
from circumspect.server.services import Services, open_services
from circumspect.server.stores import privacy
from circumspect.server.sweeping import Sweeper
from circumspect.stores import people
from circumspect.values import (
    Abandoned,
    ConversationId,
    Execution,
    ExecutionId,
    Incoming,
    Message,
    Recovery,
    TenantId,
    ToolCall,
    TurnId,
    TurnResult,
)

SHOP, TALK, DIED = TenantId("shop"), ConversationId("c1"), TurnId("turn_died")
CONVERSATION_FREE, CALL_FREE, SENDER_GONE = 25, 80, 125
"""Seconds after which a dead worker's conversation and its call may be taken over, and nobody is waited for."""
CALLS: list[str] = []
TENANT = """
version: 1
id: shop
business: {name: Shop}
tools: [{python: "tests.server.test_unfinished_turns:book"}]
"""


@tool(effect="write", recovery="keyed")
async def book(slot: str, key: IdempotencyKey) -> str:
    """Book a slot."""
    CALLS.append(key)
    return "booked"


@pytest.fixture
async def services(tmp_path: Path, url: str, clock: FixedClock) -> AsyncIterator[Services]:  # noqa: F811
    CALLS.clear()
    (tmp_path / "shop.yaml").write_text(TENANT)
    settings = Settings(database=url, secret_key="a secret key for tests only which is long enough")
    async with open_services(settings, clock=clock) as opened:
        await apply_file(tmp_path / "shop.yaml", opened.store, settings, clock=clock)
        yield opened


def message(services: Services, words: str, **more: Any) -> Incoming:
    turn = TurnId(services.ids.new("turn"))
    return Incoming(SHOP, TALK, turn, words, services.clock.now(), **more)


async def die(services: Services, words: str = "book slot 9", call: Recovery | None = None) -> Incoming:
    """A worker takes a message, perhaps begins a call, and is never heard of again."""
    incoming = replace(message(services, words, key="k1"), turn=DIED)
    await services.store.open_turn(incoming, mode="adaptive", history=5, token="dead", lease_seconds=20)
    if call:
        now = services.clock.now()
        begun = Execution(
            ExecutionId("exec_1"), SHOP, TALK, DIED, ToolCall("book", {"slot": "9"}), "write", call, "started", "tok",
            now + timedelta(seconds=75), now,
        )  # fmt: skip
        assert await services.store.begin_call(begun, "dead")
    return incoming


async def send(services: Services, incoming: Incoming) -> TurnResult:
    return await services.turns.take(incoming, await services.directory.setup(SHOP))


async def sweep_all(services: Services) -> int:
    async with Sweeper(services) as sweeper:
        return sum(await asyncio.gather(*await sweeper.start_due()))


async def visible(services: Services) -> list[Message]:
    return list(await services.store.messages(SHOP, TALK))


@pytest.mark.parametrize(("call", "outcome"), [("keyed", "acted"), ("blind", "escalated")])
async def test_it_ends_with_what_became_of_its_call(
    services: Services, clock: FixedClock, call: Recovery, outcome: str
) -> None:
    sent = await die(services, call=call)
    clock.advance(seconds=CONVERSATION_FREE)
    assert await finish_turns(services) == 0, "the call may still be running"
    clock.advance(seconds=CALL_FREE)
    assert await finish_turns(services) == 0, "nobody has settled the call yet"
    assert await sweep_all(services) == 1
    assert await finish_turns(services) == 1

    key = "done" if outcome == "acted" else "outcome-unknown"
    told = catalogue.say("en", key, action="book (slot: 9)")
    assert [(one.role, one.content) for one in await visible(services)] == [
        ("user", "book slot 9"),
        ("assistant", told),
    ]
    again = await send(services, replace(sent, turn=TurnId("turn_again"), at=clock.now()))
    assert (again.turn, again.outcome, again.reply) == (DIED, outcome, told)
    assert len(CALLS) == (1 if call == "keyed" else 0)
    assert await finish_turns(services) == 0
    following = await send(services, message(services, "thank you"))
    assert "interrupted" not in following.reply, "that was told before"


async def test_a_turn_that_changed_nothing_is_left_to_its_sender_first(services: Services, clock: FixedClock) -> None:
    sent = await die(services, "hello")
    clock.advance(seconds=CONVERSATION_FREE)
    assert await finish_turns(services) == 0
    again = await send(services, replace(sent, turn=TurnId("turn_again"), at=clock.now()))
    assert again.outcome == "answered"
    clock.advance(seconds=SENDER_GONE)
    assert await finish_turns(services) == 0


async def test_a_turn_that_changed_nothing_and_that_nobody_sends_again_says_so(
    services: Services, clock: FixedClock
) -> None:
    sent = await die(services, "שלום, מה שעות הפתיחה?")
    clock.advance(seconds=SENDER_GONE)
    ended = await asyncio.gather(finish_turns(services), finish_turns(services))
    assert max(ended) == 1
    told = catalogue.say("he", "failed-internal")
    assert [one.content for one in await visible(services) if one.role == "assistant"] == [told]
    again = await send(services, replace(sent, turn=TurnId("turn_again"), at=clock.now()))
    assert (again.outcome, again.reply) == ("failed", told)
    assert ReasonCode.TURN_INTERRUPTED in again.reason_codes


async def test_one_that_was_overtaken_is_ended_without_another_word(services: Services, clock: FixedClock) -> None:
    """A question that was asked since is still the last thing that was said, and the next reply has the news."""
    sent = await die(services, call="keyed")
    clock.advance(seconds=CONVERSATION_FREE)
    await send(services, message(services, "hello?"))
    before = await visible(services)
    clock.advance(seconds=CALL_FREE)
    await sweep_all(services)
    assert await finish_turns(services) == 1
    assert await visible(services) == before
    again = await send(services, replace(sent, turn=TurnId("turn_again"), at=clock.now()))
    assert again.reply == catalogue.say("en", "done", action="book (slot: 9)")
    following = await send(services, message(services, "and now?"))
    assert catalogue.say("en", "state-succeeded") in following.reply


async def test_a_conversation_that_was_deleted_meanwhile_is_not_made_again(
    services: Services, clock: FixedClock
) -> None:
    await die(services, "hello")
    clock.advance(seconds=SENDER_GONE)
    await services.store.tx(privacy.forget, SHOP, TALK)
    setup = await services.directory.setup(SHOP)
    late = Incoming(SHOP, TALK, DIED, "", clock.now(), errand=Abandoned(), again=True)
    assert (await run_turn(late, setup)).outcome == "failed"
    assert await services.store.tx(people.list_conversations, (SHOP,), None, 10) == []
