"""Usage: what was used and what it cost, by month, tenant, model or mode; as charts, as a table, as CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Query, Request
from starlette.responses import Response

from circumspect.server.access import services_of
from circumspect.server.console import navigation, page_routes
from circumspect.server.console.charts import Chart, Series, draw_stacked_bars
from circumspect.server.console.figures import match_tenants
from circumspect.server.console.i18n import Translator
from circumspect.server.console.rendering import answer, link
from circumspect.server.console.visitors import ReviewerVisitor, tenants_of
from circumspect.server.responses import find_visible_tenants
from circumspect.server.routes import admin as api
from circumspect.server.schemas.admin import EvaluationUsageShown, UsageRowShown
from circumspect.server.schemas.bodies import TENANT
from circumspect.stores.admin import UsageRow
from circumspect.stores.day_counts import sum_escalations
from circumspect.stores.day_tables import turn_days
from circumspect.stores.evaluation_usage import EvaluationUsage, list_evaluation_usage
from circumspect.stores.measures import list_measures
from circumspect.stores.people import VisibleTenants
from circumspect.stores.quotas import list_quotas
from circumspect.values import TenantId

navigation.add(navigation.MenuEntry("nav-usage", "/usage", 58, ("operator", "reviewer"), icon="chart-column"))
router = page_routes.router()
UsageTenantQuery = Annotated[str, Query(max_length=64, pattern=f"^$|{TENANT}")]
PeriodQuery = Annotated[str, Query(pattern=r"^([12][0-9]{3}-(0[1-9]|1[0-2]))?$")]
GROUPS: dict[str, Callable[[UsageRow], str]] = {
    "period": lambda row: row.period,
    "tenant": lambda row: row.tenant,
    "model": lambda row: row.model,
    "mode": lambda row: row.mode,
}
LOOKS = ("f1", "f2", "f3", "f5", "f4", "f6")
WIDEST = 64.0
LONGEST = 18
UNITS = ((1e7, 1e6, "-millions"), (1e4, 1e3, "-thousands"), (0.0, 1.0, ""))
"""From which number on, of what, and how the title says so."""
_REVIEWED = ("verdicts", "met", "not_met", "uncertain", "model_calls", "input_tokens", "output_tokens", "seconds",
             "cost", "billed")  # fmt: skip
_COUNTED = ("messages", "critiques", "context_fetches", "model_calls", "input_tokens", "output_tokens")


@dataclass
class Total:
    """Rows added up. What only adaptive mode does is set against adaptive messages alone."""

    messages: int = 0
    adaptive: int = 0
    critiques: int = 0
    context_fetches: int = 0
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    billed: float = 0.0

    def add(self, row: UsageRow) -> None:
        for name in _COUNTED:
            setattr(self, name, getattr(self, name) + getattr(row, name))
        self.adaptive += row.messages if row.mode == "adaptive" else 0
        self.cost += row.cost
        self.billed += row.billed

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @property
    def critique_share(self) -> float | None:
        return self.critiques / self.adaptive if self.adaptive else None

    @property
    def fetches_each(self) -> float:
        return self.context_fetches / self.adaptive if self.adaptive else 0.0


def totals(rows: Sequence[UsageRow], by: str) -> dict[str, Total]:
    """One total for each month, tenant, model or mode, in that order."""
    found: dict[str, Total] = {}
    for row in sorted(rows, key=GROUPS[by]):
        found.setdefault(GROUPS[by](row), Total()).add(row)
    return found


@router.get("/usage")
async def usage(
    request: Request,
    who: ReviewerVisitor,
    tenant: UsageTenantQuery = "",
    period: PeriodQuery = "",
    by: Annotated[str, Query(max_length=10)] = "period",
) -> Response:
    services = services_of(request)
    seen = find_visible_tenants(who.principal, tenant or None)
    everything = await services.store.tx(api.list_usage, seen, None)
    rows = [row for row in everything if not period or row.period == period]
    by = by if by in GROUPS else "period"
    total = Total()
    for row in rows:
        total.add(row)
    names = await tenants_of(request, who)
    chosen = {"tenant": tenant, "period": period, "by": by}
    reviewed = await services.store.tx(list_evaluation_usage, seen, period or None)
    quotas = await services.store.tx(list_quotas, seen, f"{services.clock.now().astimezone(UTC):%Y-%m}")
    today = services.clock.now().astimezone(UTC)
    last_month = today.replace(day=1) - timedelta(days=1)
    measures = await services.store.tx(list_measures, seen, period)
    days = await services.store.tx(_by_day, seen, *_bounds(period)) if period else {}
    return answer(
        request,
        who,
        "usage/page.html",
        "usage/_fragment.html",
        tenants=names,
        periods=sorted({row.period for row in everything}, reverse=True),
        presets=(("this-month", f"{today:%Y-%m}"), ("last-month", f"{last_month:%Y-%m}"), ("any", "")),
        chosen=chosen,
        groups=tuple(GROUPS),
        total=total,
        escalations=await services.store.tx(_sum_escalations, seen, period),
        table=totals(rows, by),
        reviewed=by_controller(reviewed),
        measures=measures,
        measured_in=_month(period, who.words) if period else who.words.t("any-time"),
        quotas=[one for one in quotas if one.quota is not None or one.message_price],
        reviews_link=link("/usage/evaluations.csv", chosen, by=None),
        csv_link=link("/usage.csv", chosen, by=None),
        **_charts(rows, days, chosen, names, who.words),
    )


@router.get("/usage.csv")
async def as_csv(
    request: Request, who: ReviewerVisitor, tenant: UsageTenantQuery = "", period: PeriodQuery = ""
) -> Response:
    """The rows behind the page, with the columns of the API's own table."""
    rows = await services_of(request).store.tx(
        api.list_usage, find_visible_tenants(who.principal, tenant or None), period or None
    )
    table = api.write_usage([UsageRowShown.of(row) for row in rows])
    name = "-".join(filter(None, ("usage", tenant, period)))
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return Response(table, media_type="text/csv; charset=utf-8", headers=headers)


