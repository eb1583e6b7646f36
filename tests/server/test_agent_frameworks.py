"""Agents written with other makers' frameworks, pointed at a tenant: their tools run after the yes, once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from agents import Agent as OpenAIAgent
from agents import OpenAIResponsesModel as AgentsModel
from agents import Runner, function_tool, set_tracing_disabled
from anthropic import AsyncAnthropic
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from tests.server.house import House


@pytest.fixture(autouse=True)
def _no_traces() -> Iterator[None]:
    """The SDK would send them to its maker. Only here: what is switched off stays off for the whole process."""
    set_tracing_disabled(True)
    yield
    set_tracing_disabled(False)


class Shop:
    def __init__(self) -> None:
        self.cancelled: list[str] = []

    def cancel_order(self, order_id: str) -> str:
        """Cancel an order.

        Args:
            order_id: The order's number.
        """
        self.cancelled.append(order_id)
        return "cancelled"


@pytest.fixture
def key(house: House) -> str:
    return house.token("shop", "chat")


@pytest.fixture
async def openai(house: House, key: str) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{house.url}/v1", api_key=key, max_retries=0) as client:
        yield client


@pytest.fixture
async def anthropic(house: House, key: str) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(base_url=house.url, api_key=key, max_retries=0) as client:
        yield client


# --- OpenAI's Agents SDK --------------------------------------------------------------------------------------------


def make_openai_agent(openai: AsyncOpenAI, shop: Shop) -> OpenAIAgent:
    tools = [function_tool(shop.cancel_order)]
    return OpenAIAgent("Shop", instructions="You work in a shop.", tools=tools, model=AgentsModel("gpt-5", openai))


async def test_an_agent_of_openais_sdk_that_keeps_the_talk_itself(openai):
    agent = make_openai_agent(openai, shop := Shop())
    asked = await Runner.run(agent, "cancel order 4711")
    assert "4711" in asked.final_output
    assert shop.cancelled == []
    done = await Runner.run(agent, [*asked.to_input_list(), {"role": "user", "content": "yes"}])
    assert (done.final_output, shop.cancelled) == ("cancelled", ["4711"])


async def test_an_agent_of_openais_sdk_that_leaves_the_talk_to_us(openai):
    agent = make_openai_agent(openai, shop := Shop())
    asked = await Runner.run(agent, "cancel order 4712")
    done = Runner.run_streamed(agent, "yes", previous_response_id=asked.last_response_id)
    kinds = [event.type async for event in done.stream_events()]
    assert "raw_response_event" in kinds
    assert (done.final_output, shop.cancelled) == ("cancelled", ["4712"])


# --- pydantic-ai ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("maker", ["openai", "anthropic"])
async def test_an_agent_of_pydantic_ai(maker, openai, anthropic):
    models: dict[str, Callable[[], Model]] = {
        "openai": lambda: OpenAIResponsesModel("gpt-5", provider=OpenAIProvider(openai_client=openai)),
        "anthropic": lambda: AnthropicModel("claude-x", provider=AnthropicProvider(anthropic_client=anthropic)),
    }
    shop = Shop()
    agent = Agent(models[maker](), instructions="You work in a shop.", tools=[shop.cancel_order])
    asked = await agent.run("cancel order 4713")
    assert "4713" in asked.output
    assert shop.cancelled == []
    async with agent.run_stream("yes", message_history=asked.all_messages()) as stream:
        assert await stream.get_output() == "cancelled"
    assert shop.cancelled == ["4713"]


# --- LangChain ------------------------------------------------------------------------------------------------------


async def test_an_agent_of_langchain_over_anthropics_model(house, key):
    model = ChatAnthropic(model="claude-x", base_url=house.url, api_key=key, max_retries=0, max_tokens=500)
    shop = Shop()
    agent = create_agent(model, tools=[shop.cancel_order], system_prompt="You work in a shop.")
    talk = (await agent.ainvoke({"messages": [{"role": "user", "content": "cancel order 4714"}]}))["messages"]
    assert "4714" in talk[-1].text
    assert shop.cancelled == []
    talk = (await agent.ainvoke({"messages": [*talk, {"role": "user", "content": "yes"}]}))["messages"]
    assert (talk[-1].text, shop.cancelled) == ("cancelled", ["4714"])
    pieces = [piece.text async for piece in model.astream("what is your return policy?")]
    assert len("".join(pieces)) > 20
