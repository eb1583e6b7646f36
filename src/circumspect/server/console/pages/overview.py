"""The overview: how the agents are doing. Every number leads to the conversations behind it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from starlette.responses import Response

from circumspect.errors import CircumspectError
from circumspect.server.access import services_of
from circumspect.server.console import navigation, page_routes
from circumspect.server.console.charts import Series, donut, draw_stacked_bars, line
from circumspect.server.console.figures import OUTCOMES, Figures, extra_tokens, figures
from circumspect.server.console.i18n import Translator
from circumspect.server.console.read_pool import read
from circumspect.server.console.rendering import answer, link
from circumspect.server.console.visitors import Visitor, tenants_of, visitor
from circumspect.server.responses import find_visible_tenants
from circumspect.values import TenantId

navigation.add(navigation.MenuEntry("nav-overview", "/", 10))
router = page_routes.router()
PERIODS = (1, 7, 30, 90)
LOOKS = {"answered": "f1", "asked": "f2", "acted": "f3", "escalated": "f4", "blocked": "f5", "failed": "f6"}
TOP = 8


@router.get("/")
async def overview(
    request: Request,
    who: Annotated[Visitor, Depends(visitor())],
    tenant: Annotated[str, Query(max_length=64)] = "",
    days: Annotated[int, Query(ge=1, le=366)] = 30,
) -> Response:
    services = services_of(request)
    seen, now = find_visible_tenants(who.principal, tenant or None), services.clock.now()
    names = await tenants_of(request, who)
    about = [TenantId(tenant)] if tenant else list(names)
    since = (now - timedelta(days=days - 1)).replace(hour=0, minute=0, second=0, microsecond=0)
    found = await read(services, figures, seen, since, now, await _extra(request, about))
    period = {"tenant": tenant, "days": days}
    return answer(
        request,
        who,
        "overview/page.html",
        "overview/_fragment.html",
        live="conversations",
        tenants=names,
        period=period,
        periods=PERIODS,
        found=found,
        total=found.total,
        in_tokens=not found.total.cost,
        held_count=sum(count for _, count in found.held),
        reasons=found.reasons[:TOP],
        **_charts(found, who.words, period),
    )


async def _extra(request: Request, tenants: Iterable[TenantId]) -> dict[TenantId, int]:
    """What standard mode would send on top, by tenant. One that cannot be served now is taken as it is."""
    services, extra = services_of(request), {}
    for tenant in tenants:
        try:
            extra[tenant] = extra_tokens(await services.directory.setup(tenant), services.clock.now())
        except CircumspectError:
            continue
    return extra


def _charts(found: Figures, words: Translator, period: dict[str, Any]) -> dict[str, Any]:
    days, rtl = list(found.days), words.rtl
    names = [words.day(day) for day in days]
    tenant = period["tenant"]
    outcomes = [
        Series(
            words.t(f"outcome-{one}"),
            [found.days[day].outcomes[one] for day in days],
            LOOKS[one],
            [link("/conversations", tenant=tenant, outcome=one, on=day.isoformat()) for day in days],
        )
        for one in OUTCOMES
    ]
    parts = [
        (
            words.t(f"outcome-{one}"),
            float(found.total.outcomes[one]),
            LOOKS[one],
            link("/conversations", period, outcome=one),
        )
        for one in OUTCOMES
    ]
    in_tokens = not found.total.cost
    gap = float("nan")
    spent, standard = [], []
    for day in days:
        sums = found.days[day]
        spent.append(sums.each(sums.tokens if in_tokens else sums.cost) if sums.turns else gap)
        standard.append(sums.each(sums.standard_tokens if in_tokens else sums.standard_cost) if sums.turns else gap)
    links = [link("/conversations", tenant=tenant, on=day.isoformat()) for day in days]
    cost = [Series(words.t("cost-ours"), spent, "l1", links), Series(words.t("cost-standard"), standard, "l2")]
    return {
        "outcome_days": draw_stacked_bars(names, outcomes, rtl=rtl, width=1080),
        "outcome_parts": donut(parts, rtl=rtl),
        "cost_days": line(names, cost, rtl=rtl, width=540),
    }
