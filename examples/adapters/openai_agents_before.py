"""An agent of the OpenAI Agents SDK as it is: a shipped order is cancelled, because the model said so."""

import asyncio

from agents import Agent, RunConfig, Runner, function_tool
from scripted import SHIPPED, agents_model
from shop import Shop


async def main() -> None:
    shop = Shop()
    tools = [function_tool(shop.get_order), function_tool(shop.cancel_order)]
    agent = Agent("shop", model=agents_model(SHIPPED), tools=tools)
    run = await Runner.run(agent, "Cancel order 1002", run_config=RunConfig(tracing_disabled=True))
    print(f"agent: {run.final_output}\nthe shop: {shop.done}")


asyncio.run(main())
