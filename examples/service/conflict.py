"""Two documents give different answers. The agent does not choose: a person gets the question, with both quotes. Once
one of the documents is put right, the same question is answered.

The offline model is enough for this: that values differ is found by code, whatever model there is.
"""

import asyncio

from school import Walk, documents, walk

from circumspect.knowledge.read_document import read_document

QUESTION = "Within how many days can I leave a group course and get the whole amount back?"


async def main() -> list[Walk]:
    async with walk() as before:
        await before.say(QUESTION)
        await before.say("Can I pay in instalments?")  # the talk goes on meanwhile
        await before.say("I demand my money back now, or I will sue you")
    for row in before.escalations:
        print(f"For a person, {row.reason}: {row.summary}")
        for line in row.suggestion.splitlines():
            print(f"  {line}")
    print()

    texts = documents()
    guide = texts["guide.md"].text.replace("refunded within 30 days of payment", "refunded within 14 days of payment")
    texts["guide.md"] = read_document(guide.encode(), "guide.md")
    async with walk(texts=texts) as after:
        await after.say(QUESTION)
    return [before, after]


if __name__ == "__main__":
    asyncio.run(main())
