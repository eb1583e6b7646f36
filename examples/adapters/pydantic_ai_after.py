"""The same agent with our capability: the shipped order stays, and the other one waits for approval."""

import asyncio

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
from scripted import PAID, SHIPPED, pydantic_model
from shop import POLICY, Shop

from circumspect.adapters.pydantic_ai import CircumspectCapability


async def main() -> None:
    shop = Shop()
    tools = [shop.get_order, shop.cancel_order]
    agent = Agent(pydantic_model(SHIPPED), tools=tools, capabilities=[CircumspectCapability(POLICY)])
    run = await agent.run("Cancel order 1002")
    print(f"the model was told: {run.all_messages()[-2].parts[0].content}\nthe shop: {shop.done}")

    agent = Agent(
        pydantic_model(PAID),
        tools=tools,
        capabilities=[CircumspectCapability(POLICY)],
        output_type=[str, DeferredToolRequests],
    )
    run = await agent.run("Cancel order 1001")
    [waits] = run.output.approvals
    print(f"asked: {run.output.metadata[waits.tool_call_id]['description']}\nthe shop: {shop.done}")
    yes = DeferredToolResults(approvals={waits.tool_call_id: True})
    run = await agent.run(message_history=run.all_messages(), deferred_tool_results=yes)
    print(f"agent: {run.output}\nthe shop: {shop.done}")


asyncio.run(main())
