"""`/v1/admin/policies`: a tenant's policy by version. Check a text, put it, compare two versions, go back to one.

A text is put only when it is sound against the tenant's tools, and only on top of the version that its author saw.
Going back adds one more version with the old text, so the past stays what it was.
"""

from __future__ import annotations

from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Path, Query, Request
from starlette.responses import Response

from circumspect.policy.diff import changes
from circumspect.policy.load import load
from circumspect.policy.policy_file import Policy
from circumspect.server.access import (
    AdminPrincipal,
    Principal,
    SettingsReader,
    require_fresh,
    services_of,
)
from circumspect.server.checked_policies import check_policy_text, require_sound
from circumspect.server.known_tools import find_known_tools
from circumspect.server.problems import require_found
from circumspect.server.responses import (
    PageLimit,
    TenantFilter,
    action,
    describe_route,
    one_tenant,
    resource,
    to_response,
)
from circumspect.server.schemas.bodies import AnswerPage
from circumspect.server.schemas.policies import (
    ChangeShown,
    FindingShown,
    PolicyCheckShown,
    PolicyPut,
    PolicyShown,
    PolicyText,
    PolicyWhole,
    RollBack,
)
from circumspect.server.services import Services
from circumspect.server.stores import policies
from circumspect.server.stores.policies import PolicyVersion
from circumspect.values import TenantId

router = resource("policies")
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]


@router.get("/v1/admin/policies", **describe_route(AnswerPage[PolicyShown], 404))
async def list_policies(
    request: Request,
    who: SettingsReader,
    tenant: TenantFilter = None,
    after: Annotated[int | None, Query(ge=0, le=2**31 - 1, description="`next` of the page before.")] = None,
    limit: PageLimit = 50,
) -> Response:
    """Every version a tenant ever had, the one in force first."""
    store, name = services_of(request).store, one_tenant(who, tenant)
    rows = await store.tx(policies.versions, name, before=after, limit=limit + 1)
    following = str(rows[limit - 1].version) if len(rows) > limit else None
    return to_response(AnswerPage(items=[PolicyShown.of(row) for row in rows[:limit]], next=following))


@router.put("/v1/admin/policies", **describe_route(PolicyWhole, 400, 404, 409))
async def put_policy(request: Request, who: AdminPrincipal, given: PolicyPut, tenant: TenantFilter = None) -> Response:
    """Put a policy in force. Refused with every finding and its line when it is not sound."""
    require_fresh(request, who)
    services, name = services_of(request), one_tenant(who, tenant)
    return await _put(services, who, name, given.text, given.note, given.if_version, "put_policy")


@router.post("/v1/admin/policies/check", **describe_route(PolicyCheckShown, 400, 404))
async def check_policy(
    request: Request, who: AdminPrincipal, given: PolicyText, tenant: TenantFilter = None
) -> Response:
    """Is the text sound? Changes nothing."""
    services, name = services_of(request), one_tenant(who, tenant)
    known = await find_known_tools(services, name)
    checked = await check_policy_text(services, name, given.text, known)
    findings = [FindingShown.of(one) for one in checked.findings]
    return to_response(PolicyCheckShown(ok=checked.hash is not None, hash=checked.hash, findings=findings))


@router.post("/v1/admin/policies/rollback", **describe_route(PolicyWhole, 400, 404, 409))
async def roll_back_policy(
    request: Request, who: AdminPrincipal, given: RollBack, tenant: TenantFilter = None
) -> Response:
    """Put an earlier text in force again, as a new version."""
    require_fresh(request, who)
    services, name = services_of(request), one_tenant(who, tenant)
    before = await _version(services, name, given.version)
    note = given.note or f"back to version {given.version}"
    return await _put(services, who, name, before.text, note, given.if_version, "roll_back_policy")


@router.get("/v1/admin/policies/diff", **describe_route(list[ChangeShown], 404))
async def diff_policies(
    request: Request,
    who: SettingsReader,
    old: Annotated[int, Query(alias="from", ge=0, le=2**31 - 1, description="A version; 0 is no policy at all.")],
    new: Annotated[int, Query(alias="to", ge=1, le=2**31 - 1)],
    tenant: TenantFilter = None,
) -> Response:
    """What changed between two versions, in words; what was loosened says so."""
    services, name = services_of(request), one_tenant(who, tenant)
    texts = [None if number == 0 else (await _version(services, name, number)).text for number in (old, new)]
    found = await services.lanes.policies.compute(name, _compare_texts, *texts)
    return to_response([ChangeShown.of(one) for one in found])


@router.get("/v1/admin/policies/current", **describe_route(PolicyWhole, 404))
async def get_current_policy(request: Request, who: SettingsReader, tenant: TenantFilter = None) -> Response:
    """The version in force, with its text."""
    found = require_found(await services_of(request).store.tx(policies.current, one_tenant(who, tenant)), "policy")
    return to_response(PolicyWhole.of(found))


@router.get("/v1/admin/policies/{version}", **describe_route(PolicyWhole, 404))
async def get_policy(request: Request, who: SettingsReader, version: Number, tenant: TenantFilter = None) -> Response:
    """One version, with its text."""
    return to_response(PolicyWhole.of(await _version(services_of(request), one_tenant(who, tenant), version)))


# ---------------------------------------------------------------------------------------------------------------------


async def _put(
    services: Services, who: Principal, tenant: TenantId, text: str, note: str, if_version: int | None, did: str
) -> Response:
    now = services.clock.now()
    known = await find_known_tools(services, tenant)
    hash_ = await require_sound(services, tenant, text, known)
    change = action(services, who.name, did)

    def body(connection: sa.Connection) -> PolicyVersion:
        made = policies.put_policy(
            connection, tenant, text, hash_, at=now, note=note, created_by=who.name, if_version=if_version
        )
        change.log(connection, tenant, f"version {made.version}", {"note": note})
        return made

    return to_response(PolicyWhole.of(await services.store.tx(body)))


def _compare_texts(old: str | None, new: str | None) -> list[Any]:
    return changes(*(Policy() if text is None else load(text) for text in (old, new)))


async def _version(services: Services, tenant: TenantId, number: int) -> PolicyVersion:
    return require_found(await services.store.tx(policies.version, tenant, number), "policy version")
