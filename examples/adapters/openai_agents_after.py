"""The same agent under our guard: the shipped order stays, and the other one interrupts the run."""

import asyncio

from agents import Agent, RunConfig, Runner, function_tool
from scripted import PAID, SHIPPED, agents_model
from shop import POLICY, Shop

from circumspect.adapters.openai_agents import find_question, guard_agent

QUIET = RunConfig(tracing_disabled=True)


async def main() -> None:
    shop = Shop()
    tools = [function_tool(shop.get_order), function_tool(shop.cancel_order)]
    agent = guard_agent(Agent("shop", model=agents_model(SHIPPED), tools=tools), POLICY, conversation="c1")
    run = await Runner.run(agent, "Cancel order 1002", run_config=QUIET)
    print(f"the model was told: {run.to_input_list()[-2]['output']}\nthe shop: {shop.done}")

    agent = guard_agent(Agent("shop", model=agents_model(PAID), tools=tools), POLICY, conversation="c2")
    run = await Runner.run(agent, "Cancel order 1001", run_config=QUIET)
    [waits] = run.interruptions
    print(f"asked: {find_question(waits)}\nthe shop: {shop.done}")
    state = run.to_state()
    state.approve(waits)
    run = await Runner.run(agent, state, run_config=QUIET)
    print(f"agent: {run.final_output}\nthe shop: {shop.done}")


asyncio.run(main())
