"""`/v1/admin/…`: tenants, plans, tools, usage, and the log of what operators did.

Operators of role admin see the tenants they are given; a tenant's key with scope `admin` its own. What a tenant pays
for (its plan) is for operators only. Every change is written into the log in the transaction that makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC
from typing import Annotated

import sqlalchemy as sa
from fastapi import Depends, Path, Query, Request
from starlette.responses import Response

from circumspect.policy.explain import explain
from circumspect.policy.policy_file import Policy
from circumspect.server.access import (
    AdminPrincipal,
    NotPermitted,
    Operator,
    SettingsReader,
    operator,
    require_fresh,
    services_of,
)
from circumspect.server.known_tools import find_known_tools
from circumspect.server.problems import HttpProblem, require_found
from circumspect.server.responses import (
    OPERATOR,
    After,
    PageLimit,
    TenantFilter,
    TenantPath,
    action,
    describe_route,
    find_visible_tenants,
    make_page,
    one_tenant,
    page_after,
    resource,
    to_response,
)
from circumspect.server.schemas.admin import (
    ActionShown,
    EvaluationUsageShown,
    MeasuresShown,
    PlanGiven,
    PlanShown,
    QuotaShown,
    TenantChange,
    TenantShown,
    ToolShown,
    UsageRowShown,
)
from circumspect.server.schemas.bodies import NO_NUL, TENANT, AnswerPage
from circumspect.server.spreadsheet import write_csv
from circumspect.server.stores import tenants
from circumspect.server.stores.tenants import TenantRow
from circumspect.stores import action_log, admin
from circumspect.stores.action_log import ActionResult, LogFilter
from circumspect.stores.admin import UsageRow
from circumspect.stores.evaluation_usage import list_evaluation_usage
from circumspect.stores.measures import list_measures
from circumspect.stores.quotas import list_quotas
from circumspect.stores.tables import usage as usage_table
from circumspect.values import Plan, TenantId, ToolSpec

router = resource("administration")
AdminOperator = Annotated[Operator, Depends(operator("admin"))]
MONTH = r"^[12][0-9]{3}-(0[1-9]|1[0-2])$"
PlanPath = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


# --- tenants --------------------------------------------------------------------------------------------------------


@router.get("/v1/admin/tenants", **describe_route(AnswerPage[TenantShown]))
async def list_tenants(
    request: Request,
    who: AdminPrincipal,
    after: Annotated[str | None, Query(pattern=TENANT, description="`next` of the page before.")] = None,
    limit: PageLimit = 50,
) -> Response:
    """By id."""
    seen = find_visible_tenants(who, None)
    rows = [
        row
        for row in await services_of(request).store.tx(tenants.get_all)
        if (seen is None or row.tenant.id in seen) and (after is None or row.tenant.id > after)
    ]
    following = str(rows[limit - 1].tenant.id) if len(rows) > limit else None
    return to_response(AnswerPage(items=[TenantShown.of(row) for row in rows[:limit]], next=following))


@router.get("/v1/admin/tenants/{tenant_id}", **describe_route(TenantShown, 404))
async def get_tenant(request: Request, who: AdminPrincipal, tenant_id: TenantPath) -> Response:
    """One tenant."""
    row = require_found(await services_of(request).store.tx(tenants.get, one_tenant(who, tenant_id)), "tenant")
    return to_response(TenantShown.of(row))


@router.patch("/v1/admin/tenants/{tenant_id}", **describe_route(TenantShown, 400, 404))
async def change_tenant(request: Request, who: AdminPrincipal, tenant_id: TenantPath, given: TenantChange) -> Response:
    """Change the plan (operators only), the language or the share of adaptive conversations."""
    require_fresh(request, who)
    services = services_of(request)
    tenant = one_tenant(who, tenant_id)
    if given.plan is not None and who.operator is None:
        raise NotPermitted("A tenant does not change its own plan.", fix="Ask an operator.")
    said = given.model_dump(exclude_none=True)
    change = action(services, who.name, "change_tenant")

    def body(connection: sa.Connection) -> TenantRow:
        row = require_found(tenants.get(connection, tenant, lock=True), "tenant")
        changed = row.tenant
        if given.plan is not None:
            plan = admin.get_plan(connection, given.plan)
            if plan is None:
                raise HttpProblem(422, "invalid", "There is no such plan.", fix="GET /v1/admin/plans lists them.")
            changed = replace(changed, plan=plan)
        if given.language is not None:
            changed = replace(changed, language=given.language)
        if given.adaptive_share is not None:
            changed = replace(changed, adaptive_share=given.adaptive_share)
        tenants.put(connection, changed, row.settings or {})
        change.log(connection, tenant, tenant, said)
        after = tenants.get(connection, tenant)
        assert after is not None
        return after

    return to_response(TenantShown.of(await services.store.tx(body)))


# --- plans ----------------------------------------------------------------------------------------------------------


@router.get("/v1/admin/plans", **describe_route(list[PlanShown], security=OPERATOR))
async def list_plans(request: Request, who: AdminOperator) -> Response:
    """By name."""
    return to_response([PlanShown.of(plan) for plan in await services_of(request).store.plans()])


@router.put("/v1/admin/plans/{plan_name}", **describe_route(PlanShown, 400, security=OPERATOR))
async def put_plan(request: Request, who: AdminOperator, plan_name: PlanPath, given: PlanGiven) -> Response:
    """Make or change a plan. What it says holds for every tenant that has it; what is left out is set back."""
    require_fresh(request, who)
    services = services_of(request)
    if who.tenants is not None:
        raise NotPermitted("A plan holds for all tenants.", fix="Ask an operator who may see all of them.")
    plan = Plan(plan_name, given.mode, given.multiplier, given.quota, given.message_price_usd)
    change = action(services, who.name, "put_plan")

    def body(connection: sa.Connection) -> None:
        tenants.put_plan(connection, plan)
        change.log(connection, None, plan.name, given.model_dump())

    await services.store.tx(body)
    return to_response(PlanShown.of(plan))


# --- tools ----------------------------------------------------------------------------------------------------------


@router.get("/v1/admin/tools", **describe_route(list[ToolShown], 404))
async def list_tools(request: Request, who: SettingsReader, tenant: TenantFilter = None) -> Response:
    """A tenant's tools, and what its policy does to a call of each, in words. Those that clients brought along and that
    the tenant's file does not declare are not `reviewed`."""
    services = services_of(request)
    name = one_tenant(who, tenant)
    known = await find_known_tools(services, name)
    policy = known.setup.policy if known.setup else Policy()
    enabled = known.setup.tenant.tools if known.setup else frozenset()

    def show(spec: ToolSpec, reviewed: bool) -> ToolShown:
        return ToolShown.of(
            spec,
            enabled=spec.client or enabled is None or spec.name in enabled,
            reviewed=reviewed,
            explanation=explain(policy, spec.name, spec, name).splitlines(),
        )

    declared = [show(spec, reviewed=True) for _, spec in sorted(known.specs.items())]
    return to_response([*declared, *(show(one.spec, reviewed=False) for one in known.unreviewed)])


