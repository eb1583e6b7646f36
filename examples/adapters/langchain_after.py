"""The same agent with our middleware: the shipped order stays, and the other one waits for a yes."""

import asyncio

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from scripted import PAID, SHIPPED, langchain_model
from shop import POLICY, Shop

from circumspect.adapters.langchain import Circumspect


async def main() -> None:
    shop = Shop()
    tools = [shop.get_order, shop.cancel_order]
    agent = create_agent(langchain_model(SHIPPED), tools, middleware=[Circumspect(POLICY)])
    state = await agent.ainvoke({"messages": [{"role": "user", "content": "Cancel order 1002"}]})
    print(f"the model was told: {state['messages'][-2].content}\nthe shop: {shop.done}")

    thread = {"configurable": {"thread_id": "c1"}}
    agent = create_agent(langchain_model(PAID), tools, middleware=[Circumspect(POLICY)], checkpointer=InMemorySaver())
    state = await agent.ainvoke({"messages": [{"role": "user", "content": "Cancel order 1001"}]}, thread)
    print(f"asked: {state['__interrupt__'][0].value['description']}\nthe shop: {shop.done}")
    state = await agent.ainvoke(Command(resume="yes"), thread)
    print(f"agent: {state['messages'][-1].content}\nthe shop: {shop.done}")


asyncio.run(main())