@router.get("/usage/evaluations.csv")
async def as_evaluations_csv(
    request: Request, who: ReviewerVisitor, tenant: UsageTenantQuery = "", period: PeriodQuery = ""
) -> Response:
    rows = await services_of(request).store.tx(
        list_evaluation_usage, find_visible_tenants(who.principal, tenant or None), period or None
    )
    table = api.write_evaluation_usage([EvaluationUsageShown.of(row) for row in rows])
    name = "-".join(filter(None, ("evaluations", tenant, period)))
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return Response(table, media_type="text/csv; charset=utf-8", headers=headers)


def by_controller(rows: Sequence[EvaluationUsage]) -> dict[str, EvaluationUsage]:
    """All months and models of a controller as one."""
    found: dict[str, EvaluationUsage] = {}
    for row in rows:
        if before := found.get(row.controller):
            row = replace(row, **{name: getattr(before, name) + getattr(row, name) for name in _REVIEWED})
        found[row.controller] = row
    return found


# --- charts ---------------------------------------------------------------------------------------------------------


def _charts(
    rows: Sequence[UsageRow],
    days: dict[date, dict[str, int]],
    chosen: Mapping[str, str],
    names: Mapping[TenantId, str],
    words: Translator,
) -> dict[str, Any]:
    """Messages over time, by day where one month is chosen; tokens and cost by what the table goes by."""
    by, rtl, key = chosen["by"], words.rtl, GROUPS[chosen["by"]]
    groups = sorted({key(row) for row in rows})
    shown = [_name_group(group, by, names, words) for group in groups]

    def sum_by_group(value: Callable[[UsageRow], float]) -> list[float]:
        return [sum(value(row) for row in rows if key(row) == group) for group in groups]

    if chosen["period"]:
        times, counted = [words.day(day) for day in days], list(days.values())
    else:
        months = sorted({row.period for row in rows})
        times, counted = [_month(month, words) for month in months], [_by_mode(rows, month) for month in months]
    looks = {"adaptive": "f1", "standard": "f6"}
    messages = [
        Series(words.t(f"mode-{mode}"), [float(one.get(mode, 0)) for one in counted], look)
        for mode, look in looks.items()
    ]
    sent, back = sum_by_group(lambda row: float(row.input_tokens)), sum_by_group(lambda row: float(row.output_tokens))
    highest = max((one + other for one, other in zip(sent, back, strict=True)), default=0.0)
    unit, suffix = next((size, name) for least, size, name in UNITS if highest >= least)
    tokens = [
        Series(words.t("usage-input"), [value / unit for value in sent], "f1"),
        Series(words.t("usage-output"), [value / unit for value in back], "f2"),
    ]
    cost = _by_model(rows, sum_by_group, words)
    return {
        "messages_chart": _slim(draw_stacked_bars(times, messages, rtl=rtl, written=words.figure, width=540)),
        "tokens_chart": _slim(draw_stacked_bars(shown, tokens, rtl=rtl, written=words.figure, width=540)),
        "tokens_title": f"usage-chart-tokens{suffix}",
        "cost_chart": _slim(draw_stacked_bars(shown, cost, rtl=rtl, written=words.figure, width=540)) if cost else None,
        "daily": bool(chosen["period"]),
    }


