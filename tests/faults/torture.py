"""Two workers over one database, many conversations at once over every door, and somebody who makes things go wrong.

Workers are killed, or stopped for longer than their leases and then continued; the database is locked or restarted; and
the back end does the work and then resets, truncates, answers too late or denies it.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import httpx
from tests.faults.back_end import TROUBLES, BackEnd
from tests.faults.checker import Report
from tests.faults.findings import is_calm
from tests.faults.history import Door, Said, Told, make_request
from tests.faults.shops import SHOPS, TIMEOUT, Shop, make_shop
from tests.faults.site import AGAIN, Site, Worker
from tests.patience import PATIENCE

SPEED = 8.0
"""By how much every lease and timeout is shorter than by default."""
CONVERSATION_LEASE, CALL_LEASE = 20.0 / SPEED, 75.0 / SPEED
DOORS: tuple[Door, ...] = ("messages", "events", "completions")
TALK = 3
"""Orders that one conversation is about."""
Restart = Callable[[], None] | None


def make_options(back_end: BackEnd, speed: float = SPEED) -> dict[str, Any]:
    """Of a site for this."""
    back_end.keyed |= {shop.name for shop in SHOPS if shop.recovery == "keyed"}
    return {
        "speed": speed,
        "tenants": {shop.name: make_shop(shop, back_end.url, TIMEOUT / speed) for shop in SHOPS},
        "effects": lambda: list(back_end.effects),
        "CIRCUMSPECT_LOG_LEVEL": "error",
    }


@dataclass
class Torture:
    conversations: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    effects: int = 0
    messages: int = 0
    """Each counted once however often it was sent."""
    tries: int = 0
    seconds: float = 0.0
    report: Report = field(default_factory=Report)


class Crowd:
    def __init__(
        self, site: Site, back_end: BackEnd, client: httpx.AsyncClient, until: float, seed: int, restart: Restart
    ) -> None:
        self.site, self.back_end, self.client, self.until = site, back_end, client, until
        self.lots, self.restart, self.made = random.Random(seed), restart, Torture()
        self.orders = iter(range(100_000, 10**9))

    # --- the users --------------------------------------------------------------------------------------------------

    async def talk(self, number: int) -> None:
        shop = SHOPS[number % len(SHOPS)]
        door = DOORS[number // len(SHOPS) % len(DOORS)]
        await asyncio.sleep(self.lots.uniform(0, 1))
        part = 0
        while time.monotonic() < self.until:
            part += 1
            self.made.conversations += 1
            if not await self.converse(shop, door, f"{shop.name}-{number}-{part}"):
                return

    async def converse(self, shop: Shop, door: Door, name: str) -> bool:
        """One conversation about a few orders. False when somebody gave up."""
        if door != "completions":
            await self.begin(shop.name, name)
        said: list[tuple[str, str]] = []
        for place in range(TALK):
            order = str(next(self.orders))
            self.back_end.troubles[order] = self.lots.choice((*TROUBLES, *[""] * len(TROUBLES)))
            for text in (f"cancel order {order}", "yes"):
                agrees = text == "yes" or shop.agreement == "nobody"
                earlier = tuple(said) if door == "completions" else ()
                one = Said(shop.name, name, text, f"{name}-{place}-{text[:3]}", order, agrees, door, earlier)
                told = await self.insist(one)
                if told is None:
                    return False
                said += [("user", text), ("assistant", told.reply)]
                if told.outcome == "escalated" and shop.agreement == "colleague":
                    key = f"{name}-{place}-approval"
                    decided = Said(shop.name, name, "approve", key, order, True, "approvals", keyless=True)
                    if await self.insist(decided) is None:
                        return False
                if told.outcome != "asked":
                    break
        return True

    async def begin(self, tenant: str, name: str) -> None:
        headers = {"Authorization": f"Bearer {self.site.keys[tenant]}"}
        while True:
            try:
                url = f"{self.pick().url}/v1/conversations"
                if (await self.client.post(url, json={"id": name}, headers=headers)).status_code == 201:
                    return
            except (httpx.TransportError, IndexError):
                pass
            await asyncio.sleep(0.1)

    async def insist(self, said: Said) -> Told | None:
        """The answer, whichever worker gives it; None when nobody did."""
        self.made.messages += 1
        give_up = time.monotonic() + 2 * PATIENCE
        while time.monotonic() < give_up:
            try:
                told = await (self.approve(said) if said.door == "approvals" else self.send(said))
            except (httpx.TransportError, IndexError):
                told = None
            if told and told.final:
                self.made.outcomes[told.outcome] += 1
                return told
            assert told is None or told.status in AGAIN or said.door == "events", told
            await asyncio.sleep(self.lots.uniform(0.05, 0.3))
        return None

    async def send(self, said: Said) -> Told:
        path, headers, body = make_request(said)
        return await self.exchange(said, f"{self.pick().url}{path}", self.site.keys[said.tenant], body, headers)

    async def approve(self, said: Said) -> Told | None:
        """As the colleague who is asked: look at what waits, then decide."""
        url, key = f"{self.pick().url}/v1/approvals", self.site.managers[said.tenant]
        shown = await self.client.get(url, params={"state": "all"}, headers={"Authorization": f"Bearer {key}"})
        if shown.status_code != 200:
            return None
        found = next((one for one in shown.json()["items"] if one["arguments"]["order_id"] == said.order), None)
        if found is None:
            self.site.history.begin(said)
            return None
        return await self.exchange(said, f"{url}/{found['id']}/approve", key, {"hash": found["hash"]}, {})

    async def exchange(self, said: Said, url: str, key: str, body: Any, headers: dict[str, str]) -> Told:
        self.made.tries += 1
        sent, status, content = self.site.history.begin(said), 0, b""
        try:
            told = {"Authorization": f"Bearer {key}", **headers}
            async with self.client.stream("POST", url, json=body, headers=told) as answer:
                async for piece in answer.aiter_raw():
                    content += piece
                status = answer.status_code
        except httpx.TransportError:
            pass
        return self.site.history.note(said, sent, status, content.decode(errors="replace"))

    def pick(self) -> Worker:
        return self.lots.choice(list(self.site.workers))

    # --- whoever makes things go wrong ------------------------------------------------------------------------------

    async def break_things(self) -> None:
        faults = [self.kill] * 5 + [self.freeze, self.freeze_for_long]
        if self.restart:
            faults.append(self.restart_database)
        elif self.site.database.startswith("sqlite"):
            faults.append(self.lock_database)
        await self.kill()  # first of all: on a slow machine one long freeze may be all that there is time for
        while time.monotonic() < self.until:
            await asyncio.sleep(self.lots.uniform(0.7, 1.6))
            await self.lots.choice(faults)()

    async def kill(self) -> None:
        await asyncio.to_thread(self.site.kill, self.pick())
        self.made.faults["killed"] += 1
        await asyncio.to_thread(self.site.start)

    async def freeze(self, seconds: float = 1.3 * CONVERSATION_LEASE) -> None:
        """Another worker takes over, and then this one goes on, for a while beside the others."""
        frozen = self.pick()
        self.site.workers.remove(frozen)
        # Before the other is stopped: that may happen while it holds SQLite's lock, which nobody else gets then.
        await asyncio.to_thread(self.site.start)
        os.kill(frozen.pid, signal.SIGSTOP)
        self.made.faults["stopped beyond a lease"] += 1
        await asyncio.sleep(seconds)
        os.kill(frozen.pid, signal.SIGCONT)
        self.site.workers.append(frozen)
        await asyncio.sleep(1)
        await asyncio.to_thread(self.site.kill, self.site.workers[0])

    async def freeze_for_long(self) -> None:
        await self.freeze(1.2 * CALL_LEASE)

    async def lock_database(self) -> None:
        self.made.faults["database locked"] += 1
        await asyncio.to_thread(_lock, self.site.database.removeprefix("sqlite:///"), self.lots.uniform(0.5, 3))

    async def restart_database(self) -> None:
        assert self.restart
        self.made.faults["database restarted"] += 1
        await asyncio.to_thread(self.restart)


def _lock(path: str, seconds: float) -> None:
    with closing(sqlite3.connect(path, timeout=PATIENCE)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        time.sleep(seconds)
        connection.rollback()


async def _torture(
    site: Site, back_end: BackEnd, conversations: int, seconds: float, seed: int, restart: Restart
) -> Torture:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=conversations)
    async with httpx.AsyncClient(timeout=PATIENCE, trust_env=False, limits=limits) as client:
        began = time.monotonic()
        crowd = Crowd(site, back_end, client, began + seconds, seed, restart)
        breaking = asyncio.create_task(crowd.break_things())
        await asyncio.gather(*(crowd.talk(number) for number in range(conversations)))
        await breaking
        crowd.made.seconds = time.monotonic() - began
        return crowd.made


def torture(
    site: Site, back_end: BackEnd, conversations: int, seconds: float, seed: int, restart: Restart = None
) -> Torture:
    """Break things for so many seconds, then let everybody get their answer and the sweepers their work done."""
    for _ in range(2):
        site.start()
    made = asyncio.run(_torture(site, back_end, conversations, seconds, seed, restart))
    until = time.monotonic() + PATIENCE / 2
    while time.monotonic() < until and not asyncio.run(is_calm(site.database)):
        time.sleep(0.5)
    made.effects, made.report = len(back_end.effects), site.check()
    return made
