"""The panel beside an item of the queue: who sees to it, until when it is put off, what colleagues noted, what is next.

Pages of items put `build_panel(...)` into their values and include `queue/_panel.html`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from fastapi import Request

from circumspect.server.access import services_of
from circumspect.server.console.read_pool import read
from circumspect.server.console.visitors import Visitor
from circumspect.server.responses import find_visible_tenants
from circumspect.server.routes.work import BEFORE_EXPIRY, MOST_NOTES, list_colleagues, require_place
from circumspect.server.stores import work_items, work_queue
from circumspect.server.stores.work_items import WorkNote
from circumspect.server.stores.work_queue import WorkItem, WorkSubject

PAGES: dict[WorkSubject, str] = {
    "escalation": "/escalations",
    "approval": "/approvals",
    "draft": "/drafts",
    "delivery": "/notifications",
}
SNOOZES = tuple(timedelta(hours=hours) for hours in (2, 4, 24, 72, 168))


@dataclass(frozen=True, slots=True)
class WorkPanel:
    path: str
    item: WorkItem | None
    """None when it does not wait any more."""
    notes: Sequence[WorkNote]
    colleagues: Sequence[str]
    snoozes: Sequence[timedelta]


def item_path(item: WorkItem | WorkSubject, id_: str = "") -> str:
    """The page on which it is seen to."""
    subject, name = (item.subject, item.id) if isinstance(item, WorkItem) else (item, id_)
    return f"{PAGES[subject]}/{quote(name, safe='')}"


async def build_panel(request: Request, who: Visitor, subject: WorkSubject, id_: str) -> dict[str, Any]:
    services, principal = services_of(request), who.principal
    now, seen = services.clock.now(), find_visible_tenants(principal, None)

    def look_up(connection: sa.Connection) -> WorkPanel:
        place = require_place(connection, principal, subject, id_)
        item = work_queue.find_work(connection, seen, subject, id_, now)
        latest = item.expires_at - BEFORE_EXPIRY - now if item and item.expires_at else None
        return WorkPanel(
            f"/queue/{subject}/{quote(id_, safe='')}",
            item,
            work_items.list_notes(connection, place, MOST_NOTES),
            list_colleagues(connection, place),
            [one for one in SNOOZES if latest is None or one <= latest],
        )

    return {"panel": await read(services, look_up)}
