"""The same agent with guarded tools: the shipped order stays, and the other one waits for a yes."""

import asyncio

from llama_index.core.agent.workflow import FunctionAgent, ToolCallResult
from llama_index.core.workflow import HumanResponseEvent, InputRequiredEvent
from llama_index.llms.openai_like import OpenAILike
from provider import serve_script
from scripted import PAID, SHIPPED
from shop import POLICY, Shop

from circumspect.adapters.llama_index import guard_tools


async def main() -> None:
    shop = Shop()
    tools = guard_tools([shop.get_order, shop.cancel_order], POLICY, pauses=True)
    for script, said in ((SHIPPED, "Cancel order 1002"), (PAID, "Cancel order 1001")):
        with serve_script(script) as url:
            llm = OpenAILike(
                "scripted", api_base=f"{url}/v1", api_key="none", is_chat_model=True, is_function_calling_model=True
            )
            run = FunctionAgent(tools=tools, llm=llm).run(said)
            async for event in run.stream_events():
                match event:
                    case InputRequiredEvent():
                        print(f"asked: {event.prefix}\nthe shop: {shop.done}")
                        run.ctx.send_event(HumanResponseEvent(response="yes", intent=event.intent))
                    case ToolCallResult(tool_name="cancel_order"):
                        print(f"the model was told: {event.tool_output.content}\nthe shop: {shop.done}")
            await run


asyncio.run(main())
