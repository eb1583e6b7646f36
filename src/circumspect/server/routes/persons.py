"""`/v1/admin/persons/{person}`: everything that is kept about an end user, to hand over or to delete."""

from __future__ import annotations

from typing import Annotated

import sqlalchemy as sa
from fastapi import Depends, Request
from starlette.responses import Response

from circumspect.server.access import Principal, either, services_of
from circumspect.server.responses import IdPath, TenantQuery, action, answer, described, one_tenant, resource
from circumspect.server.schemas.persons import Forgotten, PersonExport
from circumspect.server.stores import privacy

router = resource("persons")
Administering = Annotated[Principal, Depends(either("admin", ("admin",)))]


@router.get("/v1/admin/persons/{person}", **described(PersonExport, 404))
async def export_person(request: Request, who: Administering, person: IdPath, tenant: TenantQuery = None) -> Response:
    """Every conversation of that person, with what was said, thought and done in it. Empty when there is none."""
    services, name = services_of(request), one_tenant(who, tenant)
    change = action(services, who.name, "export_person")

    def body(connection: sa.Connection) -> object:
        found = privacy.export_person(connection, name, person)
        change.log(connection, name, person)
        return found

    return answer(await services.store.tx(body), headers={"Cache-Control": "no-store"})


@router.delete("/v1/admin/persons/{person}", **described(Forgotten, 404))
async def delete_person(request: Request, who: Administering, person: IdPath, tenant: TenantQuery = None) -> Response:
    """Delete all of that person's conversations. Usage stays counted; the log keeps that it was done, and by whom."""
    services, name = services_of(request), one_tenant(who, tenant)
    change = action(services, who.name, "delete_person")

    def body(connection: sa.Connection) -> int:
        number = privacy.delete_person(connection, name, person)
        change.log(connection, name, person, {"conversations": number})
        return number

    return answer({"conversations": await services.store.tx(body)})
