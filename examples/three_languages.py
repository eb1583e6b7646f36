"""The same shop in English, Hebrew and Russian: the agent answers in the language of each message.

Prompts to the model, reason codes and the record stay in English; what a user reads is in theirs.
"""

import asyncio
from datetime import UTC, datetime

from circumspect import Agent
from circumspect.demo import samples
from circumspect.language.catalogue import meaning

CONVERSATIONS = {
    "shop": ("Cancel order 12345", "Yes"),
    "shop-he": ("תבטלו את הזמנה 12345", "כן"),
    "shop-ru": ("Отмените заказ 12345", "Да"),
}


async def main() -> None:
    for name, messages in CONVERSATIONS.items():
        shop = samples.load(name, directory=None, now=datetime.now(UTC))
        async with Agent(
            shop.tenant, tools=shop.tools, policy=shop.policy_path, model="offline", database=":memory:"
        ) as agent:
            for text in messages:
                turn = await agent.turn(text)
                print(f"{turn.language}  {text}\n    {turn.reply}")
                code = turn.reason_codes[0]
                print(f"    {code}: {meaning(code, turn.language)}")


if __name__ == "__main__":
    asyncio.run(main())
