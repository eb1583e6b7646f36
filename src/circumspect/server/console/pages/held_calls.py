"""Held calls and the policy: from a call to the line that held it, from a line to the calls that it held, and from a
call to a rule for the next one.

What a new rule would have done is shown before it is saved: it opens in the editor, and the trial begins by itself.
"""

from __future__ import annotations

from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Path, Query, Request
from starlette.responses import Response

from circumspect.policy.amend import Amendment, propose
from circumspect.policy.rule_lines import LineFinder, PolicyLine
from circumspect.server.access import services_of
from circumspect.server.console import page_routes
from circumspect.server.console.figures import category
from circumspect.server.console.held_by_rule import (
    DAYS,
    RulingFound,
    count_held,
    find_ruling,
    find_version,
    list_held,
    mark_lines,
    order_fates,
)
from circumspect.server.console.pages.policies import lines_of, read_policy, render_editor
from circumspect.server.console.read_pool import read
from circumspect.server.console.rendering import page
from circumspect.server.console.visitors import AdminVisitor, ReviewerVisitor, tenants_of
from circumspect.server.known_tools import find_known_tools
from circumspect.server.problems import not_found, require_found
from circumspect.server.responses import IdPath, TenantPath, one_tenant
from circumspect.server.stores import policies as store
from circumspect.server.stores.policies import PolicyVersion
from circumspect.values import ConversationId, TenantId

router = page_routes.router()
Seq = Annotated[int, Path(ge=0, le=2**31 - 1)]
ROWS = 100


@router.get("/policies/{tenant}/versions/{version}")
async def show_version(
    request: Request, who: ReviewerVisitor, tenant: TenantPath, version: Annotated[int, Path(ge=1, le=2**31 - 1)]
) -> Response:
    """A text with its lines, and beside each rule the calls of the last month that it held."""
    services, name = services_of(request), one_tenant(who.principal, tenant)
    now = services.clock.now()
    shown = require_found(await services.store.tx(store.version, name, version), "policy")
    counts = await read(services, count_held, name, now)
    policy = read_policy(shown)
    text = lines_of(shown.text)
    marks = await services.lanes.policies.compute(name, mark_lines, text, policy, name, counts) if policy else []
    return page(
        request,
        who,
        "policies/version.html",
        tenant=name,
        tenants=await tenants_of(request, who),
        shown=shown,
        current=await services.store.tx(store.current, name),
        lines=text.splitlines(),
        marks=marks,
        order_fates=order_fates,
        days=DAYS,
    )


@router.get("/policies/{tenant}/held")
async def list_calls(
    request: Request,
    who: ReviewerVisitor,
    tenant: TenantPath,
    tool: Annotated[str, Query(max_length=200)],
    rule: Annotated[str, Query(max_length=200)],
) -> Response:
    services, name = services_of(request), one_tenant(who.principal, tenant)
    rows = await read(services, list_held, name, tool, rule, services.clock.now(), ROWS)
    return page(
        request,
        who,
        "policies/held.html",
        tenant=name,
        tenants=await tenants_of(request, who),
        tool=tool,
        rule=rule,
        rows=rows,
        days=DAYS,
        most=ROWS,
        category=category,
    )


@router.get("/policies/{tenant}/held/{conversation_id}/{seq}")
async def show_call(
    request: Request, who: ReviewerVisitor, tenant: TenantPath, conversation_id: IdPath, seq: Seq
) -> Response:
    """Why it was held, by which line, and what can be done about the next one."""
    name = one_tenant(who.principal, tenant)
    ruling = await _find(request, name, conversation_id, seq)
    version, line = await _find_line(request, name, ruling)
    current = await services_of(request).store.tx(store.current, name)
    return page(
        request,
        who,
        "policies/call.html",
        tenant=name,
        tenants=await tenants_of(request, who),
        ruling=ruling,
        then=version,
        line=line,
        quoted=lines_of(version.text).splitlines()[line.number - 1] if version and line else "",
        current=current,
        proposals=await _propose(request, name, ruling, current),
        category=category,
    )


@router.get("/policies/{tenant}/held/{conversation_id}/{seq}/line")
async def show_line(
    request: Request, who: ReviewerVisitor, tenant: TenantPath, conversation_id: IdPath, seq: Seq
) -> Response:
    """To the line of the version that was in force; to what is known of the call where no line held it."""
    name = one_tenant(who.principal, tenant)
    ruling = await _find(request, name, conversation_id, seq)
    version, line = await _find_line(request, name, ruling)
    if version is None or line is None:
        return page_routes.redirect_to(f"/policies/{name}/held/{conversation_id}/{seq}")
    return page_routes.redirect_to(f"/policies/{name}/versions/{version.version}#L{line.number}")


@router.get("/policies/{tenant}/held/{conversation_id}/{seq}/draft")
async def open_draft(
    request: Request,
    who: AdminVisitor,
    tenant: TenantPath,
    conversation_id: IdPath,
    seq: Seq,
    choice: Annotated[str, Query(max_length=300)],
) -> Response:
    """The text in force with the chosen change, in the editor. Nothing is saved."""
    name = one_tenant(who.principal, tenant)
    ruling = await _find(request, name, conversation_id, seq)
    current = await services_of(request).store.tx(store.current, name)
    made = next((one for one in await _propose(request, name, ruling, current) if one.key == choice), None)
    if made is None:
        return page_routes.redirect_to(f"/policies/{name}/held/{conversation_id}/{seq}")
    back = f"/policies/{name}/held/{conversation_id}/{seq}"
    note = who.words.t("amend-note", tool=ruling.held.call.tool, conversation=str(conversation_id))
    return await render_editor(
        request, who, name, current, text=made.text, tool=ruling.held.call.tool, note=note, made_from=back
    )


async def _find(request: Request, tenant: TenantId, conversation: str, seq: int) -> RulingFound:
    found = await read(services_of(request), find_ruling, tenant, ConversationId(conversation), seq)
    if found is None:
        raise not_found("call")
    return found


async def _find_line(
    request: Request, tenant: TenantId, ruling: RulingFound
) -> tuple[PolicyVersion | None, PolicyLine | None]:
    """In the version that was in force when the call was held."""
    services = services_of(request)

    def look_up(connection: sa.Connection) -> PolicyVersion | None:
        number = find_version(connection, tenant, ruling.policy, ruling.at)
        return store.version(connection, tenant, number) if number is not None else None

    version = await read(services, look_up)
    policy = read_policy(version)
    if version is None or policy is None:
        return version, None

    def find() -> PolicyLine | None:
        held = ruling.held
        return LineFinder(lines_of(version.text), policy).find(held.rule, held.call.tool, tenant, held.because)

    return version, await services.lanes.policies.compute(tenant, find)


async def _propose(
    request: Request, tenant: TenantId, ruling: RulingFound, current: PolicyVersion | None
) -> tuple[Amendment, ...]:
    services = services_of(request)
    known = await find_known_tools(services, tenant)
    text = lines_of(current.text) if current else "version: 1\n"
    made: Any = await services.lanes.policies.compute(
        tenant, propose, text, ruling.held, tenant, known.specs, known.seen
    )
    found: tuple[Amendment, ...] = made
    return found
