"""business_tools: a `BusinessConfig` -> six tools: look up and update a lead; free times, book, cancel; send mail.

What may be done about a call that was interrupted follows from the adapter, not from wishes: bookings and the embedded
CRM and outbox honour our key (`keyed`); a CRM over HTTP does so only where its definition says so and is looked up
otherwise (`lookup`); mail over SMTP is never repeated (`blind`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Annotated, Any

from circumspect.business.calendar import (
    Booking,
    Calendar,
    booking_id,
    free,
    grid,
    instants,
    start_of,
    unknown_booking,
    zone_of,
)
from circumspect.business.call_phrases import phrases_of
from circumspect.business.crm import Crm, Lead, LeadStatus
from circumspect.business.http_session import only_read
from circumspect.business.mail import ADDRESS, Mailer, MailSender, Outbox, SmtpMailer, compose
from circumspect.business.settings import BusinessConfig
from circumspect.errors import ToolError
from circumspect.tools.functions import FunctionTool, IdempotencyKey, tool
from circumspect.tools.toolset import Toolset
from circumspect.values import Json, Recovery

MOST_DAYS = 14


def business_tools(config: BusinessConfig) -> Toolset:
    """All six, embedded or on the systems that the configuration names."""
    return Toolset(list_business_tools(config))


def list_business_tools(config: BusinessConfig) -> list[FunctionTool[..., Any]]:
    return [*crm_tools(config), *calendar_tools(config), *mail_tools(config)]


# --- CRM -------------------------------------------------------------------------------------------------------------


def crm_tools(config: BusinessConfig) -> list[FunctionTool[..., Any]]:
    from pydantic import Field

    crm = _crm(config)
    Email = Annotated[str, Field(pattern=ADDRESS, max_length=254, description="The lead's e-mail address.")]  # noqa: N806
    Short = Annotated[str | None, Field(max_length=120)]  # noqa: N806

    @tool(effect="read", timeout=20, phrases=phrases_of("find_lead"))
    async def find_lead(email: Email) -> dict[str, Json]:
        """Look up what is known about a lead: name, company, phone, status, note."""
        with only_read():
            lead = await crm.find(email)
        return {"found": lead is not None, "lead": lead.to_json() if lead else None}

    async def look_up_update(key: str, arguments: Mapping[str, Json]) -> dict[str, Json] | None:
        """Whether an interrupted update took place: the lead has everything it was to be given."""
        changes = {name: str(value) for name, value in arguments.items() if name != "email" and value is not None}
        lead = await crm.find(str(arguments["email"]))
        return _describe_update(lead) if lead is not None and lead.has(changes) else None

    embedded = config.crm is None
    recovery: Recovery = "keyed" if embedded or (config.crm and config.crm.idempotency_header) else "lookup"

    @tool(
        effect="write",
        recovery=recovery,
        lookup=look_up_update if recovery == "lookup" else None,
        timeout=30,
        phrases=phrases_of("update_lead"),
    )
    async def update_lead(
        email: Email,
        key: IdempotencyKey,
        name: Short = None,
        company: Short = None,
        phone: Annotated[str | None, Field(pattern=r"^\+?[0-9][0-9 ()\-]{5,18}$")] = None,
        status: LeadStatus | None = None,
        note: Annotated[str | None, Field(max_length=1000, description="Replaces the note that is there.")] = None,
    ) -> dict[str, Json]:
        """Change what is known about a lead, or make the lead if there is none. Only what is given is changed."""
        given = {"name": name, "company": company, "phone": phone, "status": status, "note": note}
        changes: dict[str, str] = {field: value for field, value in given.items() if value is not None}
        if not changes:
            raise ToolError("There is nothing to change.", fix="Give at least one field besides the address.")
        return _describe_update(await crm.save(email, changes, key))

    return [find_lead, update_lead]


def _describe_update(lead: Lead) -> dict[str, Json]:
    return {"updated": True, "lead": lead.to_json()}


def _crm(config: BusinessConfig) -> Crm:
    if config.crm is not None:
        from circumspect.business.rest_crm import HttpCrm

        return HttpCrm(config.crm)
    from circumspect.business.sqlite_crm import SqliteCrm

    return SqliteCrm(config.folder / "crm.db")


# --- calendar --------------------------------------------------------------------------------------------------------


def calendar_tools(config: BusinessConfig) -> list[FunctionTool[..., Any]]:
    from pydantic import Field

    calendar = _calendar(config)
    Day = Annotated[dt.date, Field(description="The date, YYYY-MM-DD.")]  # noqa: N806
    Zone = Annotated[  # noqa: N806
        str | None,
        Field(max_length=60, description=f"The customer's IANA time zone, if it is not {config.zone}."),
    ]
    Hour = Annotated[  # noqa: N806
        str, Field(pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$", description="When it starts, HH:MM.")
    ]

    @tool(effect="read", timeout=20, phrases=phrases_of("find_free_times"))
    async def find_free_times(
        date: Day,
        days: Annotated[int, Field(ge=1, le=MOST_DAYS, description="How many days to look at.")] = 1,
        time_zone: Zone = None,
    ) -> dict[str, Json]:
        """List the times at which a meeting can be booked."""
        zone = zone_of(time_zone, config)
        slots = tuple(slot for ahead in range(days) for slot in grid(_later(date, ahead), config))
        with only_read():
            busy = await calendar.busy(slots[0][0], slots[-1][1]) if slots else ()
        open_slots = [start.astimezone(zone) for start, _ in free(slots, busy, config.now())]
        return {
            "time_zone": str(zone),
            "minutes": config.slot_minutes,
            "free": [{"date": f"{at:%Y-%m-%d}", "time": f"{at:%H:%M}", "start": at.isoformat()} for at in open_slots],
        }

    @tool(effect="write", recovery="keyed", timeout=45, phrases=phrases_of("book_meeting"))
    async def book_meeting(
        date: Day,
        time: Hour,
        name: Annotated[str, Field(min_length=2, max_length=80, description="Who is coming.")],
        email: Annotated[str, Field(pattern=ADDRESS, max_length=254, description="Where to reach them.")],
        key: IdempotencyKey,
        note: Annotated[str, Field(max_length=500, description="What it is about.")] = "",
        time_zone: Zone = None,
    ) -> dict[str, Json]:
        """Book a meeting at one of the free times."""
        zone = zone_of(time_zone, config)
        starts = instants(date, dt.time.fromisoformat(time), zone)
        for start in starts:
            # Asked first: a repeated call must find its booking even when the time has begun meanwhile.
            if before := await calendar.find(booking_id(start, key)):
                return _describe_booking(before, zone)
        slot = _slot(starts, config)
        if slot[0] <= config.now():
            raise ToolError("That time has passed; nothing was booked.", fix="Offer a free time.")
        wanted = Booking(booking_id(slot[0], key), *slot, name=name, email=email, note=note)
        return _describe_booking(await calendar.book(wanted), zone)

    @tool(effect="destructive", recovery="keyed", timeout=45, phrases=phrases_of("cancel_meeting"))
    async def cancel_meeting(
        booking_id: Annotated[str, Field(max_length=60, description="The number from the confirmation.")],
        key: IdempotencyKey,
    ) -> dict[str, Json]:
        """Cancel a booked meeting. Its time becomes free for others."""
        if start_of(booking_id) is None:
            raise unknown_booking(booking_id)
        return _describe_booking(await calendar.cancel(booking_id), zone_of(None, config))

    return [find_free_times, book_meeting, cancel_meeting]


def _later(day: dt.date, days: int) -> dt.date:
    try:
        return day + dt.timedelta(days=days)
    except OverflowError:
        raise ToolError("That date is too far away.") from None


def _slot(starts: tuple[dt.datetime, ...], config: BusinessConfig) -> tuple[dt.datetime, dt.datetime]:
    """The slot of the grid that starts then; the grid is the business's, whatever zone the customer named."""
    home = zone_of(None, config)
    slots = [slot for start in starts for slot in grid(start.astimezone(home).date(), config) if slot[0] == start]
    if not starts:
        raise ToolError("The clocks are put forward then: that time does not exist.", fix="Offer a free time.")
    if not slots:
        raise ToolError("No meeting starts at that time; nothing was booked.", fix="Offer a free time.")
    if len(slots) > 1:
        raise ToolError("The clocks are put back then: that time comes twice.", fix="Offer another time.")
    return slots[0]


