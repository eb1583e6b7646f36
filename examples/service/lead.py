"""A lead: looked up and written into the CRM, offered free times; a meeting booked and a mail sent, each after a yes.

What a sentence such as "I'm Dana from Acme, twelve of us" says is for a language model, so its part is scripted. Said
one thing at a time, the offline model does it too.
"""

import asyncio

from school import Walk, script, understood, walk

from circumspect.models.scripted import says

DANA = "dana@acme.example"
BODY = "Dear Dana, we will call you on Wednesday, 18 November, at 10:00. Meridian School"
MODEL = (
    understood(
        "Talk about business English for twelve people on Wednesday",
        "USE_TOOL",
        "A new lead wants a call: look them up, note what they want, offer times.",
        tools=("find_lead", "update_lead", "find_free_times"),
    ),
    says("", tool="find_lead", params={"email": DANA}),
    says(
        "",
        tool="update_lead",
        params={"email": DANA, "name": "Dana Levi", "company": "Acme", "status": "qualified"},
    ),
    says("", tool="find_free_times", params={"date": "2026-11-18"}),
    says("Nice to meet you, Dana. On Wednesday, 18 November, 9:00, 10:00 and 11:00 are free. Which one suits you?"),
    understood("Book the call at 10:00", "USE_TOOL", "One of the free times was chosen.", tools=("book_meeting",)),
    says(
        "",
        tool="book_meeting",
        params={"date": "2026-11-18", "time": "10:00", "name": "Dana Levi", "email": DANA},
    ),
    understood("Get the time by e-mail", "USE_TOOL", "A mail is asked for.", tools=("send_email",)),
    says("", tool="send_email", params={"to": DANA, "subject": "Our call on Wednesday", "body": BODY}),
)


async def main() -> list[Walk]:
    async with walk(script(*MODEL)) as scripted:
        await scripted.say(
            f"Hi, I'm Dana Levi from Acme, {DANA}. Twelve of us need business English. Could we talk on 2026-11-18?"
        )
        await scripted.say("10:00 is good")
        await scripted.say("yes")
        await scripted.say(f"Please mail the time to {DANA} too")
        await scripted.say("yes")

    async with walk() as offline:
        await offline.say(f"Look up the lead {DANA}")
        await offline.say("Which times are free on 2026-11-18?")
        await offline.say(f"Book a meeting on 2026-11-18 at 10:00 for Dana Levi, {DANA}")
        await offline.say("yes")
    return [scripted, offline]


if __name__ == "__main__":
    asyncio.run(main())
