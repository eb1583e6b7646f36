"""`/v1/evaluations/…/corrections`: what a verdict should have been. By the tenant's program, or by an operator.

One word on a criterion from each; of several people's the newest holds. The result stays as it was: a correction is
kept beside it, becomes a label to optimise prompts on, and is deleted with the case.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from fastapi import Request
from starlette.responses import Response

from circumspect.lab.optimise.dataset import part_of
from circumspect.server.access import ReviewerPrincipal, services_of
from circumspect.server.problems import HttpProblem, not_found, require_found
from circumspect.server.request_log import add_log_context
from circumspect.server.responses import (
    IdPath,
    TenantFilter,
    action,
    describe_route,
    find_visible_tenants,
    resource,
    to_response,
)
from circumspect.server.schemas.corrections import CorrectionGiven, CorrectionShown
from circumspect.stores import corrections, reviews
from circumspect.stores.codec import epoch
from circumspect.stores.corrections import Correction

router = resource("evaluations")


@router.post("/v1/evaluations/{evaluation_id}/corrections", **describe_route(CorrectionShown, 400, 404, status=201))
async def correct_verdict(
    request: Request, who: ReviewerPrincipal, evaluation_id: IdPath, given: CorrectionGiven, tenant: TenantFilter = None
) -> Response:
    """Say what a verdict should have been, or that it is right."""
    services = services_of(request)
    seen, now = find_visible_tenants(who, tenant), services.clock.now()
    change = action(services, who.name, "correct_verdict")

    def body(connection: sa.Connection) -> Correction:
        found = require_found(reviews.get(connection, seen, evaluation_id), "evaluation")
        result = _result(connection, found, given.criterion)
        one = Correction(
            found.tenant,
            found.id,
            given.criterion,
            str(result["status"]),
            float(result["confidence"]),
            given.status,
            given.why or "",
            who.name,
            epoch(now),
        )
        if not corrections.put(connection, one, "held" if part_of(found.case_id) == "held" else "train"):
            raise not_found("evaluation")
        if who.operator is not None:
            change.log(connection, one.tenant, found.id, {"criterion": one.criterion, "status": one.status})
        return one

    said = await services.store.tx(body)
    add_log_context(tenant=said.tenant)
    return to_response(CorrectionShown.of(said), 201)


def _result(connection: sa.Connection, found: reviews.Evaluation, criterion: str) -> Any:
    """Of an evaluation of one case. In a batch a criterion says not yet which verdict is meant."""
    rows = reviews.results_of(connection, found.tenant, found.id) if found.case_id else ()
    result = next((row for _, row in rows if row["criterion"] == criterion), None)
    if result is None:
        raise HttpProblem(
            404,
            "not_found",
            "This evaluation has no result for the criterion.",
            fix="Check the criterion's id, and that the evaluation has come to it.",
        )
    return result
