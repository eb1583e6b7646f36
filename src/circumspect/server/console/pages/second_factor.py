"""One's own second factor: an app that shows codes, passkeys, recovery codes. An administrator can take away somebody
else's, for who lost them."""

from __future__ import annotations

from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Form, Request
from starlette.responses import Response

from circumspect.server import second_factors, totp
from circumspect.server.access import NotPermitted, Operator, require_fresh, require_sign_in, services_of
from circumspect.server.console import page_routes
from circumspect.server.console.rendering import page
from circumspect.server.console.visitors import AccountVisitor, AdminVisitor, Visitor
from circumspect.server.passkeys import (
    LONGEST_ANSWER,
    PasskeyRefused,
    ask_to_register,
    find_party,
    read_registration,
    require_party,
)
from circumspect.server.problems import require_found
from circumspect.server.second_factors import CodeRefused
from circumspect.server.stores import access, sessions
from circumspect.server.stores import second_factors as rows
from circumspect.server.stores.access import OperatorRow
from circumspect.server.stores.sessions import SignInMethod
from circumspect.stores.codec import moment

router = page_routes.router()
HERE = "/account/second-factor"
NameForm = Annotated[str, Form(max_length=60)]


@router.get(HERE)
async def show(request: Request, who: AccountVisitor) -> Response:
    return await _render(request, who)


@router.get(f"{HERE}/app")
async def begin_app(request: Request, who: AccountVisitor) -> Response:
    services = services_of(request)
    begun = second_factors.begin_enrolment(services.vault, await _row(request, who), services.clock.now())
    return _render_app(request, who, begun)


@router.post(f"{HERE}/app")
async def add_app(
    request: Request,
    who: AccountVisitor,
    enrolment: Annotated[str, Form(max_length=2000)],
    word: Annotated[str, Form(max_length=100)] = "",
) -> Response:
    require_fresh(request, who.operator)
    services, operator, now = services_of(request), await _row(request, who), services_of(request).clock.now()
    begun = second_factors.resume_enrolment(services.vault, operator, enrolment, now)
    if begun is None:
        return page_routes.redirect_to(f"{HERE}/app")
    try:
        codes = await second_factors.add_code_app(
            services.store, services.ids, services.vault, operator, begun, word, now
        )
    except CodeRefused:
        return _render_app(request, who, begun, who.words.t("second-factor-wrong-code"))
    await _strengthen(request, "totp")
    return await _render(request, who, codes=codes, done="app")


@router.post(f"{HERE}/app/remove")
async def remove_app(request: Request, who: AccountVisitor) -> Response:
    require_fresh(request, who.operator)
    services = services_of(request)
    await second_factors.remove_code_app(services.store, services.ids, await _row(request, who), services.clock.now())
    return page_routes.redirect_to(HERE)


@router.post(f"{HERE}/passkeys/ask")
async def ask_for_passkey(request: Request, who: AccountVisitor) -> Response:
    services = services_of(request)
    party = require_party(request, services.settings.public_url)
    asked = await ask_to_register(services.store, party, await _row(request, who), services.clock.now().timestamp())
    return Response(asked, media_type="application/json")


@router.post(f"{HERE}/passkeys")
async def add_passkey(
    request: Request,
    who: AccountVisitor,
    passkey: Annotated[str, Form(max_length=LONGEST_ANSWER)],
    name: NameForm = "",
) -> Response:
    require_fresh(request, who.operator)
    services, operator, now = services_of(request), await _row(request, who), services_of(request).clock.now()
    party = require_party(request, services.settings.public_url)
    named = name.strip() or who.words.t("second-factor-passkey")
    try:
        made = await read_registration(services.store, party, operator, named, passkey, now.timestamp())
        codes = await second_factors.add_passkey(services.store, services.ids, operator, made, now)
    except (PasskeyRefused, CodeRefused):
        return await _render(request, who, problem=who.words.t("second-factor-passkey-refused"))
    await _strengthen(request, "passkey")
    return await _render(request, who, codes=codes, done="passkey")


@router.post(f"{HERE}/passkeys/remove")
async def remove_passkey(
    request: Request, who: AccountVisitor, passkey: Annotated[str, Form(max_length=2000)]
) -> Response:
    require_fresh(request, who.operator)
    services = services_of(request)
    await second_factors.remove_passkey(
        services.store, services.ids, await _row(request, who), passkey, services.clock.now()
    )
    return page_routes.redirect_to(HERE)


@router.post(f"{HERE}/codes")
async def renew_codes(request: Request, who: AccountVisitor) -> Response:
    require_fresh(request, who.operator)
    services = services_of(request)
    codes = await second_factors.renew_recovery_codes(
        services.store, services.ids, await _row(request, who), services.clock.now()
    )
    return await _render(request, who, codes=codes)


@router.post(f"{HERE}/reset")
async def reset(request: Request, who: AdminVisitor, operator: Annotated[str, Form(max_length=200)]) -> Response:
    require_fresh(request, who.operator)
    services = services_of(request)
    row = require_found(await services.store.tx(access.operator_named, operator), "operator")
    if not _may_reset(who.operator, row):
        raise NotPermitted("This operator sees more than you do.", fix="Ask an administrator of every tenant.")
    await second_factors.reset_second_factors(
        services.store, services.ids, who.operator.name, row, services.clock.now()
    )
    return page_routes.redirect_to(HERE)


def _may_reset(who: Operator, row: OperatorRow) -> bool:
    """Nobody takes the second factor of somebody who may see more: with their password it would be a way up."""
    return who.tenants is None or (row.tenants is not None and who.tenants >= set(row.tenants))


async def _row(request: Request, who: Visitor) -> OperatorRow:
    return require_found(await services_of(request).store.tx(access.get_operator, who.operator.id), "operator")


async def _strengthen(request: Request, method: SignInMethod) -> None:
    """This sign-in has shown more than a password now; every other one has not, and ends."""
    services, (person, session) = services_of(request), await require_sign_in(request)
    now = services.clock.now().timestamp()

    def strengthen(connection: sa.Connection) -> None:
        sessions.mark_authenticated(connection, session.id, now, method)
        sessions.end_sessions(connection, person.id, but=session.id)

    await services.store.tx(strengthen)


def _render_app(request: Request, who: Visitor, begun: second_factors.Enrolment, problem: str = "") -> Response:
    values = {"secret": begun.secret, "enrolment": begun.sealed, "problem": problem}
    picture = totp.draw_picture(begun.address)
    status = 422 if problem else 200
    return page(request, who, "second_factor/app.html", status=status, picture=picture, **values)


async def _render(
    request: Request, who: Visitor, codes: tuple[str, ...] = (), done: str = "", problem: str = ""
) -> Response:
    services, person = services_of(request), who.operator
    has = await services.store.tx(rows.find_second_factors, person.id)
    others: list[OperatorRow] = []
    if who.has("admin"):
        enrolled = await services.store.tx(rows.list_enrolled)
        everybody = await services.store.tx(access.list_operators)
        others = [row for row in everybody if row.id in enrolled and row.id != person.id and _may_reset(person, row)]
    values: dict[str, Any] = {
        "factors": has,
        "codes": codes,
        "done": done,
        "problem": problem,
        "others": others,
        "required": person.role in services.settings.second_factor_roles,
        "named": find_party(request, services.settings.public_url) is not None,
        "at": moment,
    }
    return page(request, who, "second_factor/page.html", status=422 if problem else 200, **values)
