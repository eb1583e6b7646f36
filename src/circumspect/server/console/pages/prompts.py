"""Versions of prompts: which there are by name, how many answers were made with each, and what a version changes."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated

import sqlalchemy as sa
from fastapi import Query, Request
from starlette.responses import Response

from circumspect.prompts import FIXED, list_prompt_names, load_default_prompt
from circumspect.server.access import services_of
from circumspect.server.console import page_routes
from circumspect.server.console.pages.experiments import TenantAsked
from circumspect.server.console.read_pool import read
from circumspect.server.console.rendering import page
from circumspect.server.console.text_diff import text_diff
from circumspect.server.console.visitors import ReviewerVisitor, tenants_of
from circumspect.server.problems import HttpProblem
from circumspect.server.responses import TenantPath, find_visible_tenants, one_tenant
from circumspect.server.routes import prompts as api
from circumspect.server.schemas.prompts import PROMPT_ID, PromptShown
from circumspect.stores import prompts
from circumspect.stores.prompts import PromptRow, Use
from circumspect.values import TenantId

router = page_routes.router()
USES = 20
NEWEST = 1000
"""Of so many turns it is said how many used a version: a page should not wait for more."""


@router.get("/prompt-versions")
async def listing(request: Request, who: ReviewerVisitor, tenant: TenantAsked = "") -> Response:
    """By name, what comes with the package and then what the tenant has added, the newest first; at the end the names
    of which there is one version only."""
    tenants = await tenants_of(request, who)
    find_visible_tenants(who.principal, tenant or None)
    chosen = TenantId(tenant or next(iter(tenants), ""))
    rows, used = await read(services_of(request), _read_versions, chosen)
    by_name = {
        name: [PromptShown.of_prompt(row) for row in group]
        for name, group in groupby(sorted(rows, key=lambda row: row.name), key=lambda row: row.name)
    }
    ours = {name: PromptShown.of_prompt(load_default_prompt(name)) for name in list_prompt_names() if name not in FIXED}
    found = [(name, [*([ours[name]] if name in ours else []), *versions]) for name, versions in by_name.items()]
    alone = [one for name, one in ours.items() if name not in by_name]
    return page(
        request,
        who,
        "prompts/page.html",
        found=[*found, ("", alone)],
        added=len(rows),
        used=used,
        newest=NEWEST,
        tenant=chosen,
        tenants=tenants,
    )


def _read_versions(connection: sa.Connection, tenant: TenantId) -> tuple[list[PromptRow], dict[str, int]]:
    return list(prompts.list_prompts(connection, tenant)), prompts.counts(connection, tenant, NEWEST)


@router.get("/prompt-versions/{tenant}")
async def version(
    request: Request,
    who: ReviewerVisitor,
    tenant: TenantPath,
    id_: Annotated[str, Query(alias="id", max_length=80, pattern=PROMPT_ID)],
    against: Annotated[str | None, Query(max_length=80, pattern=PROMPT_ID)] = None,
) -> Response:
    """One version: its text, what it changes against its parent (or the shipped one, or `against`), who used it."""
    services, name = services_of(request), one_tenant(who.principal, tenant)
    new = await api.find_prompt(services, name, id_)
    row = await read(services, prompts.get, name, id_)
    ours = None if new.name not in list_prompt_names() else load_default_prompt(new.name)
    wanted = against or (row.parent if row else None) or (ours.id if ours else None)
    missing = ""
    old = None
    if wanted is not None and wanted != new.id:
        try:
            old = await api.find_prompt(services, name, wanted)
        except HttpProblem:
            if against:
                raise
            # The version it was made from is gone; what it changes is then said against the package's own.
            missing, old = wanted, ours
    uses: list[Use] = list(await read(services, prompts.uses, name, new.id, USES))
    others = [one.id for one in await read(services, prompts.list_prompts, name, new.name) if one.id != new.id]
    return page(
        request,
        who,
        "prompts/version.html",
        tenant=name,
        tenants=await tenants_of(request, who),
        new=new,
        row=row,
        old=old,
        missing=missing,
        lines=await services.lanes.policies.compute(name, text_diff, old.text, new.text) if old else [],
        others=[*([ours.id] if ours and ours.id != new.id else []), *others],
        uses=uses,
    )
