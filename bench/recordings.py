"""Recorded conversations to measure on: some thousands really played, and as many more as are wanted copied from them.

`play` sends distinct conversations with the sample shop through the engine, offline model and all, and stores them as
any agent does. `replicate` copies the rows by SQL, each copy under fresh ids and at another time. A copy costs what a
recorded conversation costs a reader: it is read, decoded and ruled on like any other.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

FIRST = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
STREETS = ("Herzl Street", "Mill Lane", "Station Road", "Carmel Avenue", "Garden Way", "Harbour Street")
TOWNS = ("Haifa", "Tel Aviv", "Jerusalem", "Netanya", "Eilat")
NAMES = ("Dana Levi", "Omer Katz", "Maya Cohen", "Noam Peretz", "Yael Mizrahi")
THINGS = ("tents", "sleeping bags", "boots", "knives", "pans", "headlamps")
TALKS = 40
"""How many conversations one stock of orders lasts for."""


async def play(path: Path, conversations: int, seed: int = 7) -> int:
    """Distinct conversations with the sample shop, stored in an SQLite file. Returns the number of turns."""
    from circumspect import Agent
    from circumspect.clock import FixedClock
    from circumspect.demo import samples

    lots, turns, agent = random.Random(seed), 0, None
    clock = FixedClock(FIRST)
    for number in range(conversations):
        if number % TALKS == 0:
            if agent is not None:
                await agent.close()
            sample = samples.load("shop", directory=None, now=clock.now())
            agent = Agent(
                sample.tenant,
                model="offline",
                tools=sample.tools,
                policy=sample.policy_path,
                database=f"sqlite:///{path}",
                clock=clock,
            )
        assert agent is not None
        for words in _talk(lots, clock.now()):
            await agent.turn(words, conversation=f"talk-{number:06d}")
            turns += 1
            clock.advance(seconds=lots.randint(5, 60))
        clock.advance(seconds=lots.randint(30, 300))
    if agent is not None:
        await agent.close()
    return turns


def _talk(lots: random.Random, now: datetime) -> Iterator[str]:
    order = str(lots.choice((12345, 12346, 12347, 12348, 99999, lots.randint(10000, 99998))))
    day = (now + timedelta(days=lots.randint(1, 20))).date().isoformat()
    address = f"{lots.randint(1, 99)} {lots.choice(STREETS)}, {lots.choice(TOWNS)}"
    phone = f"05{lots.randint(0, 9)}-555-{lots.randint(0, 9999):04d}"
    if lots.random() < 0.3:
        yield lots.choice(("hello", "when do you open on Friday?", f"do you have {lots.choice(THINGS)} in stock?"))
    if lots.random() < 0.6:
        yield f"where is order {order}?"
    wish = lots.random()
    if wish < 0.35:
        yield f"cancel order {order}"
        yield lots.choice(("yes", "yes", "yes please", "no", "where is it now?"))
    elif wish < 0.6:
        yield f"change the address of order {order} to {address}"
        yield lots.choice(("yes", "yes", "no", "go ahead"))
    elif wish < 0.85:
        yield f"book a boot fitting on {day} at {lots.randint(9, 17)}:00 for {lots.choice(NAMES)}, phone {phone}"
    else:
        yield f"I want a refund for order {order}"
        yield lots.choice(("yes", "no"))
    if lots.random() < 0.5:
        yield f"where is order {order} now?"


def replicate(path: Path, turns: int) -> tuple[int, int]:
    """Copy what is stored until there are at least so many turns. Returns the turns and conversations there are."""
    database = sqlite3.connect(path, isolation_level=None)
    try:
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "foreign_keys = OFF", "cache_size = -400000"):
            database.execute(f"PRAGMA {pragma}").fetchall()
        (there,) = database.execute("SELECT count(*) FROM turns").fetchone()
        first, last = database.execute("SELECT min(created_at), max(updated_at) FROM conversations").fetchone()
        copies = -(-turns // there) - 1
        indexes = database.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN"
            " ('conversations', 'messages', 'turns', 'intents', 'tool_executions')"
        ).fetchall()
        for name, _ in indexes:
            database.execute(f'DROP INDEX "{name}"')
        for table in ("conversations", "turns", "intents", "tool_executions", "messages"):
            # The database numbers messages by itself.
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            columns = [name for name in columns if (table, name) != ("messages", "id")]
            source = f"original_{table}"
            database.execute(f"CREATE TEMP TABLE {source} AS SELECT * FROM {table}")
            written = ", ".join(_copied(table, column) for column in columns)
            named = ", ".join(f'"{column}"' for column in columns)
            database.execute("BEGIN")
            for copy in range(1, copies + 1):
                values = {"copy": f"~{copy}", "later": copy * (last - first + 600.0)}
                database.execute(f"INSERT INTO {table} ({named}) SELECT {written} FROM {source}", values)
            database.execute("COMMIT")
        for _, statement in indexes:
            database.execute(statement)
        database.execute("ANALYZE")
        database.execute("PRAGMA journal_mode = WAL").fetchall()
        counts = [database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ("turns", "conversations")]
        return counts[0], counts[1]
    finally:
        database.close()


_IDS = {
    "conversations": ("id", "turn", "intent"),
    "turns": ("id", "conversation", "client_key"),
    "intents": ("id", "conversation", "nonce"),
    "tool_executions": ("id", "conversation", "turn", "intent"),
    "messages": ("conversation", "turn"),
}
_TIMES = ("at", "created_at", "updated_at", "started_at", "finished_at", "expires_at", "settled_at")


def _copied(table: str, column: str) -> str:
    if column in _IDS[table]:
        return f'"{column}" || :copy'
    if column in _TIMES:
        return f'"{column}" + :later'
    if (table, column) == ("messages", "meta"):
        # The journal names executions, intents and the moment of a ruling; the copy must name its own.
        meta = "meta"
        for key in ("execution", "intent"):
            meta = (
                f"CASE WHEN json_extract(meta, '$.{key}') IS NULL THEN {meta} ELSE"
                f" json_set({meta}, '$.{key}', json_extract(meta, '$.{key}') || :copy) END"
            )
        moved = "strftime('%Y-%m-%dT%H:%M:%f+00:00', json_extract(meta, '$.at'), :later || ' seconds')"
        return (
            f"CASE WHEN meta IS NULL THEN NULL WHEN kind = 'policy' AND json_extract(meta, '$.at') IS NOT NULL"
            f" THEN json_set({meta}, '$.at', {moved}) ELSE {meta} END"
        )
    return f'"{column}"'
