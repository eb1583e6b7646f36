"""A rule in Python, for what a policy file cannot say. Rules are pure, and adding one can only make a verdict stricter.

`Facts` is everything a rule may look at. Its docstring is the sentence an operator reads.
"""

import asyncio
from datetime import UTC, datetime

from circumspect import Agent, ReasonCode, rule, tool
from circumspect.clock import FixedClock
from circumspect.models import ScriptedModel, says
from circumspect.policy.facts import Facts
from circumspect.values import Allow, Deny, Escalate, Verdict


@tool(effect="write", phrases={"en": "pay {amount} to {account}"})
def pay(account: str, amount: float) -> str:
    """Pay a supplier."""
    return f"{amount:.2f} is on its way to {account}."


@rule(ReasonCode.PRECONDITION_FAILED)
def money_moves_in_office_hours(facts: Facts) -> Verdict:
    """Payments are made on working days between 9:00 and 17:00 UTC."""
    if facts.call.tool != "pay" or (facts.now.weekday() < 5 and 9 <= facts.now.hour < 17):
        return Allow()
    return Deny("Payments are made on working days between 9:00 and 17:00 UTC. Offer to do it then.")


@rule(ReasonCode.LIMIT_REACHED)
def large_sums_go_to_a_person(facts: Facts) -> Verdict:
    """Nothing above 1,000 is paid by the agent alone."""
    amount = facts.call.arguments.get("amount")
    return Escalate() if isinstance(amount, float | int) and amount > 1000 else Allow()


def paying(amount: float, after_a_no: str = "") -> ScriptedModel:
    """A model that proposes one payment, and finds words for what comes of it."""
    proposal = says("", tool="pay", params={"account": "ACME-77", "amount": amount})
    second_opinion = '{"decision": "PROCEED", "reasoning": "The user asked for exactly this.", "message": ""}'
    return ScriptedModel([proposal, says(after_a_no)] if after_a_no else [proposal, second_opinion, says("Paid.")])


async def main() -> None:
    tuesday, sunday = (datetime(2026, 3, day, 12, 0, tzinfo=UTC) for day in (31, 29))
    for moment, amount, model in (
        (tuesday, 80.0, paying(80.0)),
        (tuesday, 5000.0, paying(5000.0)),
        (sunday, 80.0, paying(80.0, after_a_no="I can do that tomorrow from nine o'clock.")),
    ):
        async with Agent(
            "office",
            tools=[pay],
            rules=[money_moves_in_office_hours, large_sums_go_to_a_person],
            model=model,
            database=":memory:",
            clock=FixedClock(moment),
        ) as agent:
            turn = await agent.turn(f"Pay {amount:g} to ACME-77")
            print(f"{moment:%A}, {amount:g}: {turn.outcome} ({', '.join(turn.reason_codes)}) {turn.reply}")


if __name__ == "__main__":
    asyncio.run(main())
