"""The customer's pages: a tenant's own usage and conversations, in its language.

What they see is what their users saw, and numbers. What went on inside, who of ours answered, what it cost us and what
other tenants do is not on these pages, whoever looks. How the agent reasons is counted only where it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, timedelta
from typing import Annotated, Any
from urllib.parse import quote

import sqlalchemy as sa
from fastapi import APIRouter, Depends, Form, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from circumspect.holds import FATES
from circumspect.server.access import NotSignedIn, services_of
from circumspect.server.console import page_routes
from circumspect.server.console.charts import Chart, Series, draw_stacked_bars
from circumspect.server.console.conversation_search import ConversationFilter, FoundPage, find
from circumspect.server.console.conversation_story import StoryView, read_story
from circumspect.server.console.customers import CustomerVisitor, admit, customer, dismiss
from circumspect.server.console.figures import OUTCOMES, Figures, figures
from circumspect.server.console.page_routes import PageRoute
from circumspect.server.console.pages.overview import LOOKS, PERIODS
from circumspect.server.console.read_pool import read
from circumspect.server.console.rendering import render_template, wants_fragment
from circumspect.server.responses import IdPath, page_after, split_page, write_place
from circumspect.stores import admin
from circumspect.stores.people import StoredConversation, get_conversation
from circumspect.stores.quotas import TenantQuota, list_quotas
from circumspect.stores.tables import VISIBLE, messages
from circumspect.values import ConversationId, TenantId

LOGIN = "/customer/login"
ROWS = 40
MONTHS = 12


class CustomerRoute(PageRoute):
    """Whoever is not signed in comes to the customers' own door."""

    def get_route_handler(self) -> Any:
        handler = super().get_route_handler()

        async def call_handler(request: Request) -> Response:
            response = await handler(request)
            if response.headers.get("hx-redirect", "").startswith("/login"):
                return Response(status_code=401, headers={"HX-Redirect": LOGIN})
            if response.status_code != 303 or not response.headers.get("location", "").startswith("/login"):
                return response
            return RedirectResponse(LOGIN, 303)

        return call_handler


router = APIRouter(route_class=CustomerRoute, include_in_schema=False, default_response_class=Response)
CurrentCustomer = Annotated[CustomerVisitor, Depends(customer)]


def page(request: Request, who: CustomerVisitor | None, template: str, /, status: int = 200, **values: Any) -> Response:
    values = {"customer": who, "own": dict(who.query) if who else {}, **values}
    return HTMLResponse(render_template(request, None, template, **values), status)


# --- signing in -----------------------------------------------------------------------------------------------------


@router.get(LOGIN)
async def form(request: Request) -> Response:
    return page(request, None, "customer/login.html", refused=False)


@router.post(LOGIN)
async def sign_in(request: Request, key: Annotated[str, Form(max_length=500)] = "") -> Response:
    to = page_routes.redirect_to("/customer")
    try:
        await admit(request, to, key)
    except NotSignedIn:
        return page(request, None, "customer/login.html", status=401, refused=True)
    return to


@router.post("/customer/logout")
async def sign_out(request: Request) -> Response:
    """Ends nothing but this browser's own look, so anybody may ask for it."""
    to = page_routes.redirect_to(LOGIN)
    dismiss(request, to)
    return to


# --- usage ----------------------------------------------------------------------------------------------------------


@dataclass
class Month:
    """What was used in a month; the bill's numbers."""

    messages: int = 0
    critiques: int = 0
    fetches: int = 0
    tokens: int = 0
    billed: float = 0.0


@dataclass(frozen=True)
class Used:
    found: Figures
    months: dict[str, Month] = field(default_factory=dict)
    quota: TenantQuota | None = None

    @property
    def has_reasoning(self) -> bool:
        """Is there anything to say about how the agent reasons?"""
        total = self.found.total
        return bool(total.adaptive or total.criticised or total.fetched or self.found.held_count)


