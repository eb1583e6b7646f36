"""The same crew under our guard: the shipped order stays, and the other one waits for a yes."""

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from provider import serve_script
from scripted import PAID, SHIPPED
from shop import POLICY, Shop

from circumspect.adapters.crewai import guard_crews

shop = Shop()


@tool
def get_order(order_id: str) -> dict:
    """Look an order up."""
    return shop.get_order(order_id)


@tool
def cancel_order(order_id: str) -> str:
    """Cancel an order."""
    return shop.cancel_order(order_id)


def ask(ruling) -> str:
    print(f"asked: {ruling.ask_user}\nthe shop: {shop.done}")
    return "yes"


guard_crews(POLICY, conversation=lambda hook: str(hook.crew.id), ask=ask)

for script, said in ((SHIPPED, "Cancel order 1002"), (PAID, "Cancel order 1001")):
    with serve_script(script) as url:
        llm = LLM("openai/gpt-scripted", base_url=f"{url}/v1", api_key="none")
        agent = Agent(role="clerk", goal="help", backstory="a shop", llm=llm, tools=[get_order, cancel_order])
        task = Task(description=said, expected_output="an answer", agent=agent)
        Crew(agents=[agent], tasks=[task]).kickoff()
        told = [one["content"] for one in agent.agent_executor.messages if one["role"] == "tool"]
        print(f"the model was told: {told[-1]}\nthe shop: {shop.done}")
