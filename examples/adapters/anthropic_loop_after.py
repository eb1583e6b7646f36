"""The same loop with the gate: the shipped order stays, and the other one waits for a yes."""

import asyncio

from scripted import PAID, SHIPPED, anthropic_client
from shop import POLICY, Shop

from circumspect import Gate
from circumspect.adapters.anthropic_loop import run_calls


async def main() -> None:
    shop, gate = Shop(), Gate(POLICY)

    def ask(ruling) -> str:
        print(f"asked: {ruling.ask_user}\nthe shop: {shop.done}")
        return "yes"

    for script, said in ((SHIPPED, "Cancel order 1002"), (PAID, "Cancel order 1001")):
        client, messages = anthropic_client(script), [{"role": "user", "content": said}]
        while messages[-1]["role"] == "user":
            message = await client.messages.create(model="scripted", max_tokens=500, messages=messages)
            messages += await run_calls(
                gate,
                message,
                messages=messages,
                functions=[shop.get_order, shop.cancel_order],
                conversation=said,
                ask=ask,
            )
        print(f"the model was told: {messages[-2]['content'][0]['content']}\nthe shop: {shop.done}")


asyncio.run(main())