@router.get("/customer")
async def usage(request: Request, who: CurrentCustomer, days: Annotated[int, Query(ge=1, le=366)] = 30) -> Response:
    services = services_of(request)
    now = services.clock.now()
    month = now.astimezone(UTC).date().replace(day=1)
    since = (now - timedelta(days=days - 1)).replace(hour=0, minute=0, second=0, microsecond=0)

    def look_up(connection: sa.Connection) -> Used:
        own = frozenset({who.tenant})
        quotas = list_quotas(connection, own, f"{month:%Y-%m}")
        return Used(figures(connection, own, since, now, {}), _months(connection, who.tenant), *quotas)

    used = await read(services, look_up)
    return page(
        request,
        who,
        "customer/usage.html",
        days=days,
        periods=PERIODS,
        used=used,
        fates=FATES,
        total=used.found.total,
        chart=_chart(who, used.found),
        renewed=who.words.day((month + timedelta(days=31)).replace(day=1)),
    )


def _months(connection: sa.Connection, tenant: TenantId) -> dict[str, Month]:
    """The newest first."""
    months: dict[str, Month] = {}
    for row in reversed(admin.get_usage(connection, tenant, None)):
        month = months.setdefault(row.period, Month())
        month.messages += row.messages
        month.critiques += row.critiques
        month.fetches += row.context_fetches
        month.tokens += row.input_tokens + row.output_tokens
        month.billed += row.billed
    return dict(list(months.items())[:MONTHS])


def _chart(who: CustomerVisitor, found: Figures) -> Chart:
    days = list(found.days)
    series = [
        Series(who.words.t(f"outcome-{one}"), [found.days[day].outcomes[one] for day in days], LOOKS[one])
        for one in OUTCOMES
        if found.total.outcomes[one]
    ]
    return draw_stacked_bars(
        [who.words.day(day) for day in days], series, rtl=who.words.rtl, width=1080, written=who.words.figure
    )


# --- conversations --------------------------------------------------------------------------------------------------


@router.get("/customer/conversations")
async def listing(
    request: Request,
    who: CurrentCustomer,
    q: Annotated[str, Query(max_length=200)] = "",
    after: Annotated[str | None, Query(max_length=400)] = None,
) -> Response:
    services = services_of(request)
    place = page_after(after)

    def look_up(connection: sa.Connection) -> tuple[FoundPage, dict[str, str]]:
        wanted, seen = ConversationFilter(q=q), frozenset({who.tenant})
        found = find(connection, seen, wanted, services.clock.now(), place, ROWS + 1)
        return found, _read_first_messages(connection, who.tenant, [row.id for row in found.rows])

    found, begun = await read(services, look_up)
    rows, following = split_page(found.rows, ROWS, lambda row: (row.updated_at, row.id))
    further = write_place(found.further.at, found.further.id) if found.further else None
    template = "customer/_rows.html" if wants_fragment(request) else "customer/conversations.html"
    return page(request, who, template, rows=rows, following=following or further, further=further, begun=begun, q=q)


def _read_first_messages(connection: sa.Connection, tenant: TenantId, ids: Sequence[str]) -> dict[str, str]:
    """What each began with, of what its user could see. One conversation at a time: asked for the least number of each
    of many, a large database reads all messages that its tenant ever had."""
    if not ids:
        return {}
    said = sa.select(messages.c.conversation, messages.c.content).where(messages.c.tenant == tenant, sa.text(VISIBLE))
    firsts = [
        sa.select(said.where(messages.c.conversation == id_).order_by(messages.c.seq).limit(1).subquery())
        for id_ in ids
    ]
    return {row.conversation: row.content for row in connection.execute(sa.union_all(*firsts))}


@router.get("/customer/conversations/{conversation_id}")
async def detail(
    request: Request,
    who: CurrentCustomer,
    conversation_id: IdPath,
    before: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None,
) -> Response:
    def look_up(connection: sa.Connection) -> tuple[StoredConversation, StoryView]:
        found = get_conversation(connection, frozenset({who.tenant}), ConversationId(conversation_id))
        return found, read_story(connection, found, debug=False, before=before)

    found, story = await read(services_of(request), look_up)
    template = "customer/_said.html" if wants_fragment(request) else "customer/conversation.html"
    path = f"/customer/conversations/{quote(found.id, safe='')}"
    return page(request, who, template, conversation=found, story=story, path=path)
