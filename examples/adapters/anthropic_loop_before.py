"""A tool loop over the Anthropic client as it is: a shipped order is cancelled, because the model said so."""

import asyncio
import json

from scripted import SHIPPED, anthropic_client
from shop import Shop


async def main() -> None:
    shop, client = Shop(), anthropic_client(SHIPPED)
    messages = [{"role": "user", "content": "Cancel order 1002"}]
    while True:
        message = await client.messages.create(model="scripted", max_tokens=500, messages=messages)
        results = [
            {
                "type": "tool_result",
                "tool_use_id": use.id,
                "content": json.dumps(getattr(shop, use.name)(**use.input)),
            }
            for use in message.content
            if use.type == "tool_use"
        ]
        if not results:
            break
        messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": results}]
    print(f"agent: {message.content[0].text}\nthe shop: {shop.done}")


asyncio.run(main())
