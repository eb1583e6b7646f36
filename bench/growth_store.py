"""What is done in a database that holds many conversations, without a server: turns, forgetting, a person's export."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial

from bench.growth_rows import RARE, YEAR, person, spacing
from circumspect.ports import Closing
from circumspect.server.stores import privacy
from circumspect.stores import SqlStore
from circumspect.values import (
    ConversationId,
    Incoming,
    JournalEntry,
    ModelUsage,
    TenantId,
    TurnId,
    TurnResult,
    Usage,
)

SHOP = TenantId("shop")
TRIES = 5
Clock = Callable[[], float]
Deed = Callable[[], Awaitable[object]]


def measure(url: str, number: int, clock: Clock) -> dict[str, float]:
    """The least time of a few tries, by what was done."""
    return asyncio.run(_measure(url, number, clock))


async def _measure(url: str, number: int, clock: Clock) -> dict[str, float]:
    store, now, found = await SqlStore.open(url), datetime.now(UTC), {}
    old = now.timestamp() - YEAR / 8
    every = spacing(number, RARE)
    rare = (number // 2) // every * every + 7 % every

    async def forget_hundred() -> None:
        for _ in range(100 // privacy.FEW):
            await store.tx(privacy.forget_older, SHOP, old)

    deeds: dict[str, Deed] = {
        "a turn's transactions": partial(_take_turn, store, now),
        "a person's export, out of the store": partial(store.tx, privacy.export_person, SHOP, person(rare)),
        "retention: forget one conversation": partial(store.tx, privacy.forget_older, SHOP, old, 1),
        "retention: forget a hundred": forget_hundred,
    }
    try:
        for name, deed in deeds.items():
            tries = []
            for _ in range(2 if deed is forget_hundred else TRIES):
                began = clock()
                await deed()
                tries.append(clock() - began)
            found[name] = min(tries)
    finally:
        await store.close()
    return found


async def _take_turn(store: SqlStore, now: datetime) -> None:
    turn, token = TurnId(f"turn_{secrets.token_hex(8)}"), secrets.token_hex(8)
    incoming = Incoming(SHOP, ConversationId(f"new-{turn}"), turn, "Where is my order?", now)
    await store.open_turn(incoming, mode="adaptive", history=5, token=token, lease_seconds=20)
    usage = Usage("adaptive", (ModelUsage("model-a", 600, 120, 0, 0.001, 0.5),))
    result = TurnResult(turn, incoming.conversation, "answered", "It arrives tomorrow.", (), None, usage)
    await store.close_turn(Closing(incoming, token, "en", result, (JournalEntry("model", "draft"),), now))
