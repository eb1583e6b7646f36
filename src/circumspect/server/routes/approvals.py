"""`/v1/approvals`: calls that wait for a colleague. See exactly what will run, then approve, deny or edit it.

A decision names the hash of what its author was shown; if that is not what is stored, nothing happens. An edit is no
approval: the call with its new arguments goes through the rules again and, if they let it, waits anew. The store writes
the line in the operators' log, in the transaction that records the decision.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Depends, Query, Request
from starlette.responses import Response

from circumspect.server.access import Principal, either, services_of
from circumspect.server.problems import HttpProblem
from circumspect.server.request_log import about
from circumspect.server.responses import (
    After,
    IdPath,
    Limit,
    TenantQuery,
    answer,
    described,
    page_after,
    paged,
    resource,
    visible,
    when,
)
from circumspect.server.routes.conversations import turn_shown
from circumspect.server.running_turns import is_lost
from circumspect.server.schemas.approvals import ApprovalShown, Decided, Decision, Edit
from circumspect.server.schemas.bodies import Page
from circumspect.server.stores import approvals
from circumspect.server.stores.approvals import Approval
from circumspect.server.streams import lost_body
from circumspect.stores import people
from circumspect.values import Decided as Errand
from circumspect.values import Incoming, JsonObject, TurnId

router = resource("approvals")
Looking = Annotated[Principal, Depends(either("manage", ("operator", "reviewer")))]
Deciding = Annotated[Principal, Depends(either("manage", ("operator",)))]


@router.get("/v1/approvals", **described(Page[ApprovalShown], 404))
async def list_approvals(
    request: Request,
    who: Looking,
    tenant: TenantQuery = None,
    state: Annotated[
        Literal["waiting", "all"], Query(description="Those that wait, or all there ever were.")
    ] = "waiting",
    after: After = None,
    limit: Limit = 50,
) -> Response:
    """The newest first."""
    services = services_of(request)
    now = services.clock.now()
    rows = await services.store.tx(
        approvals.list_approvals,
        visible(who, tenant),
        page_after(after),
        limit + 1,
        waiting=state == "waiting",
        now=now,
    )
    return answer(
        paged(rows, limit, lambda row: shown(row, now), lambda row: (row.intent.created_at, str(row.intent.id)))
    )


@router.get("/v1/approvals/{approval_id}", **described(ApprovalShown, 404))
async def get_approval(request: Request, who: Looking, approval_id: IdPath) -> Response:
    """Exactly what will run."""
    services = services_of(request)
    row = await services.store.tx(approvals.get_approval, visible(who, None), approval_id)
    return answer(shown(row, services.clock.now()))


@router.post("/v1/approvals/{approval_id}/approve", **described(Decided, 400, 404, 409))
async def approve(request: Request, who: Deciding, approval_id: IdPath, given: Decision) -> Response:
    """Run it, exactly as shown, once."""
    return await _decide(request, who, approval_id, given.hash, "approve")


@router.post("/v1/approvals/{approval_id}/deny", **described(Decided, 400, 404, 409))
async def deny(request: Request, who: Deciding, approval_id: IdPath, given: Decision) -> Response:
    """It will not run, and the user hears so."""
    return await _decide(request, who, approval_id, given.hash, "deny")


@router.post("/v1/approvals/{approval_id}/edit", **described(Decided, 400, 404, 409))
async def edit(request: Request, who: Deciding, approval_id: IdPath, given: Edit) -> Response:
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
    services = services_of(request)
    seen, now = visible(who, None), services.clock.now()
    row = await services.store.tx(approvals.get_approval, seen, approval_id)
    intent = row.intent
    about(tenant=intent.tenant)
    if intent.state != "pending" or intent.expires_at <= now:
        raise HttpProblem(409, "settled", "This does not wait any more.", fix="Look at it again.")
    if intent.hash != hash_:
        raise HttpProblem(409, "changed", "This is not what you were shown.", fix="Look at it again, then decide.")
    setup = await services.directory.setup(intent.tenant)
    incoming = Incoming(
        tenant=intent.tenant,
        conversation=intent.conversation,
        turn=TurnId(services.ids.new("turn")),
        text="",
        at=now,
        principal=who.name,
        errand=Errand(intent.id, decision, who.name, arguments or {}),
    )
    about(turn=incoming.turn)
    result = await services.turns.take(incoming, setup)
    if is_lost(result):
        return answer(lost_body(result), 503, headers={"Retry-After": "2"})
    await services.store.tx(people.settle_approvals, intent.tenant, intent.conversation, who.name, services.clock.now())
    after = await services.store.tx(approvals.get_approval, seen, approval_id)
    return answer({"approval": shown(after, services.clock.now()), "turn": turn_shown(result)})


def shown(row: Approval, now: datetime) -> dict[str, Any]:
    intent = row.intent
    state: str = "expired" if intent.state == "pending" and intent.expires_at <= now else intent.state
    return {
        "id": intent.id,
        "tenant": intent.tenant,
        "conversation_id": intent.conversation,
        "tool": intent.call.tool,
        "arguments": intent.call.arguments,
        "question": intent.question,
        "hash": intent.hash,
        "tool_version": intent.tool_version,
        "policy_version": intent.policy_version,
        "asked_by": intent.principal,
        "state": state,
        "created_at": when(intent.created_at),
        "expires_at": when(intent.expires_at),
        "settled_by": row.settled_by,
        "settled_at": when(row.settled_at),
    }
