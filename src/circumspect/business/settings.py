"""What a business tells us about its CRM, calendar and mail. Checked when made, so that a mistake is met at start.

Secrets are never shown: they stay out of `repr`, and no error repeats them. `allow` bounds where a system may be: None
is anywhere; otherwise the public internet, and the addresses, networks and names it lists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from circumspect.errors import ConfigError

Hours = tuple[time, time]
WORKDAYS: Mapping[int, Hours] = dict.fromkeys(range(5), (time(9), time(17)))
"""Monday (0) to Friday (4), nine to five."""


def _now() -> datetime:
    return datetime.now(UTC)


def check_url(url: str, what: str) -> None:
    if not url.startswith(("http://", "https://")):
        raise ConfigError(f"'{url}' is no address of {what}.", fix="Give one that begins with https://.")


@dataclass(frozen=True, slots=True)
class CalDav:
    """A calendar on a CalDAV server. `url` is the calendar's own collection, not the server's front page."""

    url: str
    user: str = ""
    password: str = field(default="", repr=False)
    timeout: float = 10.0
    allow: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_url(self.url, "a CalDAV calendar")


@dataclass(frozen=True, slots=True)
class Smtp:
    """A mail server that we hand messages to."""

    host: str
    port: int = 587
    user: str = ""
    password: str = field(default="", repr=False)
    security: Literal["starttls", "tls", "none"] = "starttls"
    timeout: float = 10.0
    ca_file: Path | None = None
    """Certificates to trust, if the server's is not signed by a public authority."""
    allow: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.security == "none" and self.password:
            raise ConfigError(
                "The mail server's password would be sent unencrypted.", fix="Use security='starttls' or 'tls'."
            )


@dataclass(frozen=True, slots=True)
class RestCrm:
    """A CRM that speaks HTTP and JSON: where its leads are, and what it calls their fields.

    `find` is asked with GET; `{email}` and `{id}` are filled in, quoted. `results` is where in the answer the list of
    leads (or the lead) stands, by keys with dots between; empty for the answer itself.
    """

    base_url: str
    find: str = "/leads?email={email}"
    results: str = ""
    update: str = "PATCH /leads/{id}"
    create: str = "POST /leads"
    id_field: str = "id"
    fields: Mapping[str, str] = field(default_factory=dict)
    """Our field name to theirs, where they differ: `{"company": "organisation"}`."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    idempotency_header: str = ""
    """Set it only if the CRM promises to run a request with the same key once."""
    timeout: float = 10.0
    allow: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_url(self.base_url, "a CRM")
        for name in ("update", "create"):
            method = getattr(self, name).partition(" ")[0]
            if method not in ("PATCH", "PUT", "POST"):
                raise ConfigError(
                    f"The CRM's {name} is '{getattr(self, name)}'.", fix="Write a method and a path: PATCH /leads/{id}."
                )


@dataclass(frozen=True, slots=True)
class BusinessConfig:
    """Everything is embedded unless an adapter is given. `folder` holds the embedded files."""

    folder: Path
    zone: str = "UTC"
    hours: Mapping[int, Hours] = field(default_factory=lambda: WORKDAYS)
    """Weekday (Monday is 0) to opening and closing time, in `zone`. A day that is missing is closed."""
    slot_minutes: int = 30
    sender: str = "office@localhost"
    sender_name: str = ""
    calendar: CalDav | None = None
    mail: Smtp | None = None
    crm: RestCrm | None = None
    now: Callable[[], datetime] = _now

    def __post_init__(self) -> None:
        try:
            ZoneInfo(self.zone)
        except (ZoneInfoNotFoundError, ValueError):
            raise ConfigError(f"There is no time zone '{self.zone}'.", fix="Use one such as Asia/Jerusalem.") from None
        if not 5 <= self.slot_minutes <= 24 * 60:
            raise ConfigError(f"slot_minutes is {self.slot_minutes}.", fix="Use 5 to 1440.")
        for day, (opens, closes) in self.hours.items():
            if day not in range(7) or opens >= closes:
                raise ConfigError(
                    f"The hours of day {day} are {opens} to {closes}.", fix="Open before closing, day 0-6."
                )
