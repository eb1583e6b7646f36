"""SqliteCalendar: the embedded calendar, one file.

A booking is one transaction that holds the write lock from its first statement; a unique index over the starts of what
is booked stands behind it. A transaction that fails has changed nothing, so every failure here is a plain refusal.
"""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from circumspect.business.calendar import Booking, SlotTaken, TimeSlot, unknown_booking
from circumspect.business.sqlite_file import open_transaction, prepare

_SCHEMA = """
CREATE TABLE IF NOT EXISTS bookings (
    id TEXT PRIMARY KEY, start INTEGER NOT NULL, end INTEGER NOT NULL CHECK (end > start),
    name TEXT NOT NULL, email TEXT NOT NULL, note TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('booked', 'cancelled'))
);
CREATE UNIQUE INDEX IF NOT EXISTS one_booking_a_slot ON bookings (start) WHERE status = 'booked';
CREATE INDEX IF NOT EXISTS bookings_by_end ON bookings (end) WHERE status = 'booked';
"""


class SqliteCalendar:
    def __init__(self, path: Path) -> None:
        prepare(path, _SCHEMA)
        self._path = path

    async def find(self, booking_id: str) -> Booking | None:
        return await asyncio.to_thread(self._find, booking_id)

    async def busy(self, start: datetime, end: datetime) -> tuple[TimeSlot, ...]:
        return await asyncio.to_thread(self._busy, start, end)

    async def book(self, booking: Booking) -> Booking:
        return await asyncio.to_thread(self._book, booking)

    async def cancel(self, booking_id: str) -> Booking:
        return await asyncio.to_thread(self._cancel, booking_id)

    def _find(self, booking_id: str) -> Booking | None:
        with open_transaction(self._path) as database:
            return _get_booking(database, booking_id)

    def _busy(self, start: datetime, end: datetime) -> tuple[TimeSlot, ...]:
        with open_transaction(self._path) as database:
            rows = database.execute(
                "SELECT start, end FROM bookings WHERE status = 'booked' AND start < ? AND end > ? ORDER BY start",
                (_seconds(end), _seconds(start)),
            )
            return tuple((_instant(first), _instant(last)) for first, last in rows)

    def _book(self, booking: Booking) -> Booking:
        with open_transaction(self._path, write=True) as database:
            if before := _get_booking(database, booking.id):
                return before
            span = (_seconds(booking.start), _seconds(booking.end))
            taken = "SELECT 1 FROM bookings WHERE status = 'booked' AND start < ? AND end > ?"
            if database.execute(taken, span[::-1]).fetchone():
                raise SlotTaken
            try:
                database.execute(
                    "INSERT INTO bookings VALUES (?, ?, ?, ?, ?, ?, 'booked')",
                    (booking.id, *span, booking.name, booking.email, booking.note),
                )
            except sqlite3.IntegrityError:
                raise SlotTaken from None
            return booking

    def _cancel(self, booking_id: str) -> Booking:
        with open_transaction(self._path, write=True) as database:
            database.execute("UPDATE bookings SET status = 'cancelled' WHERE id = ?", (booking_id,))
            booking = _get_booking(database, booking_id)
            if booking is None:
                raise unknown_booking(booking_id)
            return booking


def _get_booking(database: sqlite3.Connection, booking_id: str) -> Booking | None:
    row = database.execute(
        "SELECT id, start, end, name, email, note, status FROM bookings WHERE id = ?", (booking_id,)
    ).fetchone()
    return Booking(row[0], _instant(row[1]), _instant(row[2]), *row[3:]) if row else None


def _seconds(instant: datetime) -> int:
    return int(instant.timestamp())


def _instant(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
