"""CalDavCalendar: a calendar on any CalDAV server (RFC 4791): Radicale, Nextcloud, Fastmail, iCloud and others.

CalDAV has no transaction over two events, but a PUT with `If-None-Match: *` creates a resource once. So the resource is
named after the slot: two bookings of one slot are one name, and the server lets only the first be made. After that the
calendar is read again: should a colleague have put something over the slot meanwhile, our booking is taken back.
The event's UID is made from the idempotency key, which tells a repeated call from somebody else's. A cancelled booking
leaves a cancelled, transparent event behind, so that a repeated call knows what happened.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

from circumspect.business.calendar import (
    Booking,
    BookingStatus,
    SlotTaken,
    TimeSlot,
    overlap,
    start_of,
    unknown_booking,
)
from circumspect.business.http_session import after_the_change, client, send
from circumspect.business.settings import CalDav
from circumspect.errors import ConfigError, ToolError

if TYPE_CHECKING:
    import httpx2
    import icalendar

_WHAT = "calendar"
_DOMAIN = "circumspect"
_QUERY = """<?xml version="1.0" encoding="utf-8"?>
<C:calendar-query xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">
  <D:prop><D:getetag/><C:calendar-data/></D:prop>
  <C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT">
    <C:time-range start="{start}" end="{end}"/>
  </C:comp-filter></C:comp-filter></C:filter>
</C:calendar-query>"""
_DATA = "{urn:ietf:params:xml:ns:caldav}calendar-data"
_STAMP = "%Y%m%dT%H%M%SZ"


class CalDavCalendar:
    def __init__(self, settings: CalDav, zone: ZoneInfo) -> None:
        try:
            import icalendar  # noqa: F401
            import recurring_ical_events  # type: ignore[import-untyped]  # noqa: F401
        except ImportError:
            raise ConfigError(
                "The packages icalendar and recurring-ical-events are missing.", fix="Install circumspect[business]."
            ) from None
        self._settings = settings
        self._zone = zone

    async def find(self, booking_id: str) -> Booking | None:
        async with self._http() as http:
            return await self._find(http, booking_id)

    async def busy(self, start: datetime, end: datetime) -> tuple[TimeSlot, ...]:
        async with self._http() as http:
            return tuple(span for _, span in await self._events(http, start, end))

    async def book(self, booking: Booking) -> Booking:
        async with self._http() as http:
            if before := await self._find(http, booking.id):
                return before
            if await self._others(http, booking):
                raise SlotTaken
            headers = {"content-type": "text/calendar; charset=utf-8", "if-none-match": "*"}
            body = _to_icalendar(booking, _uid(booking.id))
            put = await send(
                http, _WHAT, "PUT", self._slot(booking.start), accept=(412,), content=body, headers=headers
            )
            with after_the_change(_WHAT, SlotTaken):
                if put.status_code == 412:
                    # Made by ourselves a moment ago (a repeated call), or by another customer.
                    if before := await self._find(http, booking.id):
                        return before
                    raise SlotTaken
                if await self._others(http, booking):
                    await self._remove(http, booking.id)
                    raise SlotTaken
            return booking

    async def cancel(self, booking_id: str) -> Booking:
        async with self._http() as http:
            booking = await self._find(http, booking_id)
            if booking is None:
                raise unknown_booking(booking_id)
            cancelled = replace(booking, status="cancelled")
            headers = {"content-type": "text/calendar; charset=utf-8", "if-none-match": "*"}
            body = _to_icalendar(cancelled, f"cancelled-{_uid(booking_id)}")
            await send(http, _WHAT, "PUT", self._trace(booking_id), accept=(412,), content=body, headers=headers)
            with after_the_change(_WHAT):
                await self._remove(http, booking_id)
            return cancelled

    # --- resources ---------------------------------------------------------------------------------------------------

    def _http(self) -> httpx2.AsyncClient:
        settings = self._settings
        auth = (settings.user, settings.password) if settings.user else None
        return client(settings.timeout, settings.allow, auth=auth)

    def _slot(self, start: datetime) -> str:
        return f"{self._settings.url.rstrip('/')}/slot-{start.astimezone(UTC).strftime(_STAMP)}.ics"

    def _trace(self, booking_id: str) -> str:
        return f"{self._settings.url.rstrip('/')}/cancelled-{booking_id}.ics"

    async def _find(self, http: httpx2.AsyncClient, booking_id: str) -> Booking | None:
        """The booking as it stands: cancelled if it left a trace, else what is in its slot if that is ours."""
        start = start_of(booking_id)
        if start is None:
            return None
        trace = await send(http, _WHAT, "GET", self._trace(booking_id), accept=(404, 410))
        if trace.is_success:
            return _read(trace.content, booking_id, "cancelled")
        slot = await send(http, _WHAT, "GET", self._slot(start), accept=(404, 410))
        return _read(slot.content, booking_id, "booked") if slot.is_success else None

    async def _remove(self, http: httpx2.AsyncClient, booking_id: str) -> None:
        """Take our event out of its slot, and nobody else's: the entity tag is of what was read."""
        start = start_of(booking_id)
        assert start is not None
        slot = await send(http, _WHAT, "GET", self._slot(start), accept=(404, 410))
        if not slot.is_success or _read(slot.content, booking_id, "booked") is None:
            return
        tag = slot.headers.get("etag")
        headers = {"if-match": tag} if tag else {}
        await send(http, _WHAT, "DELETE", self._slot(start), accept=(404, 410), headers=headers)

    async def _others(self, http: httpx2.AsyncClient, booking: Booking) -> bool:
        """Something else stands in the time of the booking."""
        ours, span = _uid(booking.id), (booking.start, booking.end)
        events = await self._events(http, booking.start, booking.end)
        return any(uid != ours and overlap(taken, span) for uid, taken in events)

    async def _events(self, http: httpx2.AsyncClient, start: datetime, end: datetime) -> list[tuple[str, TimeSlot]]:
        # A day more on either side: floating times and all-day events are read in our zone, the server may use another.
        margin = timedelta(days=1)
        first, last = ((at.astimezone(UTC) + by).strftime(_STAMP) for at, by in ((start, -margin), (end, margin)))
        body = _QUERY.format(start=first, end=last)
        headers = {"content-type": "application/xml; charset=utf-8", "depth": "1"}
        answer = await send(http, _WHAT, "REPORT", self._settings.url, content=body, headers=headers)
        try:
            # The server is one that the business chose, and the parser refuses entities that grow without bounds.
            texts = [node.text or "" for node in ElementTree.fromstring(answer.content).iter(_DATA)]  # noqa: S314
            found = [event for text in texts for event in self._spans(text, start, end)]
        except (ElementTree.ParseError, ValueError):
            raise ToolError("The calendar's answer cannot be read; nothing was changed.") from None
        return [(uid, span) for uid, span in found if overlap(span, (start, end))]

    def _spans(self, text: str, start: datetime, end: datetime) -> Iterator[tuple[str, TimeSlot]]:
        """What an event, with all of its repetitions, takes up."""
        import icalendar
        import recurring_ical_events

        calendar = icalendar.Calendar.from_ical(text)
        margin = timedelta(days=1)
        for event in recurring_ical_events.of(calendar).between(start - margin, end + margin):
            if str(event.get("TRANSP", "")).upper() == "TRANSPARENT" or str(event.get("STATUS", "")) == "CANCELLED":
                continue
            yield str(event.get("UID", "")), (self._instant(event.start), self._instant(event.end))

    def _instant(self, value: date | datetime) -> datetime:
        if not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        return value if value.tzinfo else value.replace(tzinfo=self._zone)


