"""A tenant's documents: one more, or one away. For admins, by the routes of the API."""

from __future__ import annotations

from typing import Annotated

from fastapi import Form, Query, Request
from starlette.responses import Response

from circumspect.server.console import page_routes
from circumspect.server.console.rendering import link
from circumspect.server.console.typed_names import LONGEST_TYPED, ask_for_name
from circumspect.server.console.visitors import AdminVisitor
from circumspect.server.responses import one_tenant
from circumspect.server.routes import documents as api
from circumspect.server.schemas.bodies import TENANT

router = page_routes.router()
DocumentsTenant = Annotated[str, Query(pattern=TENANT)]


@router.post("/documents/upload")
async def upload(request: Request, who: AdminVisitor, tenant: DocumentsTenant) -> Response:
    """One file. The tenant is in the address, since the body is the file's."""
    name = one_tenant(who.principal, tenant)
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        # Who had to prove who they are comes back without the file: browsers do not hand it on.
        return page_routes.redirect_to(f"/tenants/{name}?done=choose#documents-title")
    await api.put_document(request, who.principal, name)
    return page_routes.redirect_to(f"/tenants/{name}?done=document#documents-title")


@router.post("/documents/remove")
async def remove(
    request: Request,
    who: AdminVisitor,
    tenant: DocumentsTenant,
    id_: Annotated[str, Form(alias="id", min_length=1, max_length=1_000, pattern=r"^[^\x00]*$")],
    typed: Annotated[str, Form(max_length=LONGEST_TYPED)] = "",
) -> Response:
    """Away for good: it has to be uploaded again, so its name is asked for."""
    name = one_tenant(who.principal, tenant)
    said = [who.words.t("document-remove-means"), who.words.t("typed-final")]
    if unsure := await ask_for_name(request, who, id_[:LONGEST_TYPED], typed, effects=said):
        return unsure
    await api.delete_document(request, who.principal, id_, name)
    return page_routes.redirect_to(link(f"/tenants/{name}", done="removed") + "#documents-title")
