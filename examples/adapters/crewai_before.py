"""A crew of CrewAI as it is: a shipped order is cancelled, because the model said so."""

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from provider import serve_script
from scripted import SHIPPED
from shop import Shop

shop = Shop()


@tool
def get_order(order_id: str) -> dict:
    """Look an order up."""
    return shop.get_order(order_id)


@tool
def cancel_order(order_id: str) -> str:
    """Cancel an order."""
    return shop.cancel_order(order_id)


with serve_script(SHIPPED) as url:
    llm = LLM("openai/gpt-scripted", base_url=f"{url}/v1", api_key="none")
    agent = Agent(role="clerk", goal="help", backstory="a shop", llm=llm, tools=[get_order, cancel_order])
    task = Task(description="Cancel order 1002", expected_output="an answer", agent=agent)
    print(f"agent: {Crew(agents=[agent], tasks=[task]).kickoff()}\nthe shop: {shop.done}")
