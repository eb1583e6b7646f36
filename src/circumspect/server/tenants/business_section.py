"""The tenant file's `business` entry among its tools -> a `BusinessConfig`: CRM, calendar and mail of the tenant.

Without further settings they work on files of the tenant's own, beside the server's database. Passwords and tokens are
named, never written: `{secret: dav_password}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import time
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field

from circumspect.errors import ConfigError
from circumspect.policy.keys.meaning import FileSection
from circumspect.tools.definitions import Secret
from circumspect.tools.http_definition import Auth
from circumspect.tools.tool_context import ToolContext

if TYPE_CHECKING:
    from circumspect.business import BusinessConfig, CalDav, RestCrm, Smtp

Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_WEEK: tuple[Weekday, ...] = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_Seconds = Annotated[float, Field(gt=0, le=60, allow_inf_nan=False)]
_Url = Annotated[str, Field(pattern=r"^https?://[^\s/]+(/\S*)?$", max_length=2_000)]
_Text = Annotated[str, Field(max_length=500)]
_Line = Annotated[str, Field(pattern=r"^[^\x00\r\n]{0,200}$")]


def _read_hours(written: str) -> tuple[time, time]:
    first, _, last = written.partition("-")
    return time.fromisoformat(first.strip().zfill(5)), time.fromisoformat(last.strip().zfill(5))


def _check_hours(written: str) -> str:
    opens, closes = _read_hours(written)
    if opens >= closes:
        raise ValueError("it closes before it opens")
    return written


_OpenHours = Annotated[
    str,
    Field(pattern=r"^([01]?\d|2[0-3]):[0-5]\d\s*-\s*([01]?\d|2[0-3]):[0-5]\d$"),
    AfterValidator(_check_hours),
]


class CalendarSection(FileSection):
    """A calendar on a CalDAV server."""

    url: _Url
    """The calendar's own collection, not the server's front page."""
    user: _Text = ""
    """Who we are there."""
    password: Secret | None = None
    """The name of the secret: `{secret: dav_password}`."""
    timeout: _Seconds = 10.0
    """How many seconds an answer is waited for."""


class MailSection(FileSection):
    """A mail server that messages are handed to."""

    host: Annotated[str, Field(pattern=r"^[A-Za-z0-9.:_-]{1,253}$")]
    """Its name."""
    port: Annotated[int, Field(ge=1, le=65_535)] = 587
    """Its port."""
    user: _Text = ""
    """Who we are there."""
    password: Secret | None = None
    """The name of the secret: `{secret: smtp_password}`."""
    security: Literal["starttls", "tls", "none"] = "starttls"
    """How the connection is encrypted; none sends no password."""
    timeout: _Seconds = 10.0
    """How many seconds an answer is waited for."""


class CrmSection(FileSection):
    """A CRM that speaks HTTP and JSON."""

    base_url: _Url
    """What every path below begins with."""
    find: _Text = "/leads?email={email}"
    """Where a lead is looked up, with GET."""
    results: _Text = ""
    """Where in the answer the leads stand, by keys with dots between; empty for the answer itself."""
    update: _Text = "PATCH /leads/{id}"
    """How a lead is changed: a method and a path."""
    create: _Text = "POST /leads"
    """How one is made: a method and a path."""
    id_field: _Text = "id"
    """What it calls a lead's id."""
    fields: Mapping[Literal["email", "name", "company", "phone", "status", "note"], _Text] = Field(default_factory=dict)
    """Our name of a field to theirs, where they differ."""
    auth: Auth | None = None
    """How we show who we are: `{bearer: {secret: crm_token}}`."""
    idempotency_header: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{0,100}$")] = ""
    """Only if the CRM promises to run a request with the same key once."""
    timeout: _Seconds = 10.0
    """How many seconds an answer is waited for."""


class BusinessToolsSection(FileSection):
    """Six tools: find_lead, update_lead, find_free_times, book_meeting, cancel_meeting, send_email."""

    zone: Annotated[str, Field(max_length=100)] = "UTC"
    """The time zone of the business, such as Asia/Jerusalem."""
    hours: Mapping[Weekday, _OpenHours] = Field(default_factory=dict)
    """When meetings can be had, by day: `monday: 9:00-17:00`. A day that is missing is closed; without any, Monday to
    Friday, nine to five."""
    slot_minutes: Annotated[int, Field(ge=5, le=24 * 60)] = 30
    """How long a meeting is."""
    sender: Annotated[str, Field(pattern=r"^[^@\s,;<>]+@[^@\s,;<>]+$", max_length=254)] = "office@localhost"
    """The address that mail comes from."""
    sender_name: _Line = ""
    """The name beside it."""
    calendar: CalendarSection | None = None
    """A CalDAV calendar; without it, a file."""
    mail: MailSection | None = None
    """A mail server; without it, messages are written to a folder."""
    crm: CrmSection | None = None
    """A CRM over HTTP; without it, a file."""

    def secrets(self) -> Iterator[str]:
        for one in (self.calendar and self.calendar.password, self.mail and self.mail.password):
            if one:
                yield one.secret
        if self.crm and self.crm.auth:
            yield from self.crm.auth.secrets()

    def to_config(self, context: ToolContext, allow: Sequence[str] = ()) -> BusinessConfig:
        """Systems on the public internet and those of `allow` are reached, and no others. Raises `ConfigError` for a
        secret or a time zone that is not there, and for a password that would go unencrypted."""
        from circumspect.business import BusinessConfig
        from circumspect.business.settings import WORKDAYS

        for name in self.secrets():
            if name not in context.secrets:
                raise ConfigError(f"There is no secret '{name}'.", fix="Add it below `secrets` in the tenant's file.")
        hours = {_WEEK.index(day): _read_hours(written) for day, written in self.hours.items()}
        return BusinessConfig(
            folder=context.directory / "business" / context.tenant,
            zone=self.zone,
            hours=hours or WORKDAYS,
            slot_minutes=self.slot_minutes,
            sender=self.sender,
            sender_name=self.sender_name,
            calendar=self._calendar(context, tuple(allow)),
            mail=self._mail(context, tuple(allow)),
            crm=self._crm(context, tuple(allow)),
            now=context.clock.now,
        )

    def _calendar(self, context: ToolContext, allow: tuple[str, ...]) -> CalDav | None:
        from circumspect.business import CalDav

        said = self.calendar
        if said is None:
            return None
        return CalDav(said.url, said.user, _get(said.password, context), said.timeout, allow)

    def _mail(self, context: ToolContext, allow: tuple[str, ...]) -> Smtp | None:
        from circumspect.business import Smtp

        said = self.mail
        if said is None:
            return None
        password = _get(said.password, context)
        return Smtp(said.host, said.port, said.user, password, said.security, said.timeout, allow=allow)

    def _crm(self, context: ToolContext, allow: tuple[str, ...]) -> RestCrm | None:
        from circumspect.business import RestCrm

        said = self.crm
        if said is None:
            return None
        headers, query, _ = said.auth.build_credentials(context.secrets) if said.auth else ({}, {}, [])
        if query:
            raise ConfigError("The CRM's secret would stand in addresses.", fix="Use bearer, basic or header.")
        plain = said.model_dump(exclude={"auth"})
        return RestCrm(**plain, headers=headers, allow=allow)


def _get(password: Secret | None, context: ToolContext) -> str:
    return context.secrets[password.secret] if password else ""
