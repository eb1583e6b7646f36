"""An agent of Pydantic AI as it is: a shipped order is cancelled, because the model said so."""

import asyncio

from pydantic_ai import Agent
from scripted import SHIPPED, pydantic_model
from shop import Shop


async def main() -> None:
    shop = Shop()
    agent = Agent(pydantic_model(SHIPPED), tools=[shop.get_order, shop.cancel_order])
    run = await agent.run("Cancel order 1002")
    print(f"agent: {run.output}\nthe shop: {shop.done}")


asyncio.run(main())