def _describe_booking(booking: Booking, zone: dt.tzinfo) -> dict[str, Json]:
    start = booking.start.astimezone(zone)
    return {
        "booking_id": booking.id,
        "status": booking.status,
        "date": f"{start:%Y-%m-%d}",
        "time": f"{start:%H:%M}",
        "start": start.isoformat(),
        "end": booking.end.astimezone(zone).isoformat(),
        "time_zone": str(zone),
    }


def _calendar(config: BusinessConfig) -> Calendar:
    if config.calendar is not None:
        from circumspect.business.caldav import CalDavCalendar

        return CalDavCalendar(config.calendar, zone_of(None, config))
    from circumspect.business.sqlite_calendar import SqliteCalendar

    return SqliteCalendar(config.folder / "calendar.db")


# --- mail ------------------------------------------------------------------------------------------------------------


def mail_tools(config: BusinessConfig) -> list[FunctionTool[..., Any]]:
    from pydantic import Field

    sender = MailSender(config.sender, config.sender_name)
    mailer: Mailer = SmtpMailer(config.mail) if config.mail else Outbox(config.folder / "outbox")

    @tool(
        effect="write",
        recovery="blind" if config.mail else "keyed",
        timeout=45,
        phrases=phrases_of("send_email"),
    )
    async def send_email(
        to: Annotated[str, Field(pattern=ADDRESS, max_length=254, description="The one address it goes to.")],
        subject: Annotated[str, Field(min_length=1, max_length=200, description="One line.")],
        body: Annotated[str, Field(min_length=1, max_length=20_000, description="Plain text.")],
        key: IdempotencyKey,
    ) -> dict[str, Json]:
        """Send an e-mail of plain text to one address."""
        message = compose(sender, to, subject, body, key, config.now())
        await mailer.deliver(message, key)
        state = "sent" if config.mail else "written to the outbox"
        return {"status": state, "to": to, "message_id": str(message["Message-ID"])}

    return [send_email]
