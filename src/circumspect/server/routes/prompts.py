"""`/v1/admin/prompts`: the prompts that come with the package and the versions a tenant has added.

A version is never changed: its id says what is in it. Adding one changes nothing; an experiment chooses it.
"""

from __future__ import annotations

from typing import Annotated

import sqlalchemy as sa
from fastapi import Path, Query, Request
from starlette.responses import Response

from circumspect.prompts import FIXED, Prompt, list_prompt_names, load_default_prompt, make_prompt_version
from circumspect.server.access import AdminPrincipal, SettingsReader, services_of
from circumspect.server.problems import not_found, require_found
from circumspect.server.responses import (
    PageLimit,
    TenantFilter,
    action,
    describe_route,
    one_tenant,
    resource,
    to_response,
)
from circumspect.server.schemas.prompts import PROMPT_ID, DiffShown, PromptGiven, PromptShown, PromptWhole, UseShown
from circumspect.server.services import Services
from circumspect.stores import prompts
from circumspect.stores.prompts import PromptRow
from circumspect.values import TenantId

router = resource("prompts")
PromptPath = Annotated[str, Path(max_length=80, pattern=PROMPT_ID)]


@router.get("/v1/admin/prompts", **describe_route(list[PromptShown], 404))
async def list_prompts(
    request: Request,
    who: SettingsReader,
    tenant: TenantFilter = None,
    name: Annotated[str | None, Query(max_length=64, description="Only versions of this one.")] = None,
) -> Response:
    """What comes with the package, then what was added, the newest first."""
    rows = await services_of(request).store.tx(prompts.list_prompts, one_tenant(who, tenant), name)
    ours = [load_default_prompt(one) for one in list_prompt_names() if one not in FIXED and name in (None, one)]
    return to_response([*map(PromptShown.of_prompt, ours), *map(PromptShown.of_prompt, rows)])


@router.post("/v1/admin/prompts", **describe_route(PromptWhole, 400, 404, status=201))
async def add_prompt(
    request: Request, who: AdminPrincipal, given: PromptGiven, tenant: TenantFilter = None
) -> Response:
    """Add a version. One that was there already is given back as it was."""
    services, name = services_of(request), one_tenant(who, tenant)
    made = make_prompt_version(given.name, given.text)
    if made.id == load_default_prompt(given.name).id:
        return to_response(PromptWhole.of_prompt(made), 201)
    change = action(services, who.name, "add_prompt")

    def body(connection: sa.Connection) -> PromptRow:
        row = prompts.put(
            connection, name, made.id, made.name, made.text, at=change.at, parent=given.parent, note=given.note,
            created_by=who.name,
        )  # fmt: skip
        change.log(connection, name, made.id, {"note": given.note})
        return row

    return to_response(PromptWhole.of_prompt(await services.store.tx(body)), 201)


@router.get("/v1/admin/prompts/{prompt_id:path}/diff", **describe_route(DiffShown, 404))
async def diff_prompts(
    request: Request,
    who: SettingsReader,
    prompt_id: PromptPath,
    against: Annotated[
        str | None, Query(max_length=80, pattern=PROMPT_ID, description="A version; without it the package's own.")
    ] = None,
    tenant: TenantFilter = None,
) -> Response:
    """What was changed, line by line."""
    services, name = services_of(request), one_tenant(who, tenant)
    new = await find_prompt(services, name, prompt_id)
    old = await find_prompt(services, name, against) if against else load_default_prompt(new.name)
    return to_response(DiffShown.between(old, new))


@router.get("/v1/admin/prompts/{prompt_id:path}/uses", **describe_route(list[UseShown], 404))
async def list_uses(
    request: Request, who: SettingsReader, prompt_id: PromptPath, tenant: TenantFilter = None, limit: PageLimit = 50
) -> Response:
    """The newest turns whose answer was made with it, among the tenant's last ten thousand."""
    services, name = services_of(request), one_tenant(who, tenant)
    await find_prompt(services, name, prompt_id)
    rows = await services.store.tx(prompts.uses, name, prompt_id, limit)
    return to_response([UseShown.of(row) for row in rows])


@router.get("/v1/admin/prompts/{prompt_id:path}", **describe_route(PromptWhole, 404))
async def get_prompt(
    request: Request, who: SettingsReader, prompt_id: PromptPath, tenant: TenantFilter = None
) -> Response:
    """One version, with its text."""
    services, name = services_of(request), one_tenant(who, tenant)
    found: Prompt | PromptRow | None = find_shipped(prompt_id)
    if found is None:
        found = await services.store.tx(prompts.get, name, prompt_id)
    if found is None:
        raise not_found("prompt")
    return to_response(PromptWhole.of_prompt(found))


# ---------------------------------------------------------------------------------------------------------------------


async def find_prompt(services: Services, tenant: TenantId, id_: str) -> Prompt:
    if ours := find_shipped(id_):
        return ours
    row = require_found(await services.store.tx(prompts.get, tenant, id_), "prompt")
    return Prompt(row.name, row.text)


def find_shipped(id_: str) -> Prompt | None:
    name = id_.rpartition("@")[0]
    return ours if name in list_prompt_names() and (ours := load_default_prompt(name)).id == id_ else None
