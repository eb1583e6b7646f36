"""`/v1/admin/documents`: what a tenant's agent may answer from, put there file by file; and evaluations with files.

A file is received to disk, read in a process of its own, and stored as its text: whoever may put one there decides what
customers are told. A document of the same name is replaced.
"""

from __future__ import annotations

import base64
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.responses import Response

from circumspect.knowledge.read_document import MAX_BYTES, read_document
from circumspect.knowledge.search import language_of
from circumspect.knowledge.tree import KnowledgeDocument
from circumspect.server.access import AdminPrincipal, ChatCaller, SettingsReader, require_fresh, services_of
from circumspect.server.json_bodies import read_json
from circumspect.server.problems import HttpProblem, not_found
from circumspect.server.request_log import add_log_context
from circumspect.server.responses import (
    KEY,
    LoggedAction,
    TenantFilter,
    action,
    describe_route,
    one_tenant,
    resource,
    to_response,
)
from circumspect.server.routes import evaluations
from circumspect.server.schemas.documents import DocumentShown
from circumspect.server.schemas.evaluations import EvaluationShown, NewEvaluation
from circumspect.server.stores import tenants
from circumspect.server.uploads import ReceivedFile, receive_upload
from circumspect.stores import knowledge
from circumspect.stores.knowledge import DocumentRow
from circumspect.values import TenantId

router = resource("documents")
MOST_DOCUMENTS = 1_000
MOST_CHARACTERS = 2_000_000
"""Writing a document's passages takes the database's one writer some seconds at this length."""
MOST_FILES = 20
_LIMITS = (
    f"A file may have {MAX_BYTES / 1e6:g} MB, all files of an upload max_upload_bytes, "
    f"and a document {MOST_CHARACTERS:,} characters of text."
)
DocumentId = Annotated[str, Query(alias="id", min_length=1, max_length=1_000, pattern=r"^[^\x00]*$")]


def _body(**more: Any) -> dict[str, Any]:
    """How the description shows an upload."""
    one = {"type": "string", "format": "binary", "description": "The file, with its name."}
    schema = {"type": "object", "required": ["file"], "properties": {"file": one, **more}}
    return {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": schema}}}}


@router.post(
    "/v1/admin/documents", **describe_route(DocumentShown, 400, 404, 413, 415, status=201, openapi_extra=_body())
)
async def put_document(request: Request, who: AdminPrincipal, tenant: TenantFilter = None) -> Response:
    """Add a document, or replace the one of that name: Markdown, HTML, plain text or PDF, in a part named `file`."""
    require_fresh(request, who)
    services, whose = services_of(request), one_tenant(who, tenant)
    add_log_context(tenant=whose)
    async with receive_upload(request, files=1) as received:
        file = received.only_file()
        data, media_type = await file.read(), file.media_type
    if len(data) > MAX_BYTES:
        raise _too_large(f"The file has {len(data) / 1e6:.1f} MB.")
    lanes = services.lanes
    read = await lanes.documents.compute(
        whose, read_document, data, file.name, media_type=media_type, limits=lanes.limits, bounds=_LIMITS
    )
    if len(read.text) > MOST_CHARACTERS:
        raise _too_large(f"The document has {len(read.text):,} characters.")
    change = action(services, who.name, "put_document")
    return to_response(DocumentShown.of_row(await services.store.tx(_put, whose, read, change)), 201)


def _too_large(problem: str) -> HttpProblem:
    """All limits at once, so that a file is not split for each of them again."""
    return HttpProblem(413, "too_large", problem, fix=f"Split it into parts. {_LIMITS}")


def _put(connection: sa.Connection, tenant: TenantId, document: KnowledgeDocument, change: LoggedAction) -> DocumentRow:
    if tenants.get(connection, tenant, lock=True) is None:
        raise not_found("tenant")
    known = {row.id for row in knowledge.list_documents(connection, tenant)}
    if document.id not in known and len(known) >= MOST_DOCUMENTS:
        raise HttpProblem(
            422, "invalid", f"This tenant has {MOST_DOCUMENTS} documents already.", fix="Delete some, or join them."
        )
    knowledge.put(connection, tenant, document, language_of(document.text))
    tenants.touch(connection, tenant)
    change.log(connection, tenant, document.id, {"hash": document.hash})
    return next(row for row in knowledge.list_documents(connection, tenant) if row.id == document.id)


@router.get("/v1/admin/documents", **describe_route(list[DocumentShown], 404))
async def list_documents(request: Request, who: SettingsReader, tenant: TenantFilter = None) -> Response:
    """By name, without their text."""
    rows = await services_of(request).store.tx(knowledge.list_documents, one_tenant(who, tenant))
    return to_response([DocumentShown.of_row(row) for row in rows])


@router.delete("/v1/admin/documents", **describe_route(None, 404, status=204))
async def delete_document(
    request: Request, who: AdminPrincipal, id_: DocumentId, tenant: TenantFilter = None
) -> Response:
    """Take one away; nothing is answered from it any more."""
    require_fresh(request, who)
    services, whose = services_of(request), one_tenant(who, tenant)
    await services.store.tx(_remove, whose, id_, action(services, who.name, "delete_document"))
    return Response(status_code=204)


def _remove(connection: sa.Connection, tenant: TenantId, document: str, change: LoggedAction) -> None:
    if not knowledge.remove(connection, tenant, document):
        raise not_found("document")
    tenants.touch(connection, tenant)
    change.log(connection, tenant, document)


# --- evaluations ----------------------------------------------------------------------------------------------------

_REQUEST = {"type": "string", "description": "The rest, as `POST /v1/evaluations` takes it, in JSON."}


@router.post(
    "/v1/evaluations/upload",
    **describe_route(
        EvaluationShown, 400, 404, 413, 415, status=202, security=KEY, openapi_extra=_body(request=_REQUEST)
    ),
)
async def upload_evaluation(
    request: Request, who: ChatCaller, key: evaluations.EvaluationIdempotencyKey = None
) -> Response:
    """Check a case against documents that come as files: parts named `file`, up to 20, and the rest as JSON in a part
    named `request`."""
    async with receive_upload(request, files=MOST_FILES, fields=("request",)) as received:
        written = received.fields.get("request")
        if written is None:
            fix = "Send case and criteria in it, as JSON: curl -F file=@policy.pdf -F request=@request.json"
            raise HttpProblem(422, "invalid", "There is no part named `request`.", fix=fix)
        sent = read_json(written.encode())
        given = [await _as_given(one) for one in received.files]
    if not isinstance(sent, dict) or not isinstance(sent.get("documents", []), list):
        raise HttpProblem(422, "invalid", "`request` is not a JSON object.", fix="Send case and criteria in it.")
    try:
        asked = NewEvaluation.model_validate({**sent, "documents": [*given, *sent.get("documents", [])]})
    except ValidationError as problem:
        raise RequestValidationError(problem.errors()) from None
    return await evaluations.create_evaluation(request, who, asked, key)


async def _as_given(file: ReceivedFile) -> dict[str, str | None]:
    data = base64.b64encode(await file.read()).decode()
    return {"name": file.name, "data": data, "media_type": file.media_type}
