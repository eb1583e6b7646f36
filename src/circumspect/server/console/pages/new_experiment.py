"""A new experiment in the browser: one arm beside what the tenant has, and what decides. For admins.

It is made by the function of the API and does nothing until it is started on its own page. What a form has no field for
(several arms, prompts, other guards) is in the command and the API.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Annotated, Any

import orjson
from fastapi import Form, Query, Request
from pydantic import ValidationError
from starlette.responses import Response

from circumspect.errors import CircumspectError
from circumspect.lab.trials.measures import DEFAULT, METRICS
from circumspect.server.access import require_fresh, services_of
from circumspect.server.console import page_routes
from circumspect.server.console.rendering import page
from circumspect.server.console.visitors import AdminVisitor, Visitor, tenants_of
from circumspect.server.problems import status_of
from circumspect.server.responses import one_tenant
from circumspect.server.routes import experiments as api
from circumspect.server.schemas.bodies import TENANT
from circumspect.server.schemas.experiments import ExperimentGiven
from circumspect.server.stores import policies
from circumspect.values import TenantId

router = page_routes.router()
ONE_LINE = r"^[^\x00\r\n]*$"
SHARE = r"^(0?\.[0-9]{1,4}|[01](\.0{1,4})?)?$"
PROFILES = ("standard", "adaptive", "guided", "service")
HORIZON = 2_000
EMPTY: Mapping[str, Any] = {
    **dict.fromkeys(("name", "arm", "policy", "critique_below", "model", "profile"), ""),
    "metric": DEFAULT,
    "horizon": HORIZON,
}


@router.get("/new-experiment")
async def show(request: Request, who: AdminVisitor, tenant: Annotated[str, Query(max_length=64)] = "") -> Response:
    names = await tenants_of(request, who)
    return await _render(request, who, tenant if tenant in names else next(iter(names), ""))


@router.post("/new-experiment")
async def make(
    request: Request,
    who: AdminVisitor,
    tenant: Annotated[str, Form(pattern=TENANT)],
    name: Annotated[str, Form(max_length=200, pattern=ONE_LINE)] = "",
    arm: Annotated[str, Form(max_length=64)] = "",
    policy: Annotated[str, Form(pattern=r"^[0-9]{0,9}$")] = "",
    critique_below: Annotated[str, Form(max_length=8, pattern=SHARE)] = "",
    model: Annotated[str, Form(max_length=300, pattern=ONE_LINE)] = "",
    profile: Annotated[str, Form(max_length=20)] = "",
    metric: Annotated[str, Form(max_length=40)] = DEFAULT,
    horizon: Annotated[int, Form(ge=2, le=10_000_000)] = HORIZON,
) -> Response:
    """What is left empty is as the tenant has it."""
    require_fresh(request, who.principal)
    whose = one_tenant(who.principal, tenant)
    overlay = {
        "policy": int(policy) if policy else None,
        "thresholds": {"critique_below": float(critique_below)} if critique_below else None,
        "model": model.strip() or None,
        "profile": profile or None,
    }
    said = {key: value for key, value in overlay.items() if value is not None}
    written = {**EMPTY, "name": name, "arm": arm, "policy": policy, "critique_below": critique_below}
    written |= {"model": model, "profile": profile, "metric": metric, "horizon": horizon}
    if not said:
        return await _render(request, who, whose, written=written, problem=who.words.t("new-experiment-same"))
    plan = {"metric": metric, "horizon": horizon}
    try:
        given = ExperimentGiven.model_validate({"name": name, "arms": [{"name": arm, "overlay": said}], "plan": plan})
        made = await api.create_experiment(request, who.principal, given, whose)
    except ValidationError as problem:
        first = problem.errors()[0]
        wrong = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        return await _render(request, who, whose, written=written, problem=wrong, english=True)
    except CircumspectError as problem:
        wrong, status = f"{problem.problem} {problem.fix}", status_of(problem)
        return await _render(request, who, whose, written=written, problem=wrong, english=True, status=status)
    return page_routes.redirect_to(f"/experiments/{orjson.loads(made.body)['id']}?done=made")


async def _render(
    request: Request,
    who: Visitor,
    tenant: str,
    *,
    written: Mapping[str, Any] | None = None,
    problem: str = "",
    english: bool = False,
    status: int = 200,
) -> Response:
    versions = await services_of(request).store.tx(policies.versions, TenantId(tenant)) if tenant else ()
    overlay = shlex.quote('careful={"thresholds": {"critique_below": 0.9}}')
    plan = shlex.quote(f'{{"metric": "{DEFAULT}", "horizon": {HORIZON}}}')
    return page(
        request,
        who,
        "experiments/new.html",
        status=422 if problem and status == 200 else status,
        tenant=tenant,
        tenants=await tenants_of(request, who),
        versions=[one.version for one in versions],
        metrics=list(METRICS),
        profiles=PROFILES,
        written=written or EMPTY,
        problem=problem,
        english=english,
        command=f"circumspect experiments create careful --tenant {tenant} --arm {overlay} --plan {plan}",
    )
