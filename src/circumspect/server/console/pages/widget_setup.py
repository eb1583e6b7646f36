"""The chat for a tenant's own pages: which sites may show it, how it looks, and the line for a page. For admins.

The key in that line is shown in the answer that makes it, this once; it may do nothing but chat.
"""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import Form, Query, Request
from starlette.responses import Response

from circumspect.server.access import require_fresh, services_of
from circumspect.server.change_tenant import TenantDocument, change_tenant_file
from circumspect.server.console import page_routes
from circumspect.server.console.held_forms import LONGEST_UNDO, offer_undo, read_undo
from circumspect.server.console.rendering import link, page
from circumspect.server.console.visitors import AdminVisitor, Visitor
from circumspect.server.console.widget.branding import OURS, measure_contrast, pick_text
from circumspect.server.path_prefix import prefix_of
from circumspect.server.problems import require_found
from circumspect.server.responses import TenantPath, one_tenant
from circumspect.server.routes import keys as keys_api
from circumspect.server.schemas.keys import NewKey
from circumspect.server.stores import access, tenants
from circumspect.server.tenants.tenant_file import WidgetSection
from circumspect.values import LANGUAGES, TenantId

router = page_routes.router()
LONGEST_ORIGINS = 16_000
LONGEST_GREETING = 500


@router.get("/tenants/{tenant}/widget")
async def show(
    request: Request,
    who: AdminVisitor,
    tenant: TenantPath,
    done: Annotated[str, Query(max_length=10)] = "",
    undo: Annotated[str, Query(max_length=LONGEST_UNDO)] = "",
) -> Response:
    name = one_tenant(who.principal, tenant)
    back = read_undo(request, who.operator, undo)
    return await _render(request, who, name, done=done == "saved", undo=back)


@router.post("/tenants/{tenant}/widget")
async def save(
    request: Request,
    who: AdminVisitor,
    tenant: TenantPath,
    origins: Annotated[str, Form(max_length=LONGEST_ORIGINS)] = "",
    name: Annotated[str, Form(max_length=60)] = "",
    colour: Annotated[str, Form(max_length=7)] = "",
) -> Response:
    """What is left empty is as it is without a brand. Greetings come as `greeting-en` and so on."""
    require_fresh(request, who.principal)
    id_, form = one_tenant(who.principal, tenant), await request.form()
    greeting = {one: str(form.get(f"greeting-{one}", "")).strip() for one in LANGUAGES}
    said: dict[str, Any] = {
        "origins": [one.rstrip("/") for one in origins.split()],
        "name": name.strip(),
        "colour": "" if colour.lower() == OURS else colour,
        "greeting": {one: text.replace("\r\n", "\n") for one, text in greeting.items() if text},
    }
    before = await _read_section(request, id_)

    def change(document: TenantDocument) -> TenantDocument:
        return {**document, "widget": {key: value for key, value in said.items() if value}}

    await change_tenant_file(services_of(request), who.operator.name, id_, change)
    undo = offer_undo(request, who.operator, f"/tenants/{id_}/widget", _as_fields(before))
    return page_routes.redirect_to(link(f"/tenants/{id_}/widget", done="saved", undo=undo))


@router.post("/tenants/{tenant}/widget/key")
async def make_key(request: Request, who: AdminVisitor, tenant: TenantPath) -> Response:
    """A key of scope widget, in the line that it is for: in this answer and nowhere else."""
    id_ = one_tenant(who.principal, tenant)
    given = NewKey(name=who.words.t("widget-key-name"), scopes=["widget"], tenant=id_)
    answered = await keys_api.create_key(request, who.principal, given)
    return await _render(request, who, id_, key=orjson.loads(answered.body)["key"])


async def _read_section(request: Request, tenant: TenantId) -> WidgetSection:
    row = require_found(await services_of(request).store.tx(tenants.get, tenant), "tenant")
    return WidgetSection.model_validate((row.settings or {}).get("widget", {}))


def _as_fields(section: WidgetSection) -> list[tuple[str, str]]:
    greetings = [(f"greeting-{one}", text) for one, text in section.greeting.items()]
    plain = [("origins", " ".join(section.origins)), ("name", section.name or ""), ("colour", section.colour or "")]
    return [*plain, *greetings]


async def _render(request: Request, who: Visitor, tenant: TenantId, key: str = "", **values: Any) -> Response:
    services = services_of(request)
    row = require_found(await services.store.tx(tenants.get, tenant), "tenant")
    section = await _read_section(request, tenant)
    now = services.clock.now().timestamp()
    keys = [one for one in await services.store.tx(access.list_keys, frozenset({tenant})) if one.valid(now)]
    colour = section.colour or OURS
    given: dict[str, Any] = {
        "row": row,
        "tenant": tenant,
        "section": section,
        "colour": colour,
        "contrast": measure_contrast(colour, pick_text(colour)),
        "spoken": LANGUAGES,
        "longest": LONGEST_GREETING,
        "made": bool(key),
        "keys": [one.name for one in keys if tuple(one.scopes) == ("widget",)],
        "snippet": _write_snippet(request, section, row.tenant.language, key or "csk_…"),
        "command": f"circumspect tenants show {tenant} > {tenant}.yaml   # then change `widget` in it\n"
        f"circumspect apply {tenant}.yaml\n"
        f"circumspect keys create --tenant {tenant} --name website --scope widget",
        "done": False,
        "undo": None,
    }
    return page(request, who, "tenants/widget.html", **{**given, **values})


def _write_snippet(request: Request, section: WidgetSection, language: str, key: str) -> str:
    public = services_of(request).settings.public_url
    host = public.rstrip("/") if public else f"{request.url.scheme}://{request.url.netloc}{prefix_of(request)}"
    brand = f' data-colour="{section.colour}"' if section.colour else ""
    return f'<script src="{host}/widget.js" data-key="{key}" data-lang="{language}"{brand} async></script>'
