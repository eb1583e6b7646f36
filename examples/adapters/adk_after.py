"""The same agent with our plugin: the shipped order stays, and the other one waits for a confirmation."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.models import Gemini
from google.adk.runners import InMemoryRunner
from google.genai import types
from provider import serve_script
from scripted import PAID, SHIPPED
from shop import POLICY, Shop

from circumspect.adapters.adk import CircumspectPlugin


def build_runner(shop: Shop, url: str) -> InMemoryRunner:
    model = Gemini(model="gemini-scripted", base_url=url, client_kwargs={"api_key": "none"})
    agent = LlmAgent(name="clerk", model=model, tools=[shop.get_order, shop.cancel_order])
    resumable = ResumabilityConfig(is_resumable=True)
    return InMemoryRunner(
        app=App(name="shop", root_agent=agent, plugins=[CircumspectPlugin(POLICY)], resumability_config=resumable)
    )


async def main() -> None:
    shop = Shop()
    with serve_script(SHIPPED) as url:
        events = await build_runner(shop, url).run_debug("Cancel order 1002", quiet=True)
        told = [one.response for event in events for one in event.get_function_responses()]
        print(f"the model was told: {told[-1]['error']}\nthe shop: {shop.done}")

    with serve_script(PAID) as url:
        runner = build_runner(shop, url)
        events = await runner.run_debug("Cancel order 1001", quiet=True, user_id="u1", session_id="s1")
        [asked] = [
            call for event in events for call in event.get_function_calls() if call.name == "adk_request_confirmation"
        ]
        print(f"asked: {asked.args['toolConfirmation']['hint']}\nthe shop: {shop.done}")
        yes = types.FunctionResponse(id=asked.id, name=asked.name, response={"confirmed": True})
        message = types.Content(role="user", parts=[types.Part(function_response=yes)])
        again = {"user_id": "u1", "session_id": "s1", "invocation_id": events[-1].invocation_id}
        said = [event.content async for event in runner.run_async(new_message=message, **again) if event.content]
        print(f"agent: {said[-1].parts[0].text}\nthe shop: {shop.done}")


asyncio.run(main())
