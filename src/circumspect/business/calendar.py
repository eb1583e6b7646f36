"""A business's calendar: which times are offered, what a booking is, and what an adapter has to do.

All instants are aware; days and times of day are the business's, in its zone. Times are offered on a grid: from
opening on, one slot after the other, counted in real minutes, so that a change of the clocks neither loses nor doubles
a slot. A booking's id is made of its start and of the call's idempotency key: the same call makes the same booking.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, Protocol
from zoneinfo import ZoneInfo

from circumspect.business.settings import BusinessConfig
from circumspect.errors import ToolError

TimeSlot = tuple[datetime, datetime]
BookingStatus = Literal["booked", "cancelled"]
_ID = re.compile(r"(\d{8}T\d{6}Z)-([0-9a-f]{20})")
_STAMP = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True, slots=True)
class Booking:
    id: str
    start: datetime
    end: datetime
    name: str
    email: str
    note: str = ""
    status: BookingStatus = "booked"


class SlotTaken(ToolError):
    """Somebody else has that time."""

    code = "slot_taken"

    def __init__(self) -> None:
        super().__init__("That time is no longer free; nothing was booked.", fix="Offer another free time.")


class Calendar(Protocol):
    """Where bookings live. No two bookings overlap, however many callers book at once; a second one gets `SlotTaken`.

    `book` and `cancel` may be repeated with the same id: the second time they find that it is done.
    """

    async def find(self, booking_id: str) -> Booking | None: ...

    async def busy(self, start: datetime, end: datetime) -> tuple[TimeSlot, ...]: ...

    async def book(self, booking: Booking) -> Booking: ...

    async def cancel(self, booking_id: str) -> Booking:
        """Raises `ToolError` when there never was such a booking."""
        ...


def booking_id(start: datetime, key: str) -> str:
    return f"{start.astimezone(UTC).strftime(_STAMP)}-{hashlib.sha256(key.encode()).hexdigest()[:20]}"


def start_of(identifier: str) -> datetime | None:
    """When the booking of that id starts; None if it is no id of ours."""
    match = _ID.fullmatch(identifier)
    try:
        return datetime.strptime(match[1], _STAMP).replace(tzinfo=UTC) if match else None
    except ValueError:
        return None


def unknown_booking(identifier: str) -> ToolError:
    return ToolError(f"There is no booking '{identifier[:60]}'.", fix="Ask for the number of the confirmation.")


def grid(day: date, config: BusinessConfig) -> tuple[TimeSlot, ...]:
    """Every slot of a day, free or not, in UTC: in a zone, Python finds instants of a doubled hour unequal."""
    hours = config.hours.get(day.weekday())
    if hours is None:
        return ()
    zone = ZoneInfo(config.zone)
    at, closes = (datetime.combine(day, hour, zone).astimezone(UTC) for hour in hours)
    length = timedelta(minutes=config.slot_minutes)
    slots = []
    while at + length <= closes:
        slots.append((at, at + length))
        at += length
    return tuple(slots)


def free(slots: tuple[TimeSlot, ...], busy: tuple[TimeSlot, ...], now: datetime) -> tuple[TimeSlot, ...]:
    """The slots that lie ahead and that nothing overlaps."""
    return tuple(slot for slot in slots if slot[0] > now and not any(overlap(slot, taken) for taken in busy))


def overlap(one: TimeSlot, other: TimeSlot) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def instants(day: date, at: time, zone: ZoneInfo) -> tuple[datetime, ...]:
    """The instants that a wall clock calls so: none in the hour that is skipped, two in the one that comes twice."""
    found = []
    for fold in (0, 1):
        local = datetime.combine(day, at, zone).replace(fold=fold)
        instant = local.astimezone(UTC)
        if instant.astimezone(zone).replace(tzinfo=None) == local.replace(tzinfo=None) and instant not in found:
            found.append(instant)
    return tuple(found)


def zone_of(name: str | None, config: BusinessConfig) -> ZoneInfo:
    try:
        return ZoneInfo(name or config.zone)
    except (KeyError, ValueError, OSError):
        raise ToolError(f"There is no time zone '{(name or '')[:60]}'.", fix="Use one such as Europe/Berlin.") from None
