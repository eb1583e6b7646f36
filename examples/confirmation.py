"""A cancellation in three turns, with the wrong kinds of yes in between: the number is asked for, then a yes to exactly
that call, then it runs, once.

The demo shop has a back end of its own (SQLite, here in memory), so what the agent says can be looked up afterwards.
"""

import asyncio
from datetime import UTC, datetime

from circumspect import Agent
from circumspect.clock import FixedClock
from circumspect.demo import samples
from circumspect.values import ConversationId


async def main() -> None:
    clock = FixedClock(datetime(2026, 3, 31, 12, 0, tzinfo=UTC))
    shop = samples.load("shop", directory=None, now=clock.now())
    async with Agent(
        shop.tenant, tools=shop.tools, policy=shop.policy_path, model="offline", database=":memory:", clock=clock
    ) as agent:

        async def say(text: str) -> None:
            turn = await agent.turn(text, conversation="c1")
            print(f"user:  {text}\nagent: {turn.reply}")
            if turn.pending:
                bound, until = turn.pending.hash[:12], f"{turn.pending.expires_at:%H:%M}"
                print(f"       (a yes is bound to {turn.pending.call.tool}, hash {bound}…, until {until})")

        await say("Cancel my order")
        await say("Order 12345")
        clock.advance(minutes=6)
        await say("Yes")  # too late: it asks again
        await say("Yes, cancel it")
        await say("Yes")  # that yes was used up: nothing runs a second time

        store = (await agent.open()).ports.store
        ran = [one for one in await store.executions(agent.tenant.id, ConversationId("c1")) if one.effect != "read"]
        print(f"The ledger says: {ran[0].call.tool} ran {len(ran)} time(s), {ran[0].state}.")
    print(f"The shop's own database says: order 12345 is {shop.backend.order('12345').status}.")


if __name__ == "__main__":
    asyncio.run(main())
