"""The workshop's own tools, made of a ToolContext: its bookings are an SQLite file beside the agent's database."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date

from circumspect import tool
from circumspect.errors import ToolError
from circumspect.tools import FunctionTool, IdempotencyKey, ToolContext


def tools(context: ToolContext) -> list[FunctionTool]:
    path = context.directory / "workshop.db"
    stands = int(context.options.get("stands", 1))

    def connect() -> closing[sqlite3.Connection]:
        path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("CREATE TABLE IF NOT EXISTS bookings (id TEXT PRIMARY KEY, day TEXT, phone TEXT, active INTEGER)")
        return closing(db)

    def taken(db: sqlite3.Connection, day: date) -> int:
        return db.execute("SELECT count(*) FROM bookings WHERE day = ? AND active", (str(day),)).fetchone()[0]

    @tool(effect="read")
    def free_stands(day: date) -> dict:
        """How many repair stands are free on a day.

        Args:
            day: The day, YYYY-MM-DD.
        """
        with connect() as db:
            return {"day": str(day), "free": stands - taken(db, day)}

    @tool(effect="write", recovery="keyed", phrases={"en": "book a repair stand on {day} for {phone}"})
    def book_stand(day: date, phone: str, key: IdempotencyKey) -> dict:
        """Book a repair stand for a day.

        Args:
            day: The day, YYYY-MM-DD.
            phone: The customer's phone number.
        """
        with connect() as db:
            db.execute("BEGIN IMMEDIATE")
            # The key is the booking's id: the same call made again finds what it did the first time.
            if not db.execute("SELECT 1 FROM bookings WHERE id = ?", (key,)).fetchone():
                if taken(db, day) >= stands:
                    raise ToolError(f"No stand is free on {day}.")
                db.execute("INSERT INTO bookings VALUES (?, ?, ?, 1)", (key, str(day), phone))
            db.execute("COMMIT")
        return {"booking": key, "day": str(day)}

    @tool(effect="destructive", recovery="keyed", phrases={"en": "cancel the booking of {phone} on {day}"})
    def cancel_booking(day: date, phone: str, key: IdempotencyKey) -> dict:
        """Cancel the bookings of a phone number on a day. Doing it twice changes nothing.

        Args:
            day: The day, YYYY-MM-DD.
            phone: The phone number they were made with.
        """
        with connect() as db:
            db.execute("UPDATE bookings SET active = 0 WHERE day = ? AND phone = ?", (str(day), phone))
        return {"day": str(day), "cancelled": True}

    return [free_stands, book_stand, cancel_booking]
