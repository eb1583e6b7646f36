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
    OperatorPrincipal,
    Principal,
    SettingsReader,
    require_fresh,
    services_of,
)
from circumspect.server.checked_policies import check_policy_text, require_sound
from circumspect.server.known_tools import find_known_tools
from circumspect.server.problems import HttpProblem, require_found
from circumspect.server.responses import (
    IdPath,
    PageLimit,
    TenantFilter,
    action,
    describe_route,
    find_visible_tenants,
    one_tenant,
    resource,
    to_response,
)
from circumspect.server.routes.work import is_administrator
from circumspect.server.schemas.bodies import AnswerPage
from circumspect.server.schemas.policies import (
    ChangeShown,
    DraftPut,
    DraftShown,
    DraftWhole,
    DraftWritten,
    FindingShown,
    PolicyCheckShown,
    PolicyPut,
    PolicyShown,
    PolicyText,
    PolicyWhole,
    RollBack,
)
from circumspect.server.services import Services
from circumspect.server.stores import policies, policy_drafts, tenants
from circumspect.server.stores.policies import PolicyVersion
from circumspect.server.stores.policy_drafts import DraftChange, PolicyDraft
from circumspect.server.stores.tenants import TenantRow
from circumspect.values import TenantId

router = resource("policies")
MOST_CHANGES = 50
"""Kept in words with a draft; all of them are found anew when it is opened."""
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


@router.get("/v1/admin/policies/drafts", **describe_route(AnswerPage[DraftShown], 404))
async def list_policy_drafts(request: Request, who: SettingsReader, tenant: TenantFilter = None) -> Response:
    """Those that wait for somebody to put them in force, the oldest first."""
    rows = await services_of(request).store.tx(policy_drafts.list_drafts, one_tenant(who, tenant))
    return to_response(AnswerPage(items=[DraftShown.of(row) for row in rows], next=None))


@router.post("/v1/admin/policies/drafts", **describe_route(DraftWhole, 404, status=201))
async def add_policy_draft(
    request: Request, who: OperatorPrincipal, given: DraftWritten, tenant: TenantFilter = None
) -> Response:
    """Keep a text for somebody else to look at, try and put in force. It has to be sound; your draft before it, if one
    still waits, is dropped."""
    services, name = services_of(request), one_tenant(who, tenant)
    await require_sound(services, name, given.text, await find_known_tools(services, name))
    before = (await _version(services, name, given.base)).text if given.base else None
    differs = await services.lanes.policies.compute(name, _compare_texts, before, given.text)
    draft = PolicyDraft(
        services.ids.new("draft"),
        name,
        given.base,
        given.text,
        given.note,
        [DraftChange(one.where, one.what, one.direction) for one in differs[:MOST_CHANGES]],
        who.name,
        services.clock.now(),
    )
    log = action(services, who.name, "draft_policy")

    def body(connection: sa.Connection) -> PolicyDraft:
        if who.operator is None and needs_two(tenants.get(connection, name)):
            raise _second_person_needed(name)
        kept = policy_drafts.add_draft(connection, draft)
        if kept is draft:
            log.log(connection, name, draft.id, {"note": draft.note})
        return kept

    return to_response(DraftWhole.of(await services.store.tx(body)), 201)


@router.get("/v1/admin/policies/drafts/{draft_id}", **describe_route(DraftWhole, 404))
async def get_policy_draft(request: Request, who: SettingsReader, draft_id: IdPath) -> Response:
    """One draft with its text, also when it does not wait any more."""
    seen = find_visible_tenants(who, None)
    found = await services_of(request).store.tx(policy_drafts.find_draft, seen, draft_id)
    return to_response(DraftWhole.of(require_found(found, "draft")))


@router.post("/v1/admin/policies/drafts/{draft_id}/put", **describe_route(PolicyWhole, 400, 404, 409))
async def put_policy_draft(request: Request, who: AdminPrincipal, draft_id: IdPath, given: DraftPut) -> Response:
    """Put a draft in force. Where the tenant asks for two, its author cannot."""
    require_fresh(request, who)
    services = services_of(request)
    seen = find_visible_tenants(who, None)
    draft = require_found(await services.store.tx(policy_drafts.find_draft, seen, draft_id), "draft")
    return await _put(services, who, draft.tenant, draft.text, draft.note, given.if_version, "put_policy", draft)


