"""Colleagues: who may sign in, as what, and for which tenants. For admins, over those who see no more than they do.

A first password is in the answer that makes the account, this once. Nobody changes their own role.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Form, Path, Query, Request
from starlette.responses import Response

from circumspect.errors import ConfigError
from circumspect.server import credentials
from circumspect.server.access import require_fresh, services_of
from circumspect.server.console import navigation, page_routes
from circumspect.server.console.held_forms import LONGEST_UNDO, offer_undo, read_undo
from circumspect.server.console.rendering import link, page
from circumspect.server.console.typed_names import LONGEST_TYPED, ask_for_name
from circumspect.server.console.visitors import AdminVisitor, Visitor, tenants_of
from circumspect.server.operator_accounts import (
    ROLES,
    check_operator_name,
    is_owner,
    make_first_password,
    require_manageable,
    require_own_tenants,
)
from circumspect.server.problems import HttpProblem
from circumspect.server.responses import action
from circumspect.server.routes.session import takes_passwords
from circumspect.server.routes.sessions import manages
from circumspect.server.schemas.bodies import ID, TENANT
from circumspect.server.stores import access
from circumspect.server.stores.access import OperatorRole, OperatorRow
from circumspect.values import TenantId

navigation.add(navigation.MenuEntry("nav-colleagues", "/colleagues", 62, ("admin",), icon="users"))
router = page_routes.router()
MOST_TENANTS = 200
RoleForm = Annotated[OperatorRole, Form()]
GivenTenants = Annotated[list[Annotated[str, Form(pattern=TENANT)]], Form(max_length=MOST_TENANTS)]
TypedForm = Annotated[str, Form(max_length=LONGEST_TYPED)]
OperatorPath = Annotated[str, Path(pattern=ID)]
DONE = ("role", "disabled", "enabled")


@router.get("/colleagues")
async def show(
    request: Request,
    who: AdminVisitor,
    done: Annotated[str, Query(max_length=10)] = "",
    undo: Annotated[str, Query(max_length=LONGEST_UNDO)] = "",
) -> Response:
    return await _render(request, who, done=done if done in DONE else "", undo=read_undo(request, who.operator, undo))


@router.post("/colleagues")
async def add(
    request: Request,
    who: AdminVisitor,
    name: Annotated[str, Form(max_length=300)],
    role: RoleForm,
    tenants: GivenTenants = [],  # noqa: B006
    typed: TypedForm = "",
) -> Response:
    """The first password is in this answer and nowhere else."""
    require_fresh(request, who.principal)
    services = services_of(request)
    if not takes_passwords(services.settings):
        return page_routes.redirect_to("/colleagues")
    try:
        name = check_operator_name(name)
    except ConfigError as problem:
        raise HttpProblem(422, "invalid", problem.problem, fix=problem.fix) from None
    allowed = require_own_tenants(who.operator, _as_ids(tenants))
    if is_owner(role, allowed) and (unsure := await _ask_about_owner(request, who, name, typed)):
        return unsure
    password = make_first_password()
    hashed = await asyncio.to_thread(credentials.hash_password, password)
    row = OperatorRow(services.ids.new("opr"), name, role, allowed, services.clock.now().timestamp())
    change = action(services, who.operator.name, "operator.added")

    def add_and_log(connection: sa.Connection) -> None:
        access.add_operator(connection, row, hashed)
        change.log(connection, None, row.id, {"name": name, "role": role, "tenants": list(allowed or ()) or None})

    try:
        await services.store.tx(add_and_log)
    except ConfigError as problem:
        raise HttpProblem(422, "invalid", problem.problem, fix=problem.fix) from None
    return await _render(request, who, made={"name": name, "password": password})


@router.post("/colleagues/{operator}/role")
async def change_role(
    request: Request,
    who: AdminVisitor,
    operator: OperatorPath,
    role: RoleForm,
    tenants: GivenTenants = [],  # noqa: B006
    typed: TypedForm = "",
) -> Response:
    """Ends their sign-ins: what is open was opened with what they had."""
    require_fresh(request, who.principal)
    services = services_of(request)
    allowed = require_own_tenants(who.operator, _as_ids(tenants))
    before = await services.store.tx(require_manageable, who.operator, operator)
    becomes = is_owner(role, allowed) and not is_owner(before.role, before.tenants)
    if becomes and (unsure := await _ask_about_owner(request, who, before.name, typed)):
        return unsure

    def set_role(connection: sa.Connection, row: OperatorRow) -> None:
        access.set_role(connection, row.id, role, allowed)

    await _change(request, who, operator, "operator.changed", set_role, {"role": role})
    # Who was an owner was trusted by one: the way back does not ask for the name again.
    back = [("role", before.role), ("typed", before.name), *(("tenants", one) for one in before.tenants or ())]
    undo = offer_undo(request, who.operator, f"/colleagues/{operator}/role", back) if before.role != "none" else ""
    return page_routes.redirect_to(link("/colleagues", done="role", undo=undo))


@router.post("/colleagues/{operator}/disable")
async def disable(request: Request, who: AdminVisitor, operator: OperatorPath, typed: TypedForm = "") -> Response:
    """Signs them out everywhere. Undone by letting them in again."""
    require_fresh(request, who.principal)
    services, now = services_of(request), services_of(request).clock.now().timestamp()
    known = await services.store.tx(require_manageable, who.operator, operator)
    if unsure := await ask_for_name(request, who, known.name, typed, effects=[who.words.t("colleague-disable-means")]):
        return unsure
    await _change(
        request,
        who,
        operator,
        "operator.disabled",
        lambda connection, row: access.set_disabled(connection, row.id, now),
    )
    undo = offer_undo(request, who.operator, f"/colleagues/{operator}/enable")
    return page_routes.redirect_to(link("/colleagues", done="disabled", undo=undo))


@router.post("/colleagues/{operator}/enable")
async def enable(request: Request, who: AdminVisitor, operator: OperatorPath) -> Response:
    require_fresh(request, who.principal)
    await _change(
        request,
        who,
        operator,
        "operator.enabled",
        lambda connection, row: access.set_disabled(connection, row.id, None),
    )
    return page_routes.redirect_to("/colleagues?done=enabled")


async def _change(
    request: Request,
    who: Visitor,
    operator: str,
    name: str,
    change: Callable[[sa.Connection, OperatorRow], None],
    detail: dict[str, Any] | None = None,
) -> None:
    services = services_of(request)
    logged = action(services, who.operator.name, name)

    def change_and_log(connection: sa.Connection) -> None:
        row = require_manageable(connection, who.operator, operator)
        change(connection, row)
        logged.log(connection, None, row.id, {"name": row.name, **(detail or {})})

    await services.store.tx(change_and_log)


async def _ask_about_owner(request: Request, who: Visitor, name: str, typed: str) -> Response | None:
    known = await tenants_of(request, who)
    t = who.words.t
    said = [t("owner-means"), t("affects-tenants", count=len(known), names=", ".join(sorted(known)[:10]))]
    return await ask_for_name(request, who, name, typed, effects=said)


def _as_ids(tenants: Sequence[str]) -> tuple[TenantId, ...]:
    return tuple(TenantId(one) for one in dict.fromkeys(tenants))


async def _render(request: Request, who: Visitor, **values: Any) -> Response:
    services = services_of(request)
    rows = [row for row in await services.store.tx(access.list_operators) if manages(who.operator, row)]
    given: dict[str, Any] = {
        "rows": rows,
        "roles": ROLES,
        "known": await tenants_of(request, who),
        "passwords": takes_passwords(services.settings),
        "may_all": who.operator.tenants is None,
        "made": None,
        "done": "",
        "undo": None,
        "command": "circumspect operators add dana --role operator --tenant shop",
    }
    return page(request, who, "colleagues/page.html", **{**given, **values})
