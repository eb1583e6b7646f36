"""A tenant's tools in the browser: HTTP requests and MCP servers, added, tried and taken away. For admins.

Trying cannot act: what only reads is asked for real, and of everything else the request is shown that would be sent.
Python and commands run on the server, so they come from the tenant's file and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Annotated, Any, Literal

import orjson
from fastapi import Form, Query, Request
from starlette.responses import Response

from circumspect.errors import CircumspectError
from circumspect.policy.keys.tool_policy import effect_of
from circumspect.policy.validators import find_validator
from circumspect.server.access import require_fresh, services_of
from circumspect.server.change_tenant import TenantDocument, change_tenant_file, open_secrets
from circumspect.server.console import page_routes
from circumspect.server.console.held_forms import LONGEST_UNDO, offer_undo, read_undo
from circumspect.server.console.rendering import link, page
from circumspect.server.console.typed_names import LONGEST_TYPED, ask_for_name
from circumspect.server.console.visitors import AdminVisitor, Visitor
from circumspect.server.problems import HttpProblem, not_found, require_found
from circumspect.server.responses import TenantPath, one_tenant
from circumspect.server.stores import tenants
from circumspect.server.tenants.tenant_file import ToolSection
from circumspect.server.tool_forms import (
    SectionDocument,
    find_section,
    is_editable,
    name_secret,
    require_harmless,
    require_unused_names,
    write_http_section,
    write_mcp_section,
)
from circumspect.tools.http_tool import HttpTool
from circumspect.tools.mcp import McpTools
from circumspect.values import Effect, JsonObject, TenantId

router = page_routes.router()
ToolNameForm = Annotated[str, Form(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
UrlForm = Annotated[str, Form(min_length=1, max_length=2_000)]
JsonForm = Annotated[str, Form(max_length=20_000)]
SecretForm = Annotated[str, Form(max_length=10_000, pattern=r"^[\x21-\x7e]*( [\x21-\x7e]+)?$")]
FormMethod = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
DONE = ("added", "removed")
TRIES_PER_MINUTE = 30


@router.get("/tenants/{tenant}/tools")
async def show(
    request: Request,
    who: AdminVisitor,
    tenant: TenantPath,
    done: Annotated[str, Query(max_length=10)] = "",
    undo: Annotated[str, Query(max_length=LONGEST_UNDO)] = "",
) -> Response:
    back = read_undo(request, who.operator, undo)
    name = one_tenant(who.principal, tenant)
    return await _render(request, who, name, done=done if done in DONE else "", undo=back)


@router.post("/tenants/{tenant}/tools/http")
async def add_http(
    request: Request,
    who: AdminVisitor,
    tenant: TenantPath,
    name: ToolNameForm,
    effect: Annotated[Effect, Form()],
    method: Annotated[FormMethod, Form()],
    url: UrlForm,
    description: Annotated[str, Form(max_length=2_000)] = "",
    body: JsonForm = "",
    parameters: JsonForm = "",
    secret: SecretForm = "",
) -> Response:
    section = write_http_section(name, description, effect, method, url, body, parameters, bool(secret))
    return await _add(request, who, tenant, section, {name_secret(name): secret} if secret else {})


@router.post("/tenants/{tenant}/tools/mcp")
async def add_mcp(
    request: Request,
    who: AdminVisitor,
    tenant: TenantPath,
    name: ToolNameForm,
    url: UrlForm,
    prefix: Annotated[str, Form(pattern=r"^[A-Za-z0-9_-]{0,32}$")] = "",
    secret: SecretForm = "",
) -> Response:
    """The secret is the whole header `Authorization`, such as `Bearer abc`."""
    section = write_mcp_section(name, url, prefix, bool(secret))
    return await _add(request, who, tenant, section, {name_secret(name): secret} if secret else {})


@router.post("/tenants/{tenant}/tools/again")
async def add_again(
    request: Request, who: AdminVisitor, tenant: TenantPath, removed: Annotated[str, Form(max_length=LONGEST_UNDO)]
) -> Response:
    """One that was taken away, as it was. Sealed: a section that anybody could write might send any of the tenant's
    secrets to an address of theirs."""
    held = read_undo(request, who.operator, removed)
    if held is None or held.to != f"/tenants/{tenant}/tools/again":
        raise HttpProblem(422, "invalid", "This tool cannot be brought back any more.", fix="Add it as a new one.")
    return await _add(request, who, tenant, require_harmless(orjson.loads(dict(held.fields)["section"])), {})


@router.post("/tenants/{tenant}/tools/remove")
async def remove(
    request: Request,
    who: AdminVisitor,
    tenant: TenantPath,
    name: ToolNameForm,
    typed: Annotated[str, Form(max_length=LONGEST_TYPED)] = "",
) -> Response:
    """Refused while the policy names it: a policy about a tool that is not there could not be loaded."""
    require_fresh(request, who.principal)
    id_, t = one_tenant(who.principal, tenant), who.words.t
    section = require_found(find_section(await _read_sections(request, id_), name), "tool")
    if unsure := await ask_for_name(request, who, name, typed, effects=[t("tool-remove-means")]):
        return unsure

    def change(document: TenantDocument) -> TenantDocument:
        return {**document, "tools": [one for one in document.get("tools", ()) if one != section]}

    await change_tenant_file(services_of(request), who.operator.name, id_, change)
    again, kept = f"/tenants/{id_}/tools/again", [("section", orjson.dumps(section).decode())]
    removed = offer_undo(request, who.operator, again, kept)
    undo = offer_undo(request, who.operator, again, [("removed", removed)]) if removed else ""
    return page_routes.redirect_to(link(f"/tenants/{id_}/tools", done="removed", undo=undo))


@router.post("/tenants/{tenant}/tools/try")
async def try_out(
    request: Request, who: AdminVisitor, tenant: TenantPath, name: ToolNameForm, arguments: JsonForm = ""
) -> Response:
    id_ = one_tenant(who.principal, tenant)
    section = find_section(await _read_sections(request, id_), name)
    if section is None:
        raise not_found("tool")
    await services_of(request).limiter.check(f"tries:{who.operator.id}", TRIES_PER_MINUTE)
    try:
        given = orjson.loads(arguments or "{}")
        if not isinstance(given, dict):
            raise ValueError("no object")
    except ValueError:
        raise HttpProblem(
            422, "invalid", who.words.t("tool-try-no-json"), fix=who.words.t("tool-try-no-json-fix")
        ) from None
    tried = await _try(request, id_, ToolSection.model_validate(section), given)
    return await _render(request, who, id_, tried={"name": name, "arguments": arguments, **tried})


async def _try(request: Request, tenant: TenantId, section: ToolSection, given: JsonObject) -> Mapping[str, Any]:
    """What came of it; `sent` says whether anything left this server."""
    services = services_of(request)
    secrets, allow = await open_secrets(services, tenant), services.settings.allow_addresses
    try:
        if section.mcp is not None:
            async with AsyncExitStack() as opened:
                server = McpTools(section.mcp, secrets=secrets.__getitem__, allow=allow)
                found = (await opened.enter_async_context(server)).tools()
                return {"sent": True, "result": [one.spec.signature for one in found], "problem": ""}
        assert section.http is not None
        tool = HttpTool(section.http, secrets=secrets.__getitem__, allow=allow)
        wrong = next(iter(find_validator(tool.spec).iter_errors(dict(given))), None)
        if wrong is not None:
            return {"sent": False, "result": None, "problem": str(wrong.message)}
        policy = (await services.directory.setup(tenant)).policy
        reads = effect_of(tool.spec, policy.of(tool.spec.name, tenant)) == "read"
        if reads and section.http.effect == "read" and section.http.request.method in ("GET", "HEAD"):
            return {"sent": True, "result": await tool.call(given, services.ids.new("try")), "problem": ""}
        return {"sent": False, "result": tool.describe_request(given), "problem": ""}
    except CircumspectError as problem:
        return {"sent": False, "result": None, "problem": problem.problem}


async def _add(
    request: Request, who: Visitor, tenant: str, section: SectionDocument, secrets: Mapping[str, str]
) -> Response:
    require_fresh(request, who.principal)
    id_ = one_tenant(who.principal, tenant)

    def change(document: TenantDocument) -> TenantDocument:
        require_unused_names(document, secrets)
        return {**document, "tools": [*document.get("tools", ()), section]}

    made = await change_tenant_file(services_of(request), who.operator.name, id_, change, secrets=secrets)
    if made.warnings:
        return await _render(request, who, id_, done="added", warnings=made.warnings)
    return page_routes.redirect_to(f"/tenants/{id_}/tools?done=added")


async def _read_sections(request: Request, tenant: TenantId) -> list[dict[str, Any]]:
    row = require_found(await services_of(request).store.tx(tenants.get, tenant), "tenant")
    found: Any = (row.settings or {}).get("tools", [])
    return list(found)


async def _render(request: Request, who: Visitor, tenant: TenantId, **values: Any) -> Response:
    row = require_found(await services_of(request).store.tx(tenants.get, tenant), "tenant")
    sections = [ToolSection.model_validate(one) for one in await _read_sections(request, tenant)]
    given: dict[str, Any] = {
        "tenant": tenant,
        "business": row.tenant.business.name,
        "sections": [one for one in sections if is_editable(one)],
        "others": sum(not is_editable(one) for one in sections),
        "effects": ("read", "write", "destructive"),
        "methods": ("GET", "POST", "PUT", "PATCH", "DELETE"),
        "command": f"circumspect tenants show {tenant} > {tenant}.yaml   # then add to `tools` in it\n"
        f"circumspect apply {tenant}.yaml --dry-run\ncircumspect apply {tenant}.yaml",
        "tried": None,
        "warnings": (),
        "done": "",
        "undo": None,
    }
    return page(request, who, "tenants/tools.html", **{**given, **values})
