"""Two workers over one database, many conversations at once, and somebody who kills workers at random."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
from tests.faults.site import AGAIN, RECOVERIES, Findings, Said, Site, Worker
from tests.patience import PATIENCE

LEASE = 3.0
"""For conversations and, with as much again, for calls."""
Restart = Callable[[], None] | None


def options() -> dict[str, Any]:
    """Of a site for this: leases that end while somebody watches, and tools that take a moment on either side of their
    effect, so that kills land before, between and after."""
    return {"timeout": 0.5, "work": 0.1, "FAULTS_LEASE": str(LEASE), "CIRCUMSPECT_LOG_LEVEL": "error"}


@dataclass
class Torture:
    conversations: int = 0
    kills: int = 0
    restarts: int = 0
    """Of the database, at once and without asking."""
    sent: int = 0
    """Messages, each counted once however often it was tried."""
    tries: int = 0
    answered: int = 0
    acted: int = 0
    seconds: float = 0.0
    findings: Findings = field(default_factory=Findings)

    @property
    def lost(self) -> int:
        return self.sent - self.answered


class Crowd:
    def __init__(self, site: Site, client: httpx.AsyncClient, until: float, seed: int, restart: Restart) -> None:
        self.site, self.client, self.until, self.lots = site, client, until, random.Random(seed)
        self.told, self.restart = Torture(), restart

    async def insist(self, said: Said) -> dict[str, Any] | None:
        """The answer, whichever worker gives it; None when nobody did."""
        self.told.sent += 1
        give_up = time.monotonic() + PATIENCE
        headers = {"Authorization": f"Bearer {self.site.keys[said.tenant]}", "Idempotency-Key": said.key}
        path = f"/v1/conversations/{said.conversation}/messages"
        while time.monotonic() < give_up:
            answer = await self.post(path, headers, {"content": said.text})
            if answer is not None and answer.status_code == 200:
                self.told.answered += 1
                return dict(answer.json())
            assert answer is None or answer.status_code in AGAIN, answer.text
            await asyncio.sleep(self.lots.uniform(0.05, 0.3))
        return None

    async def post(self, path: str, headers: dict[str, str], body: Any) -> httpx.Response | None:
        self.told.tries += 1
        workers = list(self.site.workers)
        if not workers:
            return None
        try:
            return await self.client.post(f"{self.lots.choice(workers).url}{path}", json=body, headers=headers)
        except httpx.TransportError:
            return None

    async def talk(self, number: int) -> tuple[str, str, list[Said]]:
        tenant = RECOVERIES[number % len(RECOVERIES)]
        name, said = f"{tenant}-{number}", []
        headers = {"Authorization": f"Bearer {self.site.keys[tenant]}"}
        await asyncio.sleep(self.lots.uniform(0, 1))
        while True:
            made = await self.post("/v1/conversations", headers, {"id": name})
            if made is not None and made.status_code == 201:
                break
            await asyncio.sleep(0.1)
        order = 10_000 * number
        while time.monotonic() < self.until:
            order += 1
            for text in (f"cancel order {order}", "yes"):
                one = Said(tenant, name, text, f"{name}-{len(said)}")
                said.append(one)
                result = await self.insist(one)
                if result is None:
                    return tenant, name, said
                self.told.acted += result["outcome"] == "acted"
                if result["outcome"] not in ("asked", "acted"):
                    break
        return tenant, name, said

    async def kill(self, worker: Worker) -> None:
        await asyncio.to_thread(self.site.kill, worker)
        self.told.kills += 1
        await asyncio.to_thread(self.site.start)

    async def killer(self) -> None:
        while time.monotonic() < self.until:
            await asyncio.sleep(self.lots.uniform(0.7, 1.6))
            await self.kill(self.lots.choice(self.site.workers))
            if self.restart and self.told.kills % 4 == 0:
                await asyncio.to_thread(self.restart)
                self.told.restarts += 1


async def _tortured(
    site: Site, conversations: int, seconds: float, seed: int, restart: Restart
) -> tuple[Torture, list[Any]]:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=conversations)
    async with httpx.AsyncClient(timeout=PATIENCE, trust_env=False, limits=limits) as client:
        began = time.monotonic()
        crowd = Crowd(site, client, began + seconds, seed, restart)
        killing = asyncio.create_task(crowd.killer())
        talks = await asyncio.gather(*(crowd.talk(number) for number in range(conversations)))
        await killing
        crowd.told.conversations = conversations
        crowd.told.seconds = time.monotonic() - began
        return crowd.told, talks


def tortured(site: Site, conversations: int, seconds: float, seed: int, restart: Restart = None) -> Torture:
    """Kill for so many seconds, then let everybody get their answer and the sweepers their work done."""
    for _ in range(2):
        site.start()
    told, talks = asyncio.run(_tortured(site, conversations, seconds, seed, restart))
    until = time.monotonic() + 8 * LEASE
    while True:
        told.findings = site.looked_over(talks)
        if not told.findings.half_done or time.monotonic() > until:
            return told
        time.sleep(0.5)
