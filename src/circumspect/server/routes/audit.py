"""`POST /v1/audit`: transcripts in, one line a proposed call out, then a summary. The same as `circumspect audit`.

The body is JSON (`{"transcripts": […], "policy": "…"}`) or the lines themselves (`application/x-ndjson`). Nothing is
stored, no model is asked, nothing is run. The tenant's own policy judges unless another is sent.
"""

from __future__ import annotations

import io
from datetime import datetime
from typing import Annotated, Any

import orjson
from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.responses import Response

from circumspect.audit.auditor import Auditor
from circumspect.audit.rulings import line_of
from circumspect.audit.summary import AuditSummary
from circumspect.audit.tool_defs import Specs, Toolbox
from circumspect.audit.transcript_files import TranscriptProblem as Unreadable
from circumspect.audit.transcript_files import read_stream
from circumspect.policy.load import load
from circumspect.policy.policy_file import Policy
from circumspect.server.access import Caller, caller, services_of
from circumspect.server.problems import HttpProblem
from circumspect.server.request_log import add_log_context, read_json
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
    found = await services.lanes.transcripts.compute(who.tenant, _audit_lines, lines, text, specs, now, who.tenant)
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


def _audit_lines(lines: bytes, text: str | None, specs: Specs, now: datetime, tenant: TenantId) -> bytes:
    policy: Policy | None = load(text, name=f"policy of {tenant}") if text is not None else None
    auditor, summary, out = Auditor(policy, specs or None, now=now), AuditSummary(), io.BytesIO()
    for one in read_stream(io.BytesIO(lines), "transcripts", folder=None, lines=True, toolbox=Toolbox()):
        rows: Any = (one,) if isinstance(one, Unreadable) else auditor.audit_transcript(one)
        for row in rows:
            summary.add(row)
            out.write(line_of(row))
    if unread := next(iter(summary.unread_files.values()), None):
        raise HttpProblem(
            422,
            "nothing_read",
            f"There was nothing to rule on, and not everything could be read: {unread.problem}.",
            fix="Send one of the formats that `circumspect docs audit` lists, one record a line.",
        )
    out.write(orjson.dumps({"summary": summary.to_json()}) + b"\n")
    return out.getvalue()
