"""Notifications that were given up: what nobody was told, and a button that sends it again. For administrators."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from circumspect.server.access import services_of
from circumspect.server.console import navigation, page_routes
from circumspect.server.console.read_pool import read
from circumspect.server.console.rendering import answer, page
from circumspect.server.console.visitors import AdminVisitor, tenants_of
from circumspect.server.console.work_panel import build_panel
from circumspect.server.responses import find_visible_tenants, page_after, split_page
from circumspect.server.routes import outbox as api
from circumspect.server.routes.outbox import NotificationPath
from circumspect.stores.notifications import NotificationState, get_notification, list_notifications

navigation.add(navigation.MenuEntry("nav-notifications", "/notifications", 65, ("admin",), icon="bell"))
router = page_routes.router()
ROWS = 40


@router.get("/notifications")
async def listing(
    request: Request,
    who: AdminVisitor,
    state: NotificationState = "dead",
    after: Annotated[str | None, Query(max_length=400)] = None,
) -> Response:
    services = services_of(request)
    seen = find_visible_tenants(who.principal, None)
    rows = await read(services, list_notifications, seen, state, page_after(after), ROWS + 1)
    kept, following = split_page(rows, ROWS, lambda row: (row.created_at, row.id))
    return answer(
        request,
        who,
        "notifications/page.html",
        "notifications/_fragment.html",
        rows=kept,
        following=following,
        state=state,
        tenants=await tenants_of(request, who),
        now=services.clock.now(),
    )


@router.get("/notifications/{notification_id}")
async def detail(request: Request, who: AdminVisitor, notification_id: NotificationPath) -> Response:
    services, seen = services_of(request), find_visible_tenants(who.principal, None)
    row = await read(services, get_notification, seen, notification_id)
    return page(
        request,
        who,
        "notifications/detail.html",
        row=row,
        tenants=await tenants_of(request, who),
        **await build_panel(request, who, "delivery", notification_id),
        now=services.clock.now(),
    )


@router.post("/notifications/redrive")
async def redrive_all(request: Request, who: AdminVisitor) -> Response:
    await api.redrive_notifications(request, who.principal)
    return page_routes.redirect_to("/notifications?state=pending")


@router.post("/notifications/{notification_id}/redrive")
async def redrive_one(request: Request, who: AdminVisitor, notification_id: NotificationPath) -> Response:
    await api.redrive_notification(request, who.principal, notification_id)
    return page_routes.redirect_to("/notifications")
