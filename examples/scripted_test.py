"""How to test your own agent: the model's part is written down, everything else is real.

    pytest examples/scripted_test.py      # or run it: python examples/scripted_test.py

`ScriptedModel` plays replies in order and fails when it is asked more often than that; `says` writes a reply with its
self-assessment. Your tools, the policy, the database and the clock are the ones you ship.
"""

import asyncio
from datetime import UTC, datetime

from circumspect import Agent, ReasonCode, tool
from circumspect.clock import FixedClock
from circumspect.models import ScriptedModel, says

PROCEED = '{"decision": "PROCEED", "reasoning": "The user asked for it.", "message": ""}'
refunds: list[tuple[str, float]] = []


@tool(effect="destructive", phrases={"en": "refund {amount} for order {order_id}"})
def refund(order_id: str, amount: float) -> str:
    """Pay money back."""
    refunds.append((order_id, amount))
    return f"{amount:.2f} paid back."


def an_agent(*replies: str) -> tuple[Agent, FixedClock]:
    clock = FixedClock(datetime(2026, 3, 31, 12, 0, tzinfo=UTC))
    return Agent("shop", tools=[refund], model=ScriptedModel(replies), database=":memory:", clock=clock), clock


async def refund_waits_for_a_yes() -> None:
    refunds.clear()
    wish = says("", tool="refund", params={"order_id": "A-17", "amount": 20.0})
    agent, _ = an_agent(wish, PROCEED, "Your money is on its way.")
    async with agent:
        asked = await agent.turn("Refund 20 for order A-17, please")
        assert asked.outcome == "asked"
        assert asked.pending is not None
        assert asked.pending.call.arguments == {"order_id": "A-17", "amount": 20.0}
        assert refunds == []

        done = await agent.turn("Yes")
        assert done.outcome == "acted"
        assert refunds == [("A-17", 20.0)]


async def a_late_yes_asks_again() -> None:
    refunds.clear()
    agent, clock = an_agent(says("", tool="refund", params={"order_id": "A-17", "amount": 20.0}), PROCEED)
    async with agent:
        await agent.turn("Refund 20 for order A-17, please")
        clock.advance(minutes=6)
        late = await agent.turn("Yes")
        assert ReasonCode.PENDING_INTENT_EXPIRED in late.reason_codes
        assert refunds == []


async def a_made_up_amount_is_asked_about() -> None:
    refunds.clear()
    agent, _ = an_agent(says("", tool="refund", params={"order_id": "Z-99", "amount": 20.0}))
    async with agent:
        asked = await agent.turn("I want my 20 back")
        assert ReasonCode.UNGROUNDED_PARAM in asked.reason_codes, asked.reason_codes
        assert refunds == []


def test_a_refund_waits_for_a_yes_and_then_runs_once() -> None:
    asyncio.run(refund_waits_for_a_yes())


def test_a_yes_after_six_minutes_asks_again() -> None:
    asyncio.run(a_late_yes_asks_again())


def test_an_order_number_that_nobody_gave_is_asked_about() -> None:
    asyncio.run(a_made_up_amount_is_asked_about())


if __name__ == "__main__":
    test_a_refund_waits_for_a_yes_and_then_runs_once()
    test_a_yes_after_six_minutes_asks_again()
    test_an_order_number_that_nobody_gave_is_asked_about()
    print("3 conversations went as they should.")