# --- usage ----------------------------------------------------------------------------------------------------------


@router.get(
    "/v1/admin/usage",
    **describe_route(
        None,
        404,
        responses={
            200: {
                "model": AnswerPage[UsageRowShown],
                "description": "By tenant, month, mode and model; with `Accept: text/csv` as a table.",
                "content": {"text/csv": {"schema": {"type": "string"}}},
            }
        },
    ),
)
async def get_usage(
    request: Request,
    who: SettingsReader,
    tenant: TenantFilter = None,
    period: Annotated[str | None, Query(pattern=MONTH, description="A month: YYYY-MM, UTC.")] = None,
) -> Response:
    """What was used and what it cost."""
    rows = await services_of(request).store.tx(list_usage, find_visible_tenants(who, tenant), period)
    shown = [UsageRowShown.of(row) for row in rows]
    if "text/csv" not in request.headers.get("accept", ""):
        return to_response(AnswerPage(items=shown, next=None))
    return Response(write_usage(shown), media_type="text/csv", headers={"Content-Disposition": "attachment"})


@router.get("/v1/admin/usage/quotas", **describe_route(AnswerPage[QuotaShown], 404))
async def get_quotas(request: Request, who: SettingsReader, tenant: TenantFilter = None) -> Response:
    """How many of its plan's messages each tenant has had this month, and what a message costs."""
    services = services_of(request)
    period = f"{services.clock.now().astimezone(UTC):%Y-%m}"
    rows = await services.store.tx(list_quotas, find_visible_tenants(who, tenant), period)
    return to_response(AnswerPage(items=[QuotaShown.of(row) for row in rows], next=None))


