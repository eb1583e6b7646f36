"""The page behind the link that a server without people prints: it makes the first administrator and signs them in."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import Form, Query, Request
from starlette.responses import Response

from circumspect.errors import ConfigError
from circumspect.server import credentials
from circumspect.server.access import NotPermitted, address_of, from_here, services_of
from circumspect.server.console import page_routes
from circumspect.server.console.rendering import page
from circumspect.server.console.visitors import words_of
from circumspect.server.first_owner import SomebodyIsThere, add_first_owner, is_first_code, is_nobody_there
from circumspect.server.operator_accounts import check_operator_name
from circumspect.server.responses import action
from circumspect.server.routes.session import takes_passwords
from circumspect.server.signin import let_browser_in
from circumspect.server.stores.access import OperatorRow

router = page_routes.router()
LONGEST_CODE = 1_000
TRIES_PER_MINUTE = 20


@router.get("/begin")
async def show(request: Request, code: Annotated[str, Query(max_length=LONGEST_CODE)] = "") -> Response:
    if not await _is_open(request, code):
        return page_routes.redirect_to("/login")
    return _render(request, code)


@router.post("/begin")
async def make(
    request: Request,
    code: Annotated[str, Form(max_length=LONGEST_CODE)] = "",
    name: Annotated[str, Form(max_length=300)] = "",
    password: Annotated[str, Form(max_length=credentials.LONGEST_PASSWORD)] = "",
) -> Response:
    if not from_here(request):
        raise NotPermitted("This has to come from a page of this server.", fix="Open the link once more.")
    services, t = services_of(request), words_of(request).t
    await services.limiter.check(f"begin:{address_of(request)}", TRIES_PER_MINUTE)
    if not await _is_open(request, code):
        return page_routes.redirect_to("/login")
    try:
        name = check_operator_name(name)
    except ConfigError:
        return _render(request, code, problem=t("begin-name-rule"), status=422)
    try:
        credentials.validate_password(password)
    except ConfigError:
        said = t("account-password-rule", shortest=credentials.SHORTEST_PASSWORD)
        return _render(request, code, name=name, problem=said, status=422)
    hashed = await asyncio.to_thread(credentials.hash_password, password)
    row = OperatorRow(services.ids.new("opr"), name, "admin", None, services.clock.now().timestamp())
    try:
        await services.store.tx(add_first_owner, row, hashed, action(services, name, "operator.added"))
    except SomebodyIsThere:
        return page_routes.redirect_to("/login")
    to = page_routes.redirect_to("/")
    await let_browser_in(request, to, row, "password")
    return to


async def _is_open(request: Request, code: str) -> bool:
    """A server that takes no passwords has its people from elsewhere."""
    services = services_of(request)
    if not takes_passwords(services.settings) or not is_first_code(services.vault, code, services.clock.now()):
        return False
    return await services.store.tx(is_nobody_there)


def _render(request: Request, code: str, *, name: str = "", problem: str = "", status: int = 200) -> Response:
    values: dict[str, Any] = {"code": code, "name": name, "problem": problem}
    values["shortest"] = credentials.SHORTEST_PASSWORD
    return page(request, None, "signing/begin.html", status=status, **values)