# --- events ----------------------------------------------------------------------------------------------------------


def _uid(booking_id: str) -> str:
    return f"{booking_id}@{_DOMAIN}"


def _to_icalendar(booking: Booking, uid: str) -> bytes:
    """The booking as an iCalendar object. The library escapes what people wrote: it cannot become a property."""
    import icalendar

    event = icalendar.Event()
    event.add("uid", uid)
    event.add("dtstamp", datetime.now(UTC))
    event.add("dtstart", booking.start.astimezone(UTC))
    event.add("dtend", booking.end.astimezone(UTC))
    event.add("summary", booking.name)
    event.add("description", booking.note)
    event.add("contact", booking.email)
    event.add("status", "CANCELLED" if booking.status == "cancelled" else "CONFIRMED")
    event.add("transp", "TRANSPARENT" if booking.status == "cancelled" else "OPAQUE")
    calendar = icalendar.Calendar()
    calendar.add("prodid", "-//circumspect//booking//EN")
    calendar.add("version", "2.0")
    calendar.add_component(event)
    return bytes(calendar.to_ical())


def _read(content: bytes, booking_id: str, status: BookingStatus) -> Booking | None:
    """The booking in a resource; None when it is somebody else's."""
    import icalendar

    try:
        events = icalendar.Calendar.from_ical(content).walk("VEVENT")
    except ValueError:
        raise ToolError("The calendar's answer cannot be read; nothing was changed.") from None
    for event in events:
        if isinstance(event, icalendar.Event) and _is(event, booking_id):
            start, end = event.start, event.end
            if isinstance(start, datetime) and isinstance(end, datetime):
                name, email, note = (str(event.get(field, "")) for field in ("SUMMARY", "CONTACT", "DESCRIPTION"))
                return Booking(booking_id, start, end, name, email, note, status)
    return None


def _is(event: icalendar.Event, booking_id: str) -> bool:
    return str(event.get("UID", "")).removeprefix("cancelled-") == _uid(booking_id)