def _by_mode(rows: Sequence[UsageRow], month: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in rows:
        if row.period == month:
            counts[row.mode] = counts.get(row.mode, 0) + row.messages
    return counts


def _name_group(group: str, by: str, names: Mapping[TenantId, str], words: Translator) -> str:
    if by == "period":
        return _month(group, words)
    if by == "mode":
        return words.t(f"mode-{group}")
    name = names.get(TenantId(group), group) if by == "tenant" else group or words.t("usage-no-model")
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _slim(chart: Chart) -> Chart:
    """A few bars do not fill the whole width."""
    return replace(
        chart,
        shapes=tuple(
            replace(one, x=one.x + (one.width - WIDEST) / 2, width=WIDEST) if one.width > WIDEST else one
            for one in chart.shapes
        ),
    )


def _by_model(
    rows: Sequence[UsageRow], summed: Callable[[Callable[[UsageRow], float]], list[float]], words: Translator
) -> list[Series]:
    """The dearest ones by name, the rest together; none where nothing had a price."""
    spent: dict[str, float] = {}
    for row in rows:
        spent[row.model] = spent.get(row.model, 0.0) + row.cost
    ranked = sorted((model for model in spent if spent[model]), key=lambda model: (-spent[model], model))
    named, rest = ranked[: len(LOOKS) - 1], frozenset(ranked[len(LOOKS) - 1 :])

    def of(models: frozenset[str]) -> list[float]:
        return summed(lambda row: row.cost if row.model in models else 0.0)

    found = [Series(model, of(frozenset({model})), look) for model, look in zip(named, LOOKS, strict=False)]
    return [*found, Series(words.t("usage-others"), of(rest), LOOKS[-1])] if rest else found


def _month(period: str, words: Translator) -> str:
    from babel.dates import format_date

    return str(format_date(_bounds(period)[0], "LLL y", locale=words.language))


def _bounds(period: str) -> tuple[datetime, datetime]:
    year, month = (int(part) for part in period.split("-"))
    first = datetime(year, month, 1, tzinfo=UTC)
    return first, (first + timedelta(days=32)).replace(day=1)


def _sum_escalations(connection: sa.Connection, seen: VisibleTenants, period: str) -> int:
    return sum_escalations(connection, seen, f"{period}-01" if period else "", f"{period}-31" if period else "9")


def _by_day(
    connection: sa.Connection, seen: VisibleTenants, since: datetime, until: datetime
) -> dict[date, dict[str, int]]:
    """Finished turns of each day of the month, by mode."""
    found: dict[date, dict[str, int]] = {
        (since + timedelta(days=number)).date(): {} for number in range((until - since).days)
    }
    within = turn_days.c.day.between(since.date().isoformat(), max(found).isoformat())
    for row in connection.execute(sa.select(turn_days).where(match_tenants(turn_days, seen), within)):
        counted = found[date.fromisoformat(row.day)]
        counted[row.mode] = counted.get(row.mode, 0) + row.turns
    return found
