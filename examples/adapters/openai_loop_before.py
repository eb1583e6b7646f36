"""A tool loop over the OpenAI client as it is: a shipped order is cancelled, because the model said so."""

import asyncio
import json

from scripted import SHIPPED, openai_client
from shop import Shop


async def main() -> None:
    shop, client = Shop(), openai_client(SHIPPED)
    messages = [{"role": "user", "content": "Cancel order 1002"}]
    while True:
        message = (await client.chat.completions.create(model="scripted", messages=messages)).choices[0].message
        messages.append(message)
        for call in message.tool_calls or ():
            result = getattr(shop, call.function.name)(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
        if not message.tool_calls:
            break
    print(f"agent: {message.content}\nthe shop: {shop.done}")


asyncio.run(main())
