"""The overview: how the agents are doing. Every number leads to the conversations behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from starlette.responses import Response

from circumspect.errors import CircumspectError
from circumspect.holds import FATES
from circumspect.server.access import services_of
from circumspect.server.console import navigation, page_routes
from circumspect.server.console.charts import Series, donut, draw_stacked_bars, line
from circumspect.server.console.figures import OUTCOMES, Figures, extra_tokens, figures
from circumspect.server.console.i18n import Translator
from circumspect.server.console.overview_tiles import build_tiles
from circumspect.server.console.read_pool import read
from circumspect.server.console.rendering import answer, link, page
from circumspect.server.console.visitors import Visitor, tenants_of, visitor
from circumspect.server.responses import find_visible_tenants
from circumspect.server.routes.work import find_kinds
from circumspect.server.stores.work_queue import WorkFilter, WorkKind, count_work
from circumspect.values import TenantId

navigation.add(navigation.MenuEntry("nav-overview", "/overview", 15, icon="layout-dashboard"))
router = page_routes.router()
PERIODS = (1, 7, 30, 90)
LOOKS = {"answered": "f1", "asked": "f2", "acted": "f3", "escalated": "f5", "blocked": "f6", "failed": "f4"}
TOP = 8


@router.get("/overview")
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
    extra = await _extra(request, about)
    found = await read(services, figures, seen, since, now, extra)
    period = {"tenant": tenant, "days": days}
    before, day_before = since - timedelta(days=days), since - timedelta(days=1)
    earlier = await read(services, figures, seen, before, day_before, extra, is_over=True)
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
        tiles=build_tiles(found, earlier, who.words),
        waiting=await _count_waiting(request, who, tenant),
        in_tokens=not found.total.cost,
        fates=FATES,
        reasons=found.reasons[:TOP],
        **_charts(found, who.words, period),
    )


@router.get("/overview/needs")
async def needs(
    request: Request, who: Annotated[Visitor, Depends(visitor())], tenant: Annotated[str, Query(max_length=64)] = ""
) -> Response:
    """What needs one now, by itself: it is asked for again whenever something comes or goes."""
    waiting = await _count_waiting(request, who, tenant)
    return page(request, who, "overview/_needs.html", period={"tenant": tenant}, waiting=waiting)


async def _count_waiting(request: Request, who: Visitor, tenant: str) -> Mapping[WorkKind, int]:
    services, seen = services_of(request), find_visible_tenants(who.principal, tenant or None)
    return await read(services, count_work, seen, find_kinds(who.principal), WorkFilter(), services.clock.now())


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
        "outcome_days": draw_stacked_bars(names, outcomes, rtl=rtl, written=words.figure, width=1080),
        "outcome_parts": donut(parts, rtl=rtl, written=words.figure),
        "cost_days": line(names, cost, rtl=rtl, written=words.figure, width=540),
    }
