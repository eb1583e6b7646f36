"""`/v1/admin/outbox`: notifications that wait, left, or were given up; and sending the last ones again."""

from __future__ import annotations

from typing import Annotated

import sqlalchemy as sa
from fastapi import Path, Query, Request
from starlette.responses import Response

from circumspect.server.access import AdminPrincipal, services_of
from circumspect.server.responses import (
    After,
    PageLimit,
    TenantFilter,
    action,
    describe_route,
    find_visible_tenants,
    make_page,
    page_after,
    resource,
    to_response,
)
from circumspect.server.schemas.bodies import AnswerPage
from circumspect.server.schemas.outbox import NotificationShown, Redriven
from circumspect.stores import notifications
from circumspect.stores.notifications import NotificationRow, NotificationState

router = resource("outbox")
# Of a turn, a call or an escalation, and behind a colon the number of the receiver.
NotificationPath = Annotated[str, Path(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9._:-]+$")]


@router.get("/v1/admin/outbox", **describe_route(AnswerPage[NotificationShown], 404))
async def list_notifications(
    request: Request,
    who: AdminPrincipal,
    tenant: TenantFilter = None,
    state: Annotated[NotificationState | None, Query(description="`dead` are those that were given up.")] = None,
    after: After = None,
    limit: PageLimit = 50,
) -> Response:
    """The newest first. What they say is not shown."""
    rows = await services_of(request).store.tx(
        notifications.list_notifications, find_visible_tenants(who, tenant), state, page_after(after), limit + 1
    )
    return to_response(make_page(rows, limit, NotificationShown.of, lambda row: (row.created_at, row.id)))


@router.post("/v1/admin/outbox/redrive", **describe_route(Redriven, 404))
async def redrive_notifications(request: Request, who: AdminPrincipal, tenant: TenantFilter = None) -> Response:
    """Send all again that were given up."""
    services, seen = services_of(request), find_visible_tenants(who, tenant)
    change = action(services, who.name, "redrive")

    def body(connection: sa.Connection) -> int:
        number = notifications.redrive_all(connection, seen)
        change.log(connection, tenant, "", {"notifications": number})
        return number

    return to_response(Redriven(notifications=await services.store.tx(body)))


@router.post("/v1/admin/outbox/{notification_id}/redrive", **describe_route(NotificationShown, 404))
async def redrive_notification(
    request: Request, who: AdminPrincipal, notification_id: NotificationPath, tenant: TenantFilter = None
) -> Response:
    """Send one again that was given up."""
    services, seen = services_of(request), find_visible_tenants(who, tenant)
    change = action(services, who.name, "redrive")

    def body(connection: sa.Connection) -> NotificationRow:
        row = notifications.redrive(connection, seen, notification_id)
        change.log(connection, row.tenant, row.id)
        return row

    return to_response(NotificationShown.of(await services.store.tx(body)))
