"""`/v1/approvals`: calls that wait for a colleague. See exactly what will run, then approve, deny or edit it.

A decision names the hash of what its author was shown; if that is not what is stored, nothing happens. An edit is no
approval: the call with its new arguments goes through the rules again and, if they let it, waits anew. Who may approve
is decided where the approval is used up (`approvers.py`). The store writes the line in the operators' log, in the
transaction that records the decision.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import Query, Request
from starlette.responses import Response

from circumspect.approvers import WHO_MAY
from circumspect.errors import ApproverRefused
from circumspect.reasons import ReasonCode
from circumspect.server.access import (
    OperatorPrincipal,
    Principal,
    ReviewerPrincipal,
    require_fresh,
    services_of,
)
from circumspect.server.known_tools import find_deciding_setup
from circumspect.server.problems import HttpProblem
from circumspect.server.request_log import add_log_context
from circumspect.server.responses import (
    After,
    IdPath,
    PageLimit,
    TenantFilter,
    describe_route,
    find_visible_tenants,
    make_page,
    page_after,
    resource,
    to_response,
)
from circumspect.server.schemas.approvals import ApprovalShown, DecisionGiven, DecisionShown, Edit
from circumspect.server.schemas.bodies import AnswerPage
from circumspect.server.stores import approvals
from circumspect.server.stores.approvals import Approval
from circumspect.server.streams import describe_lost_turn
from circumspect.stores import people
from circumspect.values import Incoming, JsonObject, TurnId, TurnResult
from circumspect.values import PersonDecision as Errand

router = resource("approvals")


@router.get("/v1/approvals", **describe_route(AnswerPage[ApprovalShown], 404))
async def list_approvals(
    request: Request,
    who: ReviewerPrincipal,
    tenant: TenantFilter = None,
    state: Annotated[
        Literal["waiting", "all"], Query(description="Those that wait, or all there ever were.")
    ] = "waiting",
    after: After = None,
    limit: PageLimit = 50,
) -> Response:
    """The newest first."""
    services = services_of(request)
    now = services.clock.now()
    rows = await services.store.tx(
        approvals.list_approvals,
        find_visible_tenants(who, tenant),
        page_after(after),
        limit + 1,
        waiting=state == "waiting",
        now=now,
    )
    return to_response(
        make_page(
            rows,
            limit,
            lambda row: ApprovalShown.at(row, now),
            lambda row: (row.intent.created_at, str(row.intent.id)),
        )
    )


@router.get("/v1/approvals/{approval_id}", **describe_route(ApprovalShown, 404))
async def get_approval(request: Request, who: ReviewerPrincipal, approval_id: IdPath) -> Response:
    """Exactly what will run."""
    services = services_of(request)
    row = await services.store.tx(approvals.get_approval, find_visible_tenants(who, None), approval_id)
    return to_response(ApprovalShown.at(row, services.clock.now()))


@router.post("/v1/approvals/{approval_id}/approve", **describe_route(DecisionShown, 400, 404, 409))
async def approve(request: Request, who: OperatorPrincipal, approval_id: IdPath, given: DecisionGiven) -> Response:
    """Run it, exactly as shown, once. Whoever proposed or changed it may not, and a key only where the policy says so
    (403)."""
    return await _decide(request, who, approval_id, given.hash, "approve")


@router.post("/v1/approvals/{approval_id}/deny", **describe_route(DecisionShown, 400, 404, 409))
async def deny(request: Request, who: OperatorPrincipal, approval_id: IdPath, given: DecisionGiven) -> Response:
    """It will not run, and the user hears so."""
    return await _decide(request, who, approval_id, given.hash, "deny")


@router.post("/v1/approvals/{approval_id}/edit", **describe_route(DecisionShown, 400, 404, 409))
async def edit(request: Request, who: OperatorPrincipal, approval_id: IdPath, given: Edit) -> Response:
    """Other arguments: ruled on anew, and then waiting for an approval of their own (`turn.pending`)."""
    return await _decide(request, who, approval_id, given.hash, "edit", given.arguments)


async def _decide(
    request: Request,
    who: Principal,
    approval_id: str,
    hash_: str,
    decision: Literal["approve", "deny", "edit"],
    arguments: JsonObject | None = None,
) -> Response:
    require_fresh(request, who)
    services = services_of(request)
    seen, now = find_visible_tenants(who, None), services.clock.now()
    row = await services.store.tx(approvals.get_approval, seen, approval_id)
    intent = row.intent
    add_log_context(tenant=intent.tenant)
    if intent.state != "pending" or intent.expires_at <= now:
        raise _settled(row, now)
    if intent.hash != hash_:
        raise HttpProblem(409, "changed", "This is not what you were shown.", fix="Look at it again, then decide.")
    setup = await find_deciding_setup(services, intent)
    incoming = Incoming(
        tenant=intent.tenant,
        conversation=intent.conversation,
        turn=TurnId(services.ids.new("turn")),
        text="",
        at=now,
        principal=who.name,
        errand=Errand(intent.id, decision, who.name, arguments or {}),
    )
    add_log_context(turn=incoming.turn)
    result = await services.turns.take(incoming, setup)
    if result.lost:
        return to_response(describe_lost_turn(result), 503, headers={"Retry-After": "2"})
    _require_approver(result)
    if ReasonCode.PENDING_INTENT_MISSING in result.reason_codes:  # somebody was quicker, since we looked
        row = await services.store.tx(approvals.get_approval, seen, approval_id)
        raise _settled(row, services.clock.now())
    await services.store.tx(people.settle_approvals, intent.tenant, intent.conversation, who.name, services.clock.now())
    after = await services.store.tx(approvals.get_approval, seen, approval_id)
    return to_response(DecisionShown(approval=ApprovalShown.at(after, services.clock.now()), turn=result.to_json()))


def _settled(row: Approval, now: datetime) -> HttpProblem:
    return HttpProblem(409, "settled", approvals.describe_end(row, now), fix="Look at it again.")


def _require_approver(result: TurnResult) -> None:
    """The turn wrote down that somebody approved what was not theirs to approve: here they are told."""
    if ReasonCode.APPROVER_REFUSED in result.reason_codes:
        why = next(one for one in result.entries if one.reason is ReasonCode.APPROVER_REFUSED)
        raise ApproverRefused(why.content, fix=WHO_MAY)
