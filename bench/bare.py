"""The floor: the writes of a turn in plain sqlite3, on the event loop, with nothing around them.

A plain turn is two transactions (claim the conversation and store the message; store the reply, the journal and the
usage). A guarded action is two such turns, and around the tool one transaction that consumes the intent and writes
the call ahead, and one that writes its result. WAL, synchronous FULL, as our store has it.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from pathlib import Path

from bench.work import ANSWERED, APPROVED, ASKED, DONE, ORDER, PROPOSED, WISHED, Orders

SCHEMA = """
CREATE TABLE conversations (id TEXT PRIMARY KEY, token TEXT, next_seq INTEGER);
CREATE TABLE messages (conversation TEXT, seq INTEGER, role TEXT, content TEXT, meta TEXT,
                       PRIMARY KEY (conversation, seq)) WITHOUT ROWID;
CREATE TABLE turns (id TEXT PRIMARY KEY, conversation TEXT, result TEXT);
CREATE TABLE intents (id TEXT PRIMARY KEY, conversation TEXT, state TEXT, call TEXT);
CREATE TABLE calls (id TEXT PRIMARY KEY, state TEXT, call TEXT, result TEXT);
"""
JOURNAL = json.dumps({"confidence": 0.9, "tool": None, "missing": [], "model": "fake", "tokens": [600, 120]})
CALL = json.dumps({"tool": "cancel_order", "arguments": {"order_id": ORDER}})


def connect(file: Path) -> sqlite3.Connection:
    db = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    return db


class Bare:
    def __init__(self, folder: Path) -> None:
        self.orders = Orders()
        self.db = connect(folder / "bare.db")
        self.db.executescript(SCHEMA)

    async def plain(self, conversation: str) -> str:
        seq = self._open(conversation, ASKED)
        self._close(conversation, seq, ANSWERED)
        return ANSWERED

    async def propose(self, conversation: str) -> None:
        seq = self._open(conversation, WISHED)
        self._close(conversation, seq, PROPOSED, intent=uuid.uuid4().hex)

    async def approve(self, conversation: str) -> str:
        seq = self._open(conversation, APPROVED)
        with self.db:
            self.db.execute("BEGIN IMMEDIATE")
            (call,) = self.db.execute(
                "UPDATE intents SET state = 'consumed' WHERE conversation = ? AND state = 'pending' RETURNING id",
                (conversation,),
            ).fetchone()
            self.db.execute("INSERT INTO calls VALUES (?, 'started', ?, NULL)", (call, CALL))
        result = self.orders.cancel(ORDER)
        with self.db:
            self.db.execute("BEGIN IMMEDIATE")
            self.db.execute("UPDATE calls SET state = 'succeeded', result = ? WHERE id = ?", (result, call))
        self._close(conversation, seq, DONE)
        return DONE

    async def close(self) -> None:
        self.db.close()

    def _open(self, conversation: str, text: str) -> int:
        with self.db:
            self.db.execute("BEGIN IMMEDIATE")
            (seq,) = self.db.execute(
                "INSERT INTO conversations VALUES (?, ?, 1) ON CONFLICT (id) DO UPDATE "
                "SET token = excluded.token, next_seq = next_seq + 1 RETURNING next_seq",
                (conversation, uuid.uuid4().hex),
            ).fetchone()
            self.db.execute(
                "SELECT role, content FROM messages WHERE conversation = ? ORDER BY seq DESC LIMIT 5", (conversation,)
            ).fetchall()
            self.db.execute("INSERT INTO messages VALUES (?, ?, 'user', ?, NULL)", (conversation, seq, text))
        return int(seq)

    def _close(self, conversation: str, seq: int, text: str, intent: str | None = None) -> None:
        rows = [("assistant", text, None), ("internal", "model", JOURNAL), ("internal", "assessment", JOURNAL)]
        with self.db:
            self.db.execute("BEGIN IMMEDIATE")
            self.db.executemany(
                "INSERT INTO messages VALUES (?, ?, ?, ?, ?)",
                [(conversation, seq + number, *row) for number, row in enumerate(rows, 1)],
            )
            self.db.execute("INSERT INTO turns VALUES (?, ?, ?)", (uuid.uuid4().hex, conversation, JOURNAL))
            if intent:
                self.db.execute("INSERT INTO intents VALUES (?, ?, 'pending', ?)", (intent, conversation, CALL))
            self.db.execute(
                "UPDATE conversations SET token = NULL, next_seq = ? WHERE id = ?", (seq + len(rows), conversation)
            )


async def contestant(folder: Path) -> Bare:
    return Bare(folder)
