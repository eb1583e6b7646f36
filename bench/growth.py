"""`python -m bench.growth`: what a turn, forgetting and every list cost with a thousand conversations and many more.

A database is filled directly, not by turns. Each figure is the median of a few tries, beside the smallest database's.
`--database postgresql://…` measures an empty database of yours instead of a SQLite file of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import tempfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.growth_rows import RARE, YEAR, fill, person
from bench.report import Section, Table, duration, facts, show, show_facts, times
from circumspect.ports import Closing
from circumspect.server.console.conversation_search import ConversationFilter, find
from circumspect.server.console.figures import figures
from circumspect.server.stores import approvals, privacy
from circumspect.stores import SqlStore, action_log, people
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
Deed = Callable[[], Awaitable[object]]


async def measure(url: str, number: int) -> dict[str, float]:
    """Fill it up to so many conversations; seconds by what was done."""
    store, now = await SqlStore.open(url), datetime.now(UTC)
    began = perf_counter()
    await asyncio.to_thread(fill, url, SHOP, number, now=now.timestamp())
    found = {"(filling it)": perf_counter() - began}
    try:
        for name, deed in _deeds(store, number, now).items():
            found[name] = await _time(deed, 1 if "hundred" in name else TRIES)
    finally:
        await store.close()
    return found


async def _time(deed: Deed, tries: int) -> float:
    took = []
    for _ in range(tries):
        began = perf_counter()
        await deed()
        took.append(perf_counter() - began)
    return median(took)


def _deeds(store: SqlStore, number: int, now: datetime) -> dict[str, Deed]:
    rare = (number // 2) // RARE * RARE + 7

    def search(**wanted: str | bool) -> Deed:
        return lambda: store.tx(find, None, ConversationFilter(**wanted), now, None, 41)  # type: ignore[arg-type]

    def sum_up(days: int) -> Deed:
        return lambda: store.tx(figures, None, now - timedelta(days=days), now, {})

    async def forget_hundred() -> None:
        for _ in range(100 // privacy.FEW):
            await store.tx(privacy.forget_older, SHOP, now.timestamp() - YEAR / 4)

    return {
        "a turn": lambda: _take_turn(store, now),
        "forget one conversation": lambda: store.tx(privacy.forget_older, SHOP, now.timestamp() - YEAR / 4, 1),
        "forget a hundred": forget_hundred,
        "a person's export": lambda: store.tx(privacy.export_person, SHOP, person(rare)),
        "conversations: newest": search(),
        "conversations: frequent word": search(q="order"),
        "conversations: rare word": search(q=f"zebra{rare}"),
        "conversations: order number": search(q=f"ORD-{rare:08d}"),
        "conversations: word nobody said": search(q="nobodysaysthis"),
        "conversations: frequent reason": search(reason="SUCCESS"),
        "conversations: rare reason": search(reason="OUTCOME_UNKNOWN"),
        "conversations: outcome": search(outcome="escalated"),
        "conversations: tool": search(tool="cancel_order"),
        "conversations: held": search(held=True),
        "conversations: second opinion": search(critique=True),
        "overview: 30 days": sum_up(30),
        "overview: 366 days": sum_up(366),
        "escalations: all": lambda: store.tx(people.list_escalations, None, None, None, 51),
        "escalations: open": lambda: store.tx(people.list_escalations, None, "open", None, 51),
        "approvals: waiting": lambda: store.tx(approvals.list_approvals, None, None, 51, now=now),
        "approvals: all": lambda: store.tx(approvals.list_approvals, None, None, 51, waiting=False),
        "operators' log": lambda: store.tx(action_log.list_actions, limit=51),
    }


async def _take_turn(store: SqlStore, now: datetime) -> None:
    turn, token = TurnId(f"turn_{secrets.token_hex(8)}"), secrets.token_hex(8)
    incoming = Incoming(SHOP, ConversationId(f"new-{turn}"), turn, "Where is my order?", now)
    await store.open_turn(incoming, mode="adaptive", history=5, token=token, lease_seconds=20)
    usage = Usage("adaptive", (ModelUsage("model-a", 600, 120, 0, 0.001, 0.5),))
    result = TurnResult(turn, incoming.conversation, "answered", "It arrives tomorrow.", (), None, usage)
    await store.close_turn(Closing(incoming, token, "en", result, (JournalEntry("model", "draft"),), now))


def build_section(name: str, found: dict[int, dict[str, float]]) -> Section:
    sizes = sorted(found)
    header = ("", *(f"{size:,}" for size in sizes), *(f"{size:,} to {sizes[0]:,}" for size in sizes[1:]))
    rows = []
    for what, least in found[sizes[0]].items():
        grown = [found[size][what] for size in sizes]
        rows.append((what, *map(duration, grown), *(times(one / least) for one in grown[1:])))
    about = "Median of a few tries each, through the store; lists are a page of forty or fifty rows of all tenants."
    return Section(f"growth-{name}", f"Growth on {name}, by conversations stored", about, (Table(header, tuple(rows)),))


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.growth", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 100_000, 1_000_000])
    parser.add_argument("--database", help="of an empty PostgreSQL database; one size only")
    options = parser.parse_args()
    show_facts(facts())
    found: dict[int, dict[str, float]] = {}
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            url = options.database or f"sqlite:///{Path(folder)}/grown.db"
            found[size] = asyncio.run(measure(url, size))
        if options.database is None or size == options.sizes[-1]:
            show(build_section("PostgreSQL" if options.database else "SQLite", found))


if __name__ == "__main__":
    main()
