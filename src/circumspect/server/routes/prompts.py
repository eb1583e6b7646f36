"""`/v1/admin/prompts`: the prompts that come with the package and the versions a tenant has added.

A version is never changed: its id says what is in it. Adding one changes nothing; an experiment chooses it.
"""

from __future__ import annotations

import difflib
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Depends, Path, Query, Request
from starlette.responses import Response

from circumspect.prompts import FIXED, Prompt, names, shipped, version
from circumspect.server.access import Principal, either, services_of
from circumspect.server.problems import not_found
from circumspect.server.responses import (
    Limit,
    TenantQuery,
    action,
    answer,
    described,
    needs_one_of,
    one_tenant,
    resource,
    when,
)
from circumspect.server.schemas.prompts import PROMPT_ID, DiffShown, PromptGiven, PromptShown, PromptWhole, UseShown
from circumspect.server.services import Services
from circumspect.stores import prompts
from circumspect.stores.prompts import PromptRow
from circumspect.values import TenantId

router = resource("prompts")
Administering = Annotated[Principal, Depends(either("admin", ("admin",)))]
Reading = Annotated[Principal, Depends(either(None, ("operator", "reviewer")))]
PromptPath = Annotated[str, Path(max_length=80, pattern=PROMPT_ID)]


@router.get("/v1/admin/prompts", **described(list[PromptShown], 404))
async def list_prompts(
    request: Request,
    who: Reading,
    tenant: TenantQuery = None,
    name: Annotated[str | None, Query(max_length=64, description="Only versions of this one.")] = None,
) -> Response:
    """What comes with the package, then what was added, the newest first."""
    needs_one_of(who, "read", "admin")
    rows = await services_of(request).store.tx(prompts.listed, one_tenant(who, tenant), name)
    ours = [our_version(shipped(one)) for one in names() if one not in FIXED and name in (None, one)]
    return answer([*ours, *(their_version(row) for row in rows)])


@router.post("/v1/admin/prompts", **described(PromptWhole, 400, 404, status=201))
async def add_prompt(request: Request, who: Administering, given: PromptGiven, tenant: TenantQuery = None) -> Response:
    """Add a version. One that was there already is given back as it was."""
    services, name = services_of(request), one_tenant(who, tenant)
    made = version(given.name, given.text)
    if made.id == shipped(given.name).id:
        return answer({**our_version(made), "text": made.text}, 201)
    change = action(services, who.name, "add_prompt")

    def body(connection: sa.Connection) -> PromptRow:
        row = prompts.put(
            connection, name, made.id, made.name, made.text, at=change.at, parent=given.parent, note=given.note,
            created_by=who.name,
        )  # fmt: skip
        change.log(connection, name, made.id, {"note": given.note})
        return row

    row = await services.store.tx(body)
    return answer({**their_version(row), "text": row.text}, 201)


@router.get("/v1/admin/prompts/{prompt_id:path}/diff", **described(DiffShown, 404))
async def diff_prompts(
    request: Request,
    who: Reading,
    prompt_id: PromptPath,
    against: Annotated[
        str | None, Query(max_length=80, pattern=PROMPT_ID, description="A version; without it the package's own.")
    ] = None,
    tenant: TenantQuery = None,
) -> Response:
    """What was changed, line by line."""
    needs_one_of(who, "read", "admin")
    services, name = services_of(request), one_tenant(who, tenant)
    new = await text_of(services, name, prompt_id)
    old = await text_of(services, name, against) if against else shipped(new.name)
    return answer({"old": old.id, "new": new.id, "lines": differences(old, new)})


@router.get("/v1/admin/prompts/{prompt_id:path}/uses", **described(list[UseShown], 404))
async def list_uses(
    request: Request, who: Reading, prompt_id: PromptPath, tenant: TenantQuery = None, limit: Limit = 50
) -> Response:
    """The newest turns whose answer was made with it, among the tenant's last ten thousand."""
    needs_one_of(who, "read", "admin")
    services, name = services_of(request), one_tenant(who, tenant)
    await text_of(services, name, prompt_id)
    rows = await services.store.tx(prompts.uses, name, prompt_id, limit)
    return answer(
        [
            {"turn": row.turn, "conversation": row.conversation, "outcome": row.outcome, "at": when(row.at)}
            for row in rows
        ]
    )


@router.get("/v1/admin/prompts/{prompt_id:path}", **described(PromptWhole, 404))
async def get_prompt(request: Request, who: Reading, prompt_id: PromptPath, tenant: TenantQuery = None) -> Response:
    """One version, with its text."""
    needs_one_of(who, "read", "admin")
    services, name = services_of(request), one_tenant(who, tenant)
    if ours := shipped_one(prompt_id):
        return answer({**our_version(ours), "text": ours.text})
    row = await services.store.tx(prompts.get, name, prompt_id)
    if row is None:
        raise not_found("prompt")
    return answer({**their_version(row), "text": row.text})


# ---------------------------------------------------------------------------------------------------------------------


def differences(old: Prompt, new: Prompt) -> list[str]:
    """A unified diff."""
    return list(difflib.unified_diff(old.text.splitlines(), new.text.splitlines(), old.id, new.id, lineterm=""))


async def text_of(services: Services, tenant: TenantId, id_: str) -> Prompt:
    if ours := shipped_one(id_):
        return ours
    row = await services.store.tx(prompts.get, tenant, id_)
    if row is None:
        raise not_found("prompt")
    return Prompt(row.name, row.text)


def shipped_one(id_: str) -> Prompt | None:
    name = id_.rpartition("@")[0]
    return ours if name in names() and (ours := shipped(name)).id == id_ else None


def our_version(one: Prompt) -> dict[str, Any]:
    return {
        "id": one.id, "name": one.name, "shipped": True, "parent": None, "note": "", "created_by": "",
        "created_at": None,
    }  # fmt: skip


def their_version(row: PromptRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "shipped": False,
        "parent": row.parent,
        "note": row.note,
        "created_by": row.created_by,
        "created_at": when(row.created_at),
    }
