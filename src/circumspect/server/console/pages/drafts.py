"""A draft of a policy: who wrote it, what it would change, and the way into force.

It is compared with the version in force as it is now, whatever was in force when it was written. An administrator puts
it in force by the API's own function; where the tenant asks for two people, its author does not.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from circumspect.errors import PolicyError
from circumspect.server.access import require_fresh, services_of
from circumspect.server.console import page_routes
from circumspect.server.console.pages.policies import (
    BOUNDS,
    SeenVersion,
    Typed,
    ask_if_loosened,
    check_in_thread,
    offer_way_back,
)
from circumspect.server.console.rendering import link, page
from circumspect.server.console.text_diff import text_diff
from circumspect.server.console.visitors import AdminVisitor, OperatorVisitor, ReviewerVisitor, Visitor, tenants_of
from circumspect.server.console.work_panel import build_panel
from circumspect.server.problems import HttpProblem, require_found
from circumspect.server.responses import IdPath, find_visible_tenants
from circumspect.server.routes import policies as api
from circumspect.server.schemas.policies import DraftPut
from circumspect.server.stores import policies, policy_drafts, tenants
from circumspect.server.stores.policies import PolicyChanged
from circumspect.server.stores.policy_drafts import PolicyDraft

router = page_routes.router()
DONE = ("saved", "dropped")
REFUSED = {"policy_changed": "changed", "second_person_needed": "two", "not_waiting": "settled"}
"""What is said, by why it was not put in force; else that it is not sound any more."""


@router.get("/drafts/{draft_id}")
async def show(
    request: Request, who: ReviewerVisitor, draft_id: IdPath, done: Annotated[str, Query(max_length=10)] = ""
) -> Response:
    return await _show(request, who, await _find(request, who, draft_id), done=done if done in DONE else "")


async def _show(
    request: Request, who: Visitor, draft: PolicyDraft, *, status: int = 200, done: str = "", refused: str = ""
) -> Response:
    """`refused`: the name of what is said where it was not put in force."""
    services, tenant = services_of(request), draft.tenant
    current = await services.store.tx(policies.current, tenant)
    checked, _ = await check_in_thread(request, tenant, draft.text, current)
    row = await services.store.tx(tenants.get, tenant)
    return page(
        request,
        who,
        "policies/draft.html",
        status,
        draft=draft,
        tenant=tenant,
        tenants=await tenants_of(request, who),
        current=current,
        checked=checked,
        changes=checked.changes,
        lines=await services.lanes.policies.compute(tenant, text_diff, current.text if current else "", draft.text),
        own=draft.created_by == who.operator.name,
        needs_two=api.needs_two(row),
        bounds=BOUNDS,
        most=BOUNDS[1],
        done=done,
        refused=refused,
        now=services.clock.now(),
        **await build_panel(request, who, "draft", draft.id),
    )


@router.post("/drafts/{draft_id}/put")
async def put(
    request: Request, who: AdminVisitor, draft_id: IdPath, if_version: SeenVersion, typed: Typed = ""
) -> Response:
    """Into force, on top of the version that it was compared with. What loosens asks for the tenant's name."""
    services, draft = services_of(request), await _find(request, who, draft_id)
    current = await services.store.tx(policies.current, draft.tenant)
    if draft.state == "waiting" and (current.version if current else 0) == if_version:
        require_fresh(request, who.principal)
        checked, _ = await check_in_thread(request, draft.tenant, draft.text, current)
        if unsure := await ask_if_loosened(request, who, draft.tenant, checked, typed):
            return unsure
    try:
        await api.put_policy_draft(request, who.principal, draft.id, DraftPut(if_version=if_version))
    except (PolicyChanged, PolicyError, HttpProblem) as problem:
        status = problem.status if isinstance(problem, HttpProblem) else 409
        now, refused = await _find(request, who, draft_id), REFUSED.get(problem.code, "unsound")
        return await _show(request, who, now, status=status, refused=refused)
    undo = offer_way_back(request, who, draft.tenant, if_version, if_version + 1) if if_version else ""
    return page_routes.redirect_to(link(f"/policies/{draft.tenant}", done="saved", undo=undo))


@router.post("/drafts/{draft_id}/drop")
async def drop(request: Request, who: OperatorVisitor, draft_id: IdPath) -> Response:
    await api.drop_policy_draft(request, who.principal, draft_id)
    return page_routes.redirect_to(f"/drafts/{draft_id}?done=dropped")


async def _find(request: Request, who: Visitor, id_: str) -> PolicyDraft:
    seen = find_visible_tenants(who.principal, None)
    return require_found(await services_of(request).store.tx(policy_drafts.find_draft, seen, id_), "draft")
