"""`/v1/evaluations`: a case against the criteria of a policy. Sent once, worked on in the background, read when done.

Verdicts are for whoever may use the tenant's agent; how they came about (`trace=true`) holds more of the case and needs
the scope `read`. Everything about a case is deleted by its id.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

import sqlalchemy as sa
from fastapi import Query, Request
from starlette.responses import Response, StreamingResponse

from circumspect.review.service import load_stored_documents, read_request
from circumspect.review.values import ControllerName
from circumspect.server.access import (
    AdminPrincipal,
    ChatCaller,
    ConversationReader,
    Principal,
    ReaderPrincipal,
    require_fresh,
    require_one_of,
    services_of,
)
from circumspect.server.held_stream import HeldStream
from circumspect.server.problems import HttpProblem, not_found, require_found
from circumspect.server.request_log import add_log_context
from circumspect.server.responses import (
    KEY,
    After,
    IdPath,
    LoggedAction,
    PageLimit,
    TenantFilter,
    action,
    describe_route,
    find_visible_tenants,
    idempotency_key,
    make_page,
    one_tenant,
    page_after,
    resource,
    to_response,
)
from circumspect.server.schemas.bodies import AnswerPage
from circumspect.server.schemas.evaluations import EvaluationShown, NewEvaluation, ResultShown
from circumspect.server.services import Services, reviewing_model
from circumspect.server.streams import HEADERS, HEARTBEAT_SECONDS, STILL_HERE, format_event
from circumspect.stores import corrections, reviews
from circumspect.stores.reviews import Evaluation
from circumspect.values import TenantId

router = resource("evaluations")
CaseId = Annotated[str, Query(min_length=1, max_length=200, pattern=r"^[^\x00]*$", description="The case's id.")]
Trace = Annotated[bool, Query(description="Also how each verdict came about: scope `read`, or operators.")]
EvaluationIdempotencyKey = Annotated[
    str | None, idempotency_key("The same key again gets the first evaluation, and starts nothing.")
]
POLL_SECONDS = 0.3


@router.post("/v1/evaluations", **describe_route(EvaluationShown, 400, 404, 413, status=202, security=KEY))
async def create_evaluation(
    request: Request, who: ChatCaller, given: NewEvaluation, key: EvaluationIdempotencyKey = None
) -> Response:
    """Check a case. The answer comes at once; the results at `GET /v1/evaluations/{id}` and as events."""
    add_log_context(tenant=who.tenant)
    made = await begin_evaluation(services_of(request), who.tenant, given, key)
    return to_response(EvaluationShown.of(made), 202, headers={"Location": f"/v1/evaluations/{made.id}"})


async def begin_evaluation(
    services: Services,
    tenant: TenantId,
    given: NewEvaluation,
    key: str | None = None,
    change: LoggedAction | None = None,
) -> Evaluation:
    """`change`: what an operator is named for, who has no key."""
    model = await reviewing_model(services, tenant)
    own = (await services.directory.settings(tenant)).review.controller
    asked = own if given.controller == "auto" else given.controller
    if asked == "react" and model is None:
        raise HttpProblem(422, "no_model", "This tenant has no language model.", fix="Use the heuristic controller.")
    sent = given.model_dump(exclude_none=True)
    stored = await load_stored_documents(services.store, tenant, sent)
    work = await services.lanes.documents.compute(tenant, read_request, sent, stored, services.lanes.limits)
    tried_with, has_model = given.controller == "auto", model is not None
    under = await services.experimenting.case(tenant, work.case.id, has_model=has_model) if tried_with else None
    wanted = (under.overlay.controller if under else None) or asked
    controller: ControllerName = "heuristic" if model is None or wanted == "heuristic" else "react"
    chosen = (await services.directory.setup(tenant)).prompts
    prompts = {name: one.id for name, one in chosen.items() if name.startswith("review")}
    id_ = services.ids.new("eval")
    beside = await services.experimenting.case_shadow(tenant, id_)
    tried = {"experiment": under.to_json() if under else None, "shadow": beside}

    def create(connection: sa.Connection) -> Evaluation:
        row = reviews.create(
            connection,
            tenant=tenant,
            id=id_,
            case_id=work.case.id,
            controller=controller,
            total=len(work.items),
            request={**sent, "prompts": prompts, **{name: one for name, one in tried.items() if one}},
            at=services.clock.now().timestamp(),
            client_key=key,
        )
        if change is not None:
            change.log(connection, tenant, row.id)
        return row

    made = await services.store.tx(create)
    services.evaluations.start(tenant, made.id, model)
    return made


@router.get("/v1/evaluations", **describe_route(AnswerPage[EvaluationShown], 404))
async def list_evaluations(
    request: Request,
    who: ConversationReader,
    tenant: TenantFilter = None,
    case: Annotated[str | None, Query(max_length=200, pattern=r"^[^\x00]*$")] = None,
    after: After = None,
    limit: PageLimit = 50,
) -> Response:
    """The newest first."""
    store = services_of(request).store
    rows = await store.tx(
        reviews.list_evaluations, find_visible_tenants(who, tenant), page_after(after), limit + 1, case
    )
    return to_response(make_page(rows, limit, EvaluationShown.of, lambda row: (row.created_at, row.id)))


@router.get("/v1/evaluations/{evaluation_id}", **describe_route(EvaluationShown, 404))
async def get_evaluation(
    request: Request, who: ReaderPrincipal, evaluation_id: IdPath, tenant: TenantFilter = None, trace: Trace = False
) -> Response:
    """One evaluation, with the results that there are so far."""
    require_one_of(who, *(("read",) if trace else ("chat", "read")))
    found = await _find_evaluation(request, who, evaluation_id, tenant)
    store = services_of(request).store
    rows = await store.tx(reviews.results_of, found.tenant, found.id)
    said = await store.tx(corrections.of, found.tenant, found.id)
    results = [ResultShown.of_result(row, trace=trace, correction=said.get(str(row["criterion"]))) for _, row in rows]
    return to_response(EvaluationShown.of(found, results=results))


@router.get(
    "/v1/evaluations/{evaluation_id}/events",
    **describe_route(
        None,
        404,
        responses={
            200: {
                "description": "`started`, a `result` for each criterion as it is decided, then `done` or `error`.",
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            }
        },
    ),
)
async def follow_evaluation(
    request: Request, who: ConversationReader, evaluation_id: IdPath, tenant: TenantFilter = None
) -> Response:
    """The same as events. Whoever comes late hears everything from the beginning."""
    found = await _find_evaluation(request, who, evaluation_id, tenant)
    services = services_of(request)
    stream = StreamingResponse(_events(services, found), media_type="text/event-stream", headers=HEADERS)
    return HeldStream(stream, services.streams, who.name if who.caller is None else f"tenant:{who.caller.tenant}")


@router.delete("/v1/evaluations", **describe_route(None, 404, status=204))
async def delete_evaluations(
    request: Request, who: AdminPrincipal, case: CaseId, tenant: TenantFilter = None
) -> Response:
    """Delete everything that is known of a case: what was sent, found and thought."""
    require_fresh(request, who)
    services = services_of(request)
    whose = one_tenant(who, tenant)
    await services.store.tx(_forget, whose, case, action(services, who.name, "delete_case"))
    return Response(status_code=204)


def _forget(connection: sa.Connection, tenant: TenantId, case: str, change: LoggedAction) -> None:
    if not reviews.forget_case(connection, tenant, case):
        raise not_found("case")
    change.log(connection, tenant, case)


# --- shared ---------------------------------------------------------------------------------------------------------


async def _find_evaluation(request: Request, who: Principal, id_: str, tenant: str | None) -> Evaluation:
    """The evaluation; taken up again here if nobody works on it."""
    services = services_of(request)
    found = require_found(await services.store.tx(reviews.get, find_visible_tenants(who, tenant), id_), "evaluation")
    if services.evaluations.needs(found):
        services.evaluations.start(found.tenant, found.id, await reviewing_model(services, TenantId(found.tenant)))
    return found


async def _events(services: Services, found: Evaluation) -> AsyncIterator[bytes]:
    yield format_event("started", EvaluationShown.of(found).to_json())
    seen: set[int] = set()
    quiet = 0.0
    while True:
        # The state first: what is done by then has all of its results written.
        now = await services.store.tx(reviews.get, frozenset({found.tenant}), found.id)
        rows = await services.store.tx(reviews.results_of, found.tenant, found.id)
        for position, row in rows:
            if position not in seen:
                seen.add(position)
                quiet = 0.0
                yield format_event("result", ResultShown.of_result(row).to_json())
        if now is None:
            yield format_event("error", {"code": "not_found", "problem": "The evaluation was deleted.", "fix": ""})
            return
        if now.state == "done":
            yield format_event("done", EvaluationShown.of(now).to_json())
            return
        if now.state == "failed":
            problem = now.error or "The evaluation failed."
            yield format_event("error", {"code": "failed", "problem": problem, "fix": "Send it again."})
            return
        await asyncio.sleep(POLL_SECONDS)
        quiet += POLL_SECONDS
        if quiet >= HEARTBEAT_SECONDS:
            quiet = 0.0
            yield STILL_HERE
