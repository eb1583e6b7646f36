"""One's own account: where one is signed in, ending that, and another password. An admin sees where others are signed
in."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Form, Query, Request
from starlette.responses import Response

from circumspect.errors import ConfigError
from circumspect.server import credentials
from circumspect.server.access import require_sign_in, services_of
from circumspect.server.console import page_routes
from circumspect.server.console.browser_names import name_browser
from circumspect.server.console.rendering import link, page
from circumspect.server.console.visitors import AnyVisitor, Visitor
from circumspect.server.routes import sessions as api
from circumspect.server.routes.session import takes_passwords
from circumspect.server.schemas.bodies import ID
from circumspect.server.signin import check_password, read_origin
from circumspect.server.stores import access
from circumspect.stores import action_log

router = page_routes.router()
WhoseName = Annotated[str, Query(max_length=200)]
WhoseForm = Annotated[str, Form(max_length=200)]
PasswordForm = Annotated[str, Form(max_length=credentials.LONGEST_PASSWORD)]


@router.get("/account")
async def show(request: Request, who: AnyVisitor, operator: WhoseName = "", done: str = "") -> Response:
    return await _render(request, who, operator, done=done if done in ("ended", "password") else "")


@router.post("/account/sessions/end")
async def end(
    request: Request,
    who: AnyVisitor,
    session: Annotated[str, Form(max_length=128, pattern=f"^$|{ID}")] = "",
    operator: WhoseForm = "",
) -> Response:
    """One, or without a name of it all but the one that this came with."""
    if session:
        await api.end_session(request, who.operator, session, operator or None)
    else:
        await api.end_sessions(request, who.operator, operator or None)
    return page_routes.redirect_to(link("/account", operator=operator, done="ended"))


@router.post("/account/password")
async def change_password(
    request: Request, who: AnyVisitor, current: PasswordForm = "", new: PasswordForm = ""
) -> Response:
    """Ends every other sign-in. It is no newer proof of who is there: a password may be less than they gave before."""
    services, now, t = services_of(request), services_of(request).clock.now(), who.words.t
    if not takes_passwords(services.settings):
        return page_routes.redirect_to("/account")
    known = await check_password(services.store, services.ids, who.operator.name, current, read_origin(request), now)
    if known is None:
        return await _render(request, who, problem=t("signing-refused"), status=422)
    try:
        credentials.validate_password(new)
    except ConfigError:
        said = t("account-password-rule", shortest=credentials.SHORTEST_PASSWORD)
        return await _render(request, who, problem=said, status=422)
    hashed = await asyncio.to_thread(credentials.hash_password, new)

    _, session = await require_sign_in(request)

    def set_and_log(connection: sa.Connection) -> None:
        access.set_password(connection, known.id, hashed, but=session.id)
        action_log.log_action(
            connection,
            id=services.ids.new("log"),
            at=now,
            operator=known.name,
            action="operator.password",
            subject=known.id,
        )

    await services.store.tx(set_and_log)
    return page_routes.redirect_to("/account?done=password")


async def _render(
    request: Request, who: Visitor, operator: str = "", *, problem: str = "", done: str = "", status: int = 200
) -> Response:
    services = services_of(request)
    others = await services.store.tx(access.list_operators) if who.has("admin") else ()
    values: dict[str, Any] = {
        "sessions": (await api.list_sessions(request, who.operator, operator or None)).items,
        "operator": operator if operator != who.operator.name else "",
        "others": [one.name for one in others if one.id != who.operator.id and api.manages(who.operator, one)],
        "passwords": takes_passwords(services.settings),
        "name_browser": name_browser,
        "problem": problem,
        "done": done,
        "shortest": credentials.SHORTEST_PASSWORD,
    }
    return page(request, who, "account/page.html", status=status, **values)
