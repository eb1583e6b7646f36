"""Whole turns over HTTP: the spine on one side, a server that speaks the provider's own protocol on the other."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.models.conftest import Open
from tests.models.provider_server import ProviderServer, Silent, Status
from tests.models.wire_formats import Answer

from circumspect import Agent, tool
from circumspect.models.scripted import says
from circumspect.reasons import ReasonCode


@tool(effect="destructive", phrases={"en": "cancel order {order_id}"})
async def cancel_order(order_id: str) -> str:
    """Cancel an order."""
    return f"order {order_id} is cancelled"


@tool(effect="read")
async def get_order_status(order_id: str) -> str:
    """Where an order is."""
    return "shipped"


def agent(model: object, tmp_path: Path, **options: object) -> Agent:
    return Agent(
        "t", tools=[cancel_order, get_order_status], model=model, database=f"sqlite:///{tmp_path}/c.db", **options
    )  # type: ignore[arg-type]


async def test_cancelling_an_order_takes_a_draft_a_critique_a_yes_and_a_phrase(
    server: ProviderServer, opened: Open, provider: str, tmp_path: Path
) -> None:
    server.plays(
        Answer(says("Shall I?", tool="cancel_order", params={"order_id": "12345"})),
        Answer('{"decision": "PROCEED", "reasoning": "asked for", "message": ""}'),
        Answer("Order 12345 is cancelled."),
    )
    async with agent(opened(provider), tmp_path) as one:
        asked = await one.turn("cancel order 12345")
        done = await one.turn("yes")
    assert (asked.outcome, done.outcome) == ("asked", "acted")
    assert done.reply == "Order 12345 is cancelled."
    assert len(server.requests) == 3
    assert asked.usage.input_tokens > 0


async def test_a_lookup_is_sent_back_to_the_provider_as_it_wants_it(
    server: ProviderServer, opened: Open, provider: str, tmp_path: Path
) -> None:
    server.plays(
        Answer(says("", tool="get_order_status", params={"order_id": "12345"})),
        Answer(says("It is on its way.")),
    )
    async with agent(opened(provider), tmp_path) as one:
        turn = await one.turn("where is order 12345?")
    assert (turn.outcome, turn.reply) == ("answered", "It is on its way.")


async def test_a_provider_that_fails_leaves_an_apology_and_nothing_done(
    server: ProviderServer, opened: Open, provider: str, tmp_path: Path
) -> None:
    server.plays(*[Status(500)] * 6)
    async with agent(opened(provider), tmp_path) as one:
        turn = await one.turn("cancel order 12345")
        store = (await one.open()).ports.store
        assert await store.executions(one.tenant.id, turn.conversation) == []
    assert turn.outcome == "failed"
    assert ReasonCode.MODEL_FAILED in turn.reason_codes
    assert "sorry" in turn.reply


async def test_a_provider_that_never_answers_ends_in_time(
    server: ProviderServer, opened: Open, provider: str, tmp_path: Path
) -> None:
    server.plays(*[Silent()] * 4)
    async with agent(opened(provider, timeout=0.3), tmp_path) as one:
        turn = await one.turn("hello")
    assert turn.outcome == "failed"


@pytest.mark.parametrize("form", ["no idea", '{"user_intent": "To know the price.", "intent_confidence": 8}'])
async def test_a_form_that_does_not_fit_leaves_a_guided_turn_without_an_analysis(
    server: ProviderServer, opened: Open, tmp_path: Path, form: str
) -> None:
    server.plays(Answer(form), Answer(form), Answer(says("It costs 5 a month.")))
    async with agent(opened("openai"), tmp_path, understanding="guided") as one:
        turn = await one.turn("What does your service cost a month?")
    assert (turn.outcome, turn.reply) == ("answered", "It costs 5 a month.")
    assert ReasonCode.ANALYSIS_UNREADABLE in turn.reason_codes
    assert len(server.requests) == 3


async def test_a_reply_that_was_cut_off_says_so_in_the_journal(
    server: ProviderServer, opened: Open, tmp_path: Path
) -> None:
    server.plays(Answer("Our opening hours are these: on Monday from nine to", finish="length"))
    async with agent(opened("openai"), tmp_path) as one:
        turn = await one.turn("When are you open?")
    assert turn.outcome == "answered"
    assert any("cut off" in entry.content for entry in turn.entries)


async def test_a_reply_that_the_provider_kept_back_is_a_failure_and_no_question(
    server: ProviderServer, opened: Open, provider: str, tmp_path: Path
) -> None:
    server.plays(Answer("", finish="filtered"))
    async with agent(opened(provider), tmp_path) as one:
        turn = await one.turn("When are you open?")
    assert turn.outcome == "failed"
    assert ReasonCode.MODEL_FAILED in turn.reason_codes
