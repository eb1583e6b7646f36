"""`POST /v1/audit`: transcripts in, one line a proposed call out, then a summary. The same as `circumspect audit`.

The body is JSON (`{"transcripts": […], "policy": "…"}`) or the lines themselves (`application/x-ndjson`). Nothing is
stored, no model is asked, nothing is run; what is sent is read in a process with limits of time and memory. The
tenant's own policy judges unless another is sent.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.responses import Response

from circumspect.audit import audit_lines
from circumspect.audit.tool_defs import Specs
from circumspect.confined.processes import ReadingLimits, run_confined
from circumspect.errors import ConfigError, PolicyError
from circumspect.server.access import Caller, caller, services_of
from circumspect.server.checked_policies import write_specs
from circumspect.server.json_bodies import read_json
from circumspect.server.problems import HttpProblem
from circumspect.server.request_log import add_log_context
from circumspect.server.responses import KEY, describe_route, resource
from circumspect.server.schemas.audit import AuditGiven
from circumspect.server.stores import policies
from circumspect.stores.codec import dumps
from circumspect.values import TenantId

router = resource("audit")
Auditing = Annotated[Caller, Depends(caller("read"))]
LINES = "application/x-ndjson"
_EXAMPLE = (
    '{"id":"c1","index":1,"call":0,"tool":"cancel_order","verdict":"ask","reason_codes":["DESTRUCTIVE_NO_CONFIRM"],'
    '"rules":["destructive_calls_are_confirmed"],"grounding":{"order_id":{"from":"user","message":0}}}\n'
    '{"summary":{"conversations":1,"calls":1,"held":1}}\n'
)
_OPENAPI = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": AuditGiven.model_json_schema(ref_template="#/components/schemas/{model}")},
            LINES: {"schema": {"type": "string", "description": "One transcript a line."}},
        },
    }
}


class AuditRefused(ConfigError):
    """The transcripts take more than reading them may."""

    code = "audit_refused"


@router.post(
    "/v1/audit",
    **describe_route(
        None,
        400,
        413,
        415,
        422,
        security=KEY,
        openapi_extra=_OPENAPI,
        responses={
            200: {
                "description": "One JSON line for each proposed call, unsupported claim or unreadable piece; the last "
                "line is the summary. A verdict says who must act: `allow` nobody, `redo` the model, which looks "
                "something up, `ask` the user, `escalate` a colleague; `deny` is not done.",
                "content": {LINES: {"schema": {"type": "string"}, "example": _EXAMPLE}},
            }
        },
    ),
)
async def audit(request: Request, who: Auditing) -> Response:
    """What would have been held in conversations of an agent, and why."""
    services = services_of(request)
    add_log_context(tenant=who.tenant)
    lines, text = await _read_body(request)
    stored = await services.store.tx(policies.current, who.tenant) if text is None else None
    specs = await services.store.tool_specs(who.tenant)
    text = stored.text if stored else None if text == "guess" else text
    now = services.clock.now()
    found = await services.lanes.transcripts.compute(
        who.tenant, _audit_apart, lines, text, specs, now, who.tenant, services.lanes.limits
    )
    return Response(found, media_type=LINES)


async def _read_body(request: Request) -> tuple[bytes, str | None]:
    body = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in (LINES, "application/jsonl"):
        return body, None
    if kind != "application/json":
        raise HttpProblem(
            415,
            "unsupported_media_type",
            "The body is neither JSON nor lines of JSON.",
            fix=f"Send `Content-Type: application/json` or `{LINES}`.",
        )
    try:
        given = AuditGiven.model_validate(read_json(body))
    except ValidationError as error:
        found = [{**one, "loc": ("body", *one["loc"])} for one in error.errors(include_url=False, include_input=False)]
        raise RequestValidationError(found) from None
    return "".join(f"{dumps(one)}\n" for one in given.transcripts).encode(), given.policy


def _audit_apart(
    lines: bytes, text: str | None, specs: Specs, now: datetime, tenant: TenantId, limits: ReadingLimits
) -> bytes:
    facts = {"policy": text, "name": f"policy of {tenant}", "specs": write_specs(specs), "now": now.isoformat()}
    found = run_confined(
        audit_lines.TASK, lines, facts, what="The audit", limits=limits, refusal=AuditRefused,
        fix="Send fewer calls of one conversation at once, or use `circumspect audit` on a machine of yours.",
    )  # fmt: skip
    if (problem := found.get("unread")) is not None:
        raise HttpProblem(
            422,
            "nothing_read",
            f"There was nothing to rule on: {problem}.",
            fix="Send one of the formats that `circumspect docs audit` lists, one record a line.",
        )
    if (unsound := found.get("unsound")) is not None:
        raise PolicyError(unsound["problem"], fix=unsound["fix"], findings=tuple(unsound["findings"]))
    return str(found["lines"]).encode()
