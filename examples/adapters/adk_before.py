"""An agent of Google's ADK as it is: a shipped order is cancelled, because the model said so."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import Gemini
from google.adk.runners import InMemoryRunner
from provider import serve_script
from scripted import SHIPPED
from shop import Shop


async def main(url: str) -> None:
    shop = Shop()
    model = Gemini(model="gemini-scripted", base_url=url, client_kwargs={"api_key": "none"})
    agent = LlmAgent(name="clerk", model=model, tools=[shop.get_order, shop.cancel_order])
    runner = InMemoryRunner(app=App(name="shop", root_agent=agent))
    events = await runner.run_debug("Cancel order 1002", quiet=True)
    print(f"agent: {events[-1].content.parts[0].text}\nthe shop: {shop.done}")


with serve_script(SHIPPED) as url:
    asyncio.run(main(url))
