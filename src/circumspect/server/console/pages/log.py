"""The operators' log: who did what and when, and who was refused; as a table, as CSV, and checked from end to end. For
administrators."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from starlette.responses import Response, StreamingResponse

from circumspect.server.access import services_of
from circumspect.server.console import navigation, page_routes
from circumspect.server.console.logged_actions import ACTIONS
from circumspect.server.console.read_pool import read
from circumspect.server.console.rendering import answer, link
from circumspect.server.console.visitors import AdminVisitor, Visitor, tenants_of
from circumspect.server.log_export import name_receivers
from circumspect.server.responses import find_visible_tenants, page_after, split_page
from circumspect.server.schemas.bodies import NO_NUL, TENANT
from circumspect.server.services import Services
from circumspect.server.spreadsheet import write_csv
from circumspect.stores.action_log import ActionResult, LogFilter, LogRow, list_actions
from circumspect.stores.codec import dumps, moment
from circumspect.stores.log_chain import ChainCheck, check_chain
from circumspect.stores.log_exporting import read_lags
from circumspect.values import TenantId

navigation.add(navigation.MenuEntry("nav-log", "/log", 68, ("admin",), icon="scroll-text"))
router = page_routes.router()
ROWS = 50
CSV_ROWS = 1000
CHECK_SECONDS = 30.0
COLUMNS = ("seq", "at", "operator", "action", "tenant", "subject", "result", "origin", "detail", "hash")
LogText = Annotated[str, Query(max_length=200, pattern=NO_NUL)]
LogDay = Annotated[str, Query(pattern=r"^([12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]))?$")]
LogResult = Annotated[str, Query(pattern=r"^(done|refused)?$")]
LogTenant = Annotated[str, Query(max_length=64, pattern=f"^$|{TENANT}")]


@dataclass(frozen=True, slots=True)
class ChosenRows:
    """What the form asks for."""

    tenant: str = ""
    by: str = ""
    action: str = ""
    result: str = ""
    since: str = ""
    until: str = ""

    def to_filter(self) -> LogFilter:
        result: ActionResult | None = "done" if self.result == "done" else "refused" if self.result else None
        until = _read_day(self.until)
        return LogFilter(
            operator=self.by or None,
            action=self.action or None,
            result=result,
            since=_stamp(_read_day(self.since)),
            until=_stamp(until + timedelta(days=1)) if until else None,
        )

    def to_query(self) -> dict[str, str]:
        return asdict(self)


def _read_day(text: str) -> datetime | None:
    """A day that no calendar has is as good as none."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None
    except ValueError:
        return None


def _stamp(at: datetime | None) -> float | None:
    return None if at is None else at.timestamp()


def choose_rows(
    tenant: LogTenant = "",
    by: LogText = "",
    action: LogText = "",
    result: LogResult = "",
    since: LogDay = "",
    until: LogDay = "",
) -> ChosenRows:
    return ChosenRows(tenant, by.strip(), action.strip(), result, since, until)


Chosen = Annotated[ChosenRows, Depends(choose_rows)]


@router.get("/log")
async def listing(
    request: Request, who: AdminVisitor, chosen: Chosen, after: Annotated[str | None, Query(max_length=400)] = None
) -> Response:
    return await _render(request, who, chosen, after)


@router.post("/log/check")
async def check(request: Request, who: AdminVisitor) -> Response:
    """The chain is everybody's, so only who may see all tenants has it checked."""
    if who.operator.tenants is not None:
        return page_routes.redirect_to("/log")
    services, found, late = services_of(request), None, False
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            found = await check_chain(services.store, services.vault)
    except TimeoutError:
        late = True
    return await _render(request, who, ChosenRows(), None, found, late=late)


@router.get("/log.csv")
async def download(request: Request, who: AdminVisitor, chosen: Chosen) -> Response:
    """Everything that the form asks for, piece by piece."""
    seen = find_visible_tenants(who.principal, chosen.tenant or None)
    headers = {"Content-Disposition": 'attachment; filename="log.csv"'}
    body = _write_pieces(services_of(request), seen, chosen.to_filter())
    return StreamingResponse(body, media_type="text/csv; charset=utf-8", headers=headers)


async def _write_pieces(services: Services, seen: frozenset[TenantId] | None, wanted: LogFilter) -> AsyncIterator[str]:
    yield write_csv(COLUMNS, ())
    before: tuple[float, str] | None = None
    while rows := await read(services, list_actions, allowed=seen, wanted=wanted, before=before, limit=CSV_ROWS):
        yield write_csv(COLUMNS, map(_describe, rows)).partition("\r\n")[2]
        before = rows[-1].at, rows[-1].id


def _describe(row: LogRow) -> dict[str, object]:
    values: dict[str, object] = {name: getattr(row, name) for name in COLUMNS}
    return values | {"at": moment(row.at).isoformat(), "detail": dumps(row.detail) if row.detail else ""}


async def _render(
    request: Request,
    who: Visitor,
    chosen: ChosenRows,
    after: str | None,
    found: ChainCheck | None = None,
    *,
    late: bool = False,
) -> Response:
    services, place = services_of(request), page_after(after)
    rows = await read(
        services,
        list_actions,
        allowed=find_visible_tenants(who.principal, chosen.tenant or None),
        wanted=chosen.to_filter(),
        before=(place.at, place.id) if place else None,
        limit=ROWS + 1,
    )
    kept, following = split_page(rows, ROWS, lambda row: (row.at, row.id))
    now = services.clock.now().timestamp()
    everything = who.operator.tenants is None
    lags = await read(services, read_lags, name_receivers(services.settings), now) if everything else {}
    values: dict[str, Any] = {
        "rows": [(row, moment(row.at)) for row in kept],
        "following": following,
        "chosen": chosen.to_query(),
        "actions": ACTIONS if not chosen.action or chosen.action in ACTIONS else (*ACTIONS, chosen.action),
        "tenants": await tenants_of(request, who),
        "csv_link": link("/log.csv", chosen.to_query()),
        "everything": everything,
        "lags": {target: (lag, timedelta(seconds=lag.seconds)) for target, lag in lags.items()},
        "found": found,
        "late": late,
    }
    return answer(request, who, "log/page.html", "log/_fragment.html", **values)
