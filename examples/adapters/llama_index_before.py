"""An agent of LlamaIndex as it is: a shipped order is cancelled, because the model said so."""

import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike
from provider import serve_script
from scripted import SHIPPED
from shop import Shop


async def main(url: str) -> None:
    shop = Shop()
    llm = OpenAILike(
        "scripted", api_base=f"{url}/v1", api_key="none", is_chat_model=True, is_function_calling_model=True
    )
    agent = FunctionAgent(tools=[shop.get_order, shop.cancel_order], llm=llm)
    print(f"agent: {await agent.run('Cancel order 1002')}\nthe shop: {shop.done}")


with serve_script(SHIPPED) as url:
    asyncio.run(main(url))
