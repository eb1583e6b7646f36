"""Two desks to try things on: a clinic's front desk and a software vendor's support, as tenants of a server.

    await apply_desks(store, settings)

Each is a tenant file with documents in three languages and the business tools on files of its own; what its CRM and its
calendar hold is put there when it is made. The shops beside them show what a policy does; these show `service` and
`guided`.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import yaml

from circumspect.business import BusinessConfig
from circumspect.business.calendar import Booking, booking_id, grid
from circumspect.business.sqlite_calendar import SqliteCalendar
from circumspect.business.sqlite_crm import SqliteCrm
from circumspect.clock import SystemClock
from circumspect.ports import Clock
from circumspect.server.apply_tenant import Applied, apply_file
from circumspect.server.config import Settings
from circumspect.server.directory import data_directory
from circumspect.server.stores import tenants
from circumspect.server.tenants.read_tenant_file import read
from circumspect.stores import SqlStore
from circumspect.tools.tool_context import ToolContext
from circumspect.values import TenantId

NAMES = ("clinic", "vendor")
DIRECTORY = Path(__file__).parent
_BOOKED_DAYS = 5


def find_desk_file(name: str) -> Path:
    return DIRECTORY / name / "tenant.yaml"


async def apply_desks(store: SqlStore, settings: Settings, *, clock: Clock | None = None) -> tuple[Applied, ...]:
    """The sample desks, for a demo. One that was applied before stays as it is now, changes by hand included."""
    clock = clock or SystemClock()
    served = await store.tx(tenants.revisions)
    made = []
    for name in NAMES:
        if name not in served:
            made.append(await apply_file(find_desk_file(name), store, settings, by="demo", clock=clock))
            if folder := data_directory(settings.database):
                await fill_desk(name, folder, clock)
    return tuple(made)


def configure_desk(name: str, folder: Path, clock: Clock) -> BusinessConfig:
    """The desk's business tools, as its file has them."""
    file = read(find_desk_file(name)).file
    assert file is not None
    section = next(one.business for one in file.tools if one.business)
    return section.to_config(ToolContext(TenantId(name), file.language, folder, clock))


async def fill_desk(name: str, folder: Path, clock: Clock) -> None:
    """What its CRM knows, and some meetings of the coming days. The same keys again change nothing."""
    config = configure_desk(name, folder, clock)
    crm, calendar = SqliteCrm(config.folder / "crm.db"), SqliteCalendar(config.folder / "calendar.db")
    leads: list[dict[str, str]] = yaml.safe_load((DIRECTORY / "leads.yaml").read_text("utf-8"))[name]
    for lead in leads:
        changes = {field: value for field, value in lead.items() if field != "email"}
        await crm.save(lead["email"], changes, f"demo {lead['email']}")
    for number in range(_BOOKED_DAYS):
        slots = grid(clock.now().date() + timedelta(days=number + 1), config)
        who = leads[number % len(leads)]
        for start, end in slots[number % 2 :: 3][:4]:
            id_ = booking_id(start, f"demo {name} {start:%Y-%m-%dT%H:%M}")
            await calendar.book(Booking(id_, start, end, who["name"], who["email"]))
