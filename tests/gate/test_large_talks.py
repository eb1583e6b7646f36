"""However long a conversation and however many values a call: nobody else waits for its ruling."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.loop_time import measure_loop

from circumspect import Gate
from circumspect.clock import SystemClock
from circumspect.gating.book import Decide, Decided, MemoryBook, Reach, Standing
from circumspect.policy.grounding.statements import read_statements
from circumspect.reasons import ReasonCode
from circumspect.values import Incoming, ToolSpec

LIMIT = 0.25
TOOLS = {"cancel_order": ToolSpec("cancel_order", effect="destructive")}
WORDS = "cancel order refund please my the and not yes no 12345 €12.50 tomorrow 2026-11-18 monday blue shirt size "
SAID = WORDS * 4_000


class TimedBook(MemoryBook):
    """Knows how long decisions took in which nobody else could write."""

    def __init__(self) -> None:
        super().__init__(SystemClock())
        self.longest = 0.0

    async def enter(
        self, incoming: Incoming, call_hash: str, decide: Decide, reach: Reach | None, *, tail: bool
    ) -> None:
        def timed(standing: Standing) -> Decided:
            begun = time.thread_time()
            decided = decide(standing)
            self.longest = max(self.longest, time.thread_time() - begun)
            return decided

        await super().enter(incoming, call_hash, timed, reach, tail=tail)


def open_gate() -> tuple[Gate, TimedBook]:
    gate, book = Gate(tools=TOOLS), TimedBook()
    gate._book = book
    return gate, book


def user(content: str) -> dict[str, Any]:
    return {"role": "user", "content": content}


async def test_a_long_talk_is_read_before_the_transaction_and_not_in_it() -> None:
    gate, book = open_gate()
    await gate.rule({"tool": "cancel_order", "arguments": {"order_id": "1"}}, messages=[user("cancel order 1")])
    book.longest = 0.0  # patterns are compiled once
    call = {"tool": "cancel_order", "arguments": {"order_id": "12345"}}
    ruling = await gate.rule(call, messages=[user(SAID)], conversation="long")
    assert ruling.verdict == "ask"
    assert ruling.ask_user
    assert book.longest < LIMIT / 2


def test_nor_does_reading_it_keep_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, _ = open_gate()
    call = {"tool": "cancel_order", "arguments": {"order_id": "12345"}}
    found = measure_loop(lambda: gate.rule(call, messages=[user(SAID)], conversation="long"), monkeypatch)
    assert found.longest < LIMIT / 2


async def test_more_values_than_anybody_traces_go_back_to_the_model() -> None:
    gate, book = open_gate()
    many = {"tool": "cancel_order", "arguments": {"order_id": [str(n) for n in range(5_001)]}}
    ruling = await gate.rule(many, messages=[user("cancel order 1")])
    assert ruling.verdict == "redo"
    assert ReasonCode.INVALID_PARAM in ruling.reason_codes
    assert "more than 5,000 parts" in ruling.tell_model
    long = {"tool": "cancel_order", "arguments": {"order_id": "x" * 600_000}}
    assert (await gate.rule(long, messages=[user("cancel order 1")])).verdict == "redo"
    assert book.longest == 0


async def test_many_values_are_not_looked_for_in_a_long_talk() -> None:
    gate, book = open_gate()
    call = {"tool": "cancel_order", "arguments": {"order_id": [f"no. {n} of them" for n in range(4_000)]}}
    ruling = await gate.rule(call, messages=[user(SAID)])
    assert ruling.verdict == "redo"
    assert "for so long a conversation" in ruling.tell_model
    told = [{"role": "assistant", "tool_calls": [{"id": "t", "function": {"name": "look", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "t", "content": SAID}]  # fmt: skip
    ruling = await gate.rule(call, messages=[user("cancel them"), *told], conversation="results count as well")
    assert "for so long a conversation" in ruling.tell_model
    assert book.longest == 0
    short = await gate.rule(call, messages=[user("cancel them")], conversation="short")
    assert "for so long a conversation" not in short.tell_model


def test_a_reply_without_a_full_stop_costs_what_its_length_says() -> None:
    """It grew with the square of it: 6 seconds for a hundred thousand letters."""
    read_statements("Order 1 is cancelled.", "en")
    reply, begun = "size the 2026-11-18 my order and not 12345, " * 2_300, time.thread_time()
    assert read_statements(reply, "en")
    assert time.thread_time() - begun < 2.0
