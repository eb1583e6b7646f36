"""A new tenant: with nothing but a name, or with everything that a sample shop has. For admins of all tenants."""

from __future__ import annotations

from typing import Annotated

from fastapi import Form, Request
from starlette.responses import Response

from circumspect.demo.samples import names as sample_names
from circumspect.server.access import NotPermitted, require_fresh, services_of
from circumspect.server.change_tenant import make_tenant
from circumspect.server.console import page_routes
from circumspect.server.console.rendering import page
from circumspect.server.console.visitors import AdminVisitor, Visitor
from circumspect.server.schemas.bodies import TENANT
from circumspect.values import LANGUAGES, Language

router = page_routes.router()
PLAN = r"^[A-Za-z0-9_-]{1,64}$"
COMMAND = """cat > tenant.yaml <<END
id: corner
plan: pro
business:
  name: The corner shop
END
circumspect apply tenant.yaml"""


@router.get("/new-tenant")
async def show(request: Request, who: AdminVisitor) -> Response:
    _require_all(who)
    return page(
        request,
        who,
        "tenants/new.html",
        plans=await services_of(request).store.plans(),
        spoken=LANGUAGES,
        samples=sample_names(),
        command=COMMAND,
    )


@router.post("/new-tenant")
async def make(
    request: Request,
    who: AdminVisitor,
    id_: Annotated[str, Form(alias="id", pattern=TENANT)],
    name: Annotated[str, Form(min_length=1, max_length=200, pattern=r"^[^\x00\r\n]*$")],
    language: Annotated[Language, Form()],
    plan: Annotated[str, Form(pattern=PLAN)],
    sample: Annotated[str, Form(max_length=40)] = "",
) -> Response:
    require_fresh(request, who.principal)
    _require_all(who)
    made = await make_tenant(
        services_of(request), who.operator.name, id_, name=name, language=language, plan=plan, sample=sample
    )
    return page_routes.redirect_to(f"/tenants/{made.tenant}?done=made")


def _require_all(who: Visitor) -> None:
    if who.operator.tenants is not None:
        raise NotPermitted("A new tenant is for who sees all of them.", fix="Ask an operator who may see all tenants.")
