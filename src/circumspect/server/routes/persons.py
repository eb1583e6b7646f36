"""`/v1/admin/persons/{person}`: everything that is kept about an end user, to hand over or to delete."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from functools import partial

import sqlalchemy as sa
from fastapi import Request
from starlette.responses import Response, StreamingResponse

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
    encode_json,
    one_tenant,
    resource,
    to_response,
)
from circumspect.server.schemas.persons import Forgotten, PersonExport
from circumspect.server.services import Services
from circumspect.server.stores import privacy
from circumspect.stores import action_log
from circumspect.stores.word_search import merge_words
from circumspect.values import ConversationId, TenantId

router = resource("persons")


@router.get("/v1/admin/persons/{person:path}", **describe_route(PersonExport, 404))
async def export_person(
    request: Request, who: AdminPrincipal, person: PersonPath, tenant: TenantFilter = None
) -> Response:
    """Every conversation of that person, with what was said, thought and done in it. Empty when there is none."""
    require_fresh(request, who)
    services, name = services_of(request), one_tenant(who, tenant)
    change, new = action(services, who.name, "export_person"), services.ids.new("person")

    def begin(connection: sa.Connection) -> Sequence[ConversationId]:
        found = privacy.list_conversations_of(connection, name, person)
        change.log(connection, name, action_log.give_pseudonym(connection, name, person, new) if found else "")
        return found

    found = await services.store.tx(begin)
    written = _write_export(services, name, person, found)
    return StreamingResponse(written, media_type="application/json", headers={"Cache-Control": "no-store"})


async def _write_export(
    services: Services, tenant: TenantId, person: str, found: Sequence[ConversationId]
) -> AsyncIterator[bytes]:
    """A transaction for each conversation: whoever has thousands keeps nobody else from writing."""
    yield encode_json({"tenant": tenant, "person": person})[:-1] + b',"conversations":['
    for number, conversation in enumerate(found):
        whole = await services.store.tx(privacy.export_conversation, tenant, conversation)
        yield (b"," if number else b"") + encode_json(whole)
    yield b"]}"


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
