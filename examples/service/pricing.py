"""A question about a price: decided to look it up, looked up, answered with its source. Thanks cost no search, and a
question that could be about anything is asked back."""

import asyncio
import re

from school import Walk, script, understood, walk

from circumspect.models.scripted import says
from circumspect.values import ModelRequest


def from_the_price_list(request: ModelRequest) -> str:
    """What a language model does with the passages it is given: finds the row, cites the passage it stands in."""
    for block in request.blocks:
        if (number := re.fullmatch(r"source \[(\d+)\]", block.key)) and (
            price := re.search(r"lesson, 60 minutes \| (₪[\d,]+)", block.text)
        ):
            return says(f"An individual lesson of 60 minutes costs {price[1]} [{number[1]}].")
    return says("I could not find that in our price list.", confidence=3)


async def main() -> list[Walk]:
    async with walk() as offline:
        await offline.say("How much does it cost?")
        await offline.say("Is there a registration fee for new students?")
        await offline.say("Thanks, that helps!")
        await offline.say("Can I pay in instalments?")

    # The row of a table, for "a private lesson": only a language model reads it so.
    asked = understood(
        "Know the price of a private lesson of one hour",
        "RETRIEVE",
        "A price, which the price list states.",
        search="price of an individual lesson, 60 minutes",
    )
    async with walk(script(asked, from_the_price_list)) as scripted:
        await scripted.say("How much is a private lesson of an hour?")
    return [offline, scripted]


if __name__ == "__main__":
    asyncio.run(main())