@router.post("/v1/admin/policies/drafts/{draft_id}/drop", **describe_route(DraftShown, 404, 409))
async def drop_policy_draft(request: Request, who: OperatorPrincipal, draft_id: IdPath) -> Response:
    """It is not put in force. Its author and administrators may say so."""
    services, seen = services_of(request), find_visible_tenants(who, None)
    now, log = services.clock.now(), action(services, who.name, "drop_policy_draft")

    def body(connection: sa.Connection) -> PolicyDraft:
        draft = require_found(policy_drafts.find_draft(connection, seen, draft_id, lock=True), "draft")
        if draft.created_by != who.name and not is_administrator(who):
            raise HttpProblem(
                403, "not_yours", "It is somebody else's draft.", fix="Its author or an administrator drops it."
            )
        if not policy_drafts.settle_draft(connection, draft, "dropped", who.name, now):
            raise _draft_settled(draft)
        log.log(connection, draft.tenant, draft.id)
        return require_found(policy_drafts.find_draft(connection, seen, draft_id), "draft")

    return to_response(DraftShown.of(await services.store.tx(body)))


@router.get("/v1/admin/policies/{version}", **describe_route(PolicyWhole, 404))
async def get_policy(request: Request, who: SettingsReader, version: Number, tenant: TenantFilter = None) -> Response:
    """One version, with its text."""
    return to_response(PolicyWhole.of(await _version(services_of(request), one_tenant(who, tenant), version)))


# ---------------------------------------------------------------------------------------------------------------------


async def _put(
    services: Services,
    who: Principal,
    tenant: TenantId,
    text: str,
    note: str,
    if_version: int | None,
    did: str,
    draft: PolicyDraft | None = None,
) -> Response:
    """`draft`: what somebody had written; a text that comes with none was written by who puts it in force."""
    now = services.clock.now()
    known = await find_known_tools(services, tenant)
    hash_ = await require_sound(services, tenant, text, known)
    change = action(services, who.name, did)

    author = draft.created_by if draft else who.name

    def body(connection: sa.Connection) -> PolicyVersion:
        row = tenants.get(connection, tenant, lock=True)
        if needs_two(row) and (draft is None or author == who.name or who.operator is None):
            raise _second_person_needed(tenant)
        made = policies.put_policy(
            connection, tenant, text, hash_, at=now, note=note, created_by=who.name, if_version=if_version
        )
        if draft and not policy_drafts.settle_draft(connection, draft, "in_force", who.name, now, made.version):
            raise _draft_settled(draft)
        written = {"draft": draft.id, "author": author} if draft else {}
        change.log(connection, tenant, f"version {made.version}", {"note": note, **written})
        return made

    return to_response(PolicyWhole.of(await services.store.tx(body)))


def needs_two(row: TenantRow | None) -> bool:
    """Whether this tenant wants a policy put in force by another than who wrote it."""
    return bool(row and row.settings and row.settings.get("policies_need_two"))


def _second_person_needed(tenant: TenantId) -> HttpProblem:
    return HttpProblem(
        403,
        "second_person_needed",
        f"A policy of '{tenant}' is put in force by somebody other than who wrote it.",
        fix="Save it as a draft in the console, and let another administrator look at it and put it in force.",
    )


def _draft_settled(draft: PolicyDraft) -> HttpProblem:
    return HttpProblem(409, "not_waiting", f"The draft {draft.id} does not wait any more.", fix="Look at it again.")


def _compare_texts(old: str | None, new: str | None) -> list[Any]:
    return changes(*(Policy() if text is None else load(text) for text in (old, new)))


async def _version(services: Services, tenant: TenantId, number: int) -> PolicyVersion:
    return require_found(await services.store.tx(policies.version, tenant, number), "policy version")
