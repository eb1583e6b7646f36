"""A LangChain agent as it is: a shipped order is cancelled, because the model said so."""

import asyncio

from langchain.agents import create_agent
from scripted import SHIPPED, langchain_model
from shop import Shop


async def main() -> None:
    shop = Shop()
    agent = create_agent(langchain_model(SHIPPED), [shop.get_order, shop.cancel_order])
    state = await agent.ainvoke({"messages": [{"role": "user", "content": "Cancel order 1002"}]})
    print(f"agent: {state['messages'][-1].content}\nthe shop: {shop.done}")


asyncio.run(main())