@router.get("/v1/admin/usage/measures", **describe_route(AnswerPage[MeasuresShown], 404))
async def get_measures(
    request: Request,
    who: SettingsReader,
    tenant: TenantFilter = None,
    period: Annotated[
        str | None, Query(pattern=MONTH, description="A month: YYYY-MM, UTC; this one if left out.")
    ] = None,
) -> Response:
    """How content users were: thumbs, rows of apologies, searches that were not needed."""
    services = services_of(request)
    month = period or f"{services.clock.now().astimezone(UTC):%Y-%m}"
    rows = await services.store.tx(list_measures, find_visible_tenants(who, tenant), month)
    return to_response(AnswerPage(items=[MeasuresShown.of(row) for row in rows], next=None))


@router.get(
    "/v1/admin/usage/evaluations",
    **describe_route(
        None,
        404,
        responses={
            200: {
                "model": AnswerPage[EvaluationUsageShown],
                "description": "By tenant, month, controller and model; with `Accept: text/csv` as a table.",
                "content": {"text/csv": {"schema": {"type": "string"}}},
            }
        },
    ),
)
async def get_evaluation_usage(
    request: Request,
    who: SettingsReader,
    tenant: TenantFilter = None,
    period: Annotated[str | None, Query(pattern=MONTH, description="A month: YYYY-MM, UTC.")] = None,
) -> Response:
    """What reviews of cases came to and cost; turns are in `/v1/admin/usage`."""
    seen = find_visible_tenants(who, tenant)
    rows = await services_of(request).store.tx(list_evaluation_usage, seen, period)
    shown = [EvaluationUsageShown.of(row) for row in rows]
    if "text/csv" not in request.headers.get("accept", ""):
        return to_response(AnswerPage(items=shown, next=None))
    table = write_evaluation_usage(shown)
    return Response(table, media_type="text/csv", headers={"Content-Disposition": "attachment"})


def write_evaluation_usage(rows: Sequence[EvaluationUsageShown]) -> str:
    return write_csv(list(EvaluationUsageShown.model_fields), (row.to_json() for row in rows))


def write_usage(rows: Sequence[UsageRowShown]) -> str:
    return write_csv(list(UsageRowShown.model_fields), (row.to_json() for row in rows))


def list_usage(connection: sa.Connection, seen: frozenset[TenantId] | None, period: str | None) -> Sequence[UsageRow]:
    columns = usage_table.c
    query = sa.select(usage_table).order_by(columns.tenant, columns.period, columns.mode, columns.model)
    if seen is not None:
        query = query.where(columns.tenant.in_(sorted(seen)))
    if period is not None:
        query = query.where(columns.period == period)
    return [UsageRow(*row) for row in connection.execute(query)]


# --- the log --------------------------------------------------------------------------------------------------------


@router.get("/v1/admin/log", **describe_route(AnswerPage[ActionShown], 404))
async def list_log(
    request: Request,
    who: AdminPrincipal,
    tenant: TenantFilter = None,
    by: Annotated[str | None, Query(max_length=200, pattern=NO_NUL, description="Only what this one did.")] = None,
    action_: Annotated[str | None, Query(alias="action", max_length=200, pattern=NO_NUL)] = None,
    result: ActionResult | None = None,
    after: After = None,
    limit: PageLimit = 50,
) -> Response:
    """What operators and keys did, or were refused, the newest first."""
    place = page_after(after)
    rows = await services_of(request).store.tx(
        action_log.list_actions,
        allowed=find_visible_tenants(who, tenant),
        wanted=LogFilter(operator=by, action=action_, result=result),
        before=(place.at, place.id) if place else None,
        limit=limit + 1,
    )
    return to_response(make_page(rows, limit, ActionShown.of, lambda row: (row.at, row.id)))
