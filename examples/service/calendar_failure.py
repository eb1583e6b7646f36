"""The calendar is down. Reading it is tried twice; then the talk goes on without it and says so. A booking is critical:
when it fails, or when nobody knows whether it went through, a person is told, and it is never done twice.

The calendar is a CalDAV server on this machine that answers every request with 503, and then one that is gone.
Needs `circumspect[business]`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from school import Walk, script, understood, walk

from circumspect.business import CalDav
from circumspect.models.scripted import says

DANA = "dana@acme.example"
BOOK = f"Book a meeting on 2026-11-18 at 10:00 for Dana Levi, {DANA}"
MODEL = (
    understood("Meet on Wednesday", "USE_TOOL", "Times are asked for.", tools=("find_free_times",)),
    says("", tool="find_free_times", params={"date": "2026-11-18"}),
    # A model that glosses it over. Code knows that nothing was booked, and has it say something else.
    says("Good news: I have booked you for Wednesday at 10:00."),
    says("", tool="update_lead", params={"email": DANA, "name": "Dana Levi", "status": "contacted"}),
    says(
        "I cannot reach our calendar at the moment, so I can offer no times. I have noted that we should write to you."
    ),
)


NOTHING = b'<?xml version="1.0"?><multistatus xmlns="DAV:"/>'


class Broken:
    """A calendar server out of order. It keeps what it was asked. Later it can be read and not written."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.url = ""
        self.can_be_read = False

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        lengths = [line.partition(":")[2] for line in head if line.lower().startswith("content-length:")]
        await reader.readexactly(int(lengths[0]) if lengths else 0)
        self.asked.append(head[0].partition(" ")[0])
        answers = {"REPORT": ("207 Multi-Status", NOTHING), "GET": ("404 Not Found", b"")} if self.can_be_read else {}
        status, body = answers.get(self.asked[-1], ("503 Service Unavailable", b""))
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def broken() -> AsyncIterator[Broken]:
    calendar = Broken()
    async with await asyncio.start_server(calendar.answer, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()[:2]
        calendar.url = f"http://{host}:{port}/school/"
        yield calendar


async def main() -> list[Walk]:
    async with broken() as calendar:
        async with walk(calendar=CalDav(calendar.url)) as offline:
            await offline.say("Which times are free on 2026-11-18?")
            print(f"The calendar was asked {len(calendar.asked)} times: {', '.join(calendar.asked)}\n")
            await offline.say("Is there a registration fee for new students?")
            calendar.can_be_read = True
            await offline.say(BOOK)
            await offline.say("yes")
            calendar.can_be_read = False
        for row in offline.escalations:
            print(f"For a person, {row.reason}: {row.summary}")
        print()
        async with walk(script(*MODEL), calendar=CalDav(calendar.url)) as scripted:
            await scripted.say(f"I'm Dana Levi, {DANA}. Can we meet on 2026-11-18?")

    # Nobody listens there any more: the request never left, so it is certain that nothing was booked.
    async with walk(calendar=CalDav(calendar.url)) as unreachable:
        await unreachable.say(BOOK)
        await unreachable.say("yes")
    for row in unreachable.escalations:
        print(f"For a person, {row.reason}: {row.summary}")
    return [offline, scripted, unreachable]


if __name__ == "__main__":
    asyncio.run(main())
