"""Whole turns over HTTP: the spine on one side, a server that speaks the provider's own protocol on the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.models.conftest import Open
from tests.models.provider_server import ProviderServer, Silent, Status
from tests.models.wire_formats import Answer, Call

from circumspect import Agent, tool
from circumspect.journal import ModelCallEvent, find_events
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


async def test_a_form_that_cannot_be_read_leaves_a_guided_turn_without_an_analysis(
    server: ProviderServer, opened: Open, tmp_path: Path
) -> None:
    server.plays(Answer("no idea"), Answer("no idea"), Answer(says("It costs 5 a month.")))
    async with agent(opened("openai"), tmp_path, understanding="guided") as one:
        turn = await one.turn("What does your service cost a month?")
    assert (turn.outcome, turn.reply) == ("answered", "It costs 5 a month.")
    assert ReasonCode.ANALYSIS_UNREADABLE in turn.reason_codes
    assert len(server.requests) == 3


ANALYSED = {
    "spam_score": 0, "spam_reason": "", "user_intent": "To know the price.", "topic": "price", "category": "question",
    "context": "", "subqueries": ["price"], "action_plan": [], "intent_confidence": 0.9, "uncertainties": [],
    "action": "normal", "clarification_question": "", "decision": "REASON_ONLY", "decision_reason": "Small.",
    "decision_confidence": 0.9, "tools_needed": [], "retrieval_needed": False,
}  # fmt: skip
UNTIDY = {
    "a long reason": json.dumps(ANALYSED | {"decision_reason": "because " * 40, "spam_reason": "none " * 60}),
    "no topic": json.dumps({key: value for key, value in ANALYSED.items() if key != "topic"}),
    "nothing where it may be": json.dumps(ANALYSED | {"clarification_question": None, "context": None}),
    "seven": json.dumps(ANALYSED | {"intent_confidence": 7, "decision_confidence": 7}),
    "ninety-five": json.dumps(ANALYSED | {"intent_confidence": 95, "decision_confidence": "95"}),
    "high": json.dumps(ANALYSED | {"intent_confidence": "high", "decision_confidence": "high"}),
    "a key too many": json.dumps(ANALYSED | {"thoughts": "The user is polite."}),
    "camel case": json.dumps({key.title().replace("_", ""): value for key, value in ANALYSED.items()}),
    "words before it": f"Sure! Here is the JSON:\n\n```json\n{json.dumps(ANALYSED, indent=2)}\n```",
    "labelled lines": "DECISION: REASON_ONLY\nCONFIDENCE: 0.9\nREASONING: Small.\nUSER INTENT: To know the price.",
    "the decision alone": '{"decision": "REASON_ONLY", "user_intent": "To know the price.", "confidence": 0.9}',
}


@pytest.mark.parametrize("form", UNTIDY.values(), ids=UNTIDY)
@pytest.mark.parametrize("understanding", ["guided", "service"])
async def test_an_untidy_form_is_read_at_once_and_what_was_mended_is_in_the_journal(
    server: ProviderServer, opened: Open, tmp_path: Path, form: str, understanding: str
) -> None:
    server.plays(Answer(form), Answer(says("Thank you for asking.")))
    async with agent(opened("openai"), tmp_path, understanding=understanding) as one:
        turn = await one.turn("I would like to hear what you think of blue.")
    assert turn.outcome == "answered"
    assert not {ReasonCode.INVALID_DECISION, ReasonCode.ANALYSIS_UNREADABLE} & set(turn.reason_codes)
    assert len(server.requests) == 2
    mended = [event.mendings for event in find_events(turn.entries, ModelCallEvent) if event.purpose == "analyse"]
    assert all(mended)
    assert mended


@pytest.mark.parametrize("opinion", ["I would rather not say.", '{"decision": "PROCEED", "reasoning": "if the'])
async def test_an_opinion_that_cannot_be_read_costs_one_more_call(
    server: ProviderServer, opened: Open, tmp_path: Path, opinion: str
) -> None:
    server.plays(Answer(says("Shall I?", tool="cancel_order", params={"order_id": "12345"})), *[Answer(opinion)] * 4)
    async with agent(opened("openai"), tmp_path) as one:
        turn = await one.turn("cancel order 12345")
    assert turn.outcome == "escalated"
    assert len(server.requests) == 3


async def test_an_opinion_in_lower_case_is_one(server: ProviderServer, opened: Open, tmp_path: Path) -> None:
    server.plays(
        Answer(says("Shall I?", tool="cancel_order", params={"order_id": "12345"})), Answer('{"decision": "proceed"}')
    )
    async with agent(opened("openai"), tmp_path) as one:
        turn = await one.turn("cancel order 12345")
    assert turn.outcome == "asked"
    assert len(server.requests) == 2


async def test_a_native_call_without_a_block_is_ruled_on_and_the_user_is_asked(
    server: ProviderServer, opened: Open, provider: str, tmp_path: Path
) -> None:
    call = Call("cancel_order", '{"order_id": "12345"}')
    server.plays(Answer("I will.", calls=(call,)), Answer('{"decision": "PROCEED"}'))
    async with agent(opened(provider), tmp_path) as one:
        turn = await one.turn("cancel order 12345")
    assert (turn.outcome, turn.pending.call.arguments) == ("asked", {"order_id": "12345"})
    assert ReasonCode.ASSESSMENT_MISSING in turn.reason_codes


async def test_two_native_calls_are_ruled_on_one_by_one(
    server: ProviderServer, opened: Open, provider: str, tmp_path: Path
) -> None:
    calls = tuple(Call("get_order_status", json.dumps({"order_id": one}), f"call_{one}") for one in ("12345", "12346"))
    server.plays(Answer("", calls=calls), *[Answer('{"decision": "PROCEED"}')] * 2, Answer(says("Both are shipped.")))
    async with agent(opened(provider), tmp_path) as one:
        turn = await one.turn("where are orders 12345 and 12346?")
        ran = await (await one.open()).ports.store.executions(one.tenant.id, turn.conversation)
    assert (turn.outcome, turn.reply) == ("answered", "Both are shipped.")
    assert [one.call.arguments["order_id"] for one in ran] == ["12345", "12346"]


@pytest.mark.parametrize("mode", ["standard", "adaptive"])
async def test_a_call_in_tags_is_no_word_for_the_user(
    server: ProviderServer, opened: Open, tmp_path: Path, mode: str
) -> None:
    text = '<tool_call>{"name": "cancel_order", "arguments": {"order_id": 12345}}</tool_call>'
    server.plays(Answer(text), Answer('{"decision": "PROCEED"}'))
    async with agent(opened("openai"), tmp_path, mode=mode) as one:
        turn = await one.turn("cancel order 12345")
    assert (turn.outcome, turn.pending.call.arguments) == ("asked", {"order_id": "12345"})
    assert "tool_call" not in turn.reply


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
