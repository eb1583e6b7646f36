"""`/v1/admin/persons/{person}`: everything that is kept about an end user, to hand over or to delete."""

from __future__ import annotations

from functools import partial

import sqlalchemy as sa
from fastapi import Request
from starlette.responses import Response

from circumspect.server.access import (
    AdminPrincipal,
    require_fresh,
    services_of,
)
from circumspect.server.background import by_and_by
from circumspect.server.responses import (
    PersonPath,
    TenantFilter,
    action,
    describe_route,
    one_tenant,
    resource,
    to_response,
)
from circumspect.server.schemas.persons import Forgotten, PersonExport
from circumspect.server.stores import privacy
from circumspect.stores import action_log
from circumspect.stores.word_search import merge_words

router = resource("persons")


@router.get("/v1/admin/persons/{person:path}", **describe_route(PersonExport, 404))
async def export_person(
    request: Request, who: AdminPrincipal, person: PersonPath, tenant: TenantFilter = None
) -> Response:
    """Every conversation of that person, with what was said, thought and done in it. Empty when there is none."""
    require_fresh(request, who)
    services, name = services_of(request), one_tenant(who, tenant)
    change, new = action(services, who.name, "export_person"), services.ids.new("person")

    def body(connection: sa.Connection) -> PersonExport:
        found = privacy.export_person(connection, name, person)
        known = action_log.give_pseudonym(connection, name, person, new) if found["conversations"] else ""
        change.log(connection, name, known)
        return PersonExport.model_validate(found)

    return to_response(await services.store.tx(body), headers={"Cache-Control": "no-store"})


@router.delete("/v1/admin/persons/{person:path}", **describe_route(Forgotten, 404))
async def delete_person(
    request: Request, who: AdminPrincipal, person: PersonPath, tenant: TenantFilter = None
) -> Response:
    """Delete all of that person's conversations. Usage stays counted; the log keeps that it was done, and by whom, with
    another name for the person."""
    require_fresh(request, who)
    services, name = services_of(request), one_tenant(who, tenant)
    change, new = action(services, who.name, "delete_person"), services.ids.new("person")
    number = await by_and_by(partial(services.store.tx, privacy.delete_person, name, person))

    def log(connection: sa.Connection) -> None:
        pseudonym = action_log.give_pseudonym(connection, name, person, new)
        action_log.forget_pseudonym(connection, name, person)
        change.log(connection, name, pseudonym, {"conversations": number})

    await services.store.tx(log)
    await by_and_by(partial(services.store.tx, merge_words))
    await services.store.scrub()
    return to_response(Forgotten(conversations=number))
