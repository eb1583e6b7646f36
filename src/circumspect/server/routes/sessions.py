"""`/v1/sessions`: where an operator is signed in, and ending it. Everybody has their own; an admin also those of others
whose tenants they have themselves."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import sqlalchemy as sa
from fastapi import Depends, Query, Request

from circumspect.ports import Ids
from circumspect.server.access import NotPermitted, Operator, operator, require_sign_in, services_of
from circumspect.server.problems import not_found, require_found
from circumspect.server.responses import OPERATOR, IdPath, describe_route, resource
from circumspect.server.schemas.sessions import EndedShown, SessionShown, SessionsShown
from circumspect.server.services import Services
from circumspect.server.stores import access, sessions
from circumspect.server.stores.access import OperatorRow
from circumspect.stores import action_log

router = resource("session")
SignedIn = Annotated[Operator, Depends(operator())]
WhoseQuery = Annotated[str | None, Query(max_length=200, description="The operator's name; without it, your own.")]


@router.get("/v1/sessions", **describe_route(SessionsShown, 404, security=OPERATOR))
async def list_sessions(request: Request, who: SignedIn, operator: WhoseQuery = None) -> SessionsShown:
    """Where an operator is signed in."""
    services, (_, current) = services_of(request), await require_sign_in(request)
    whose = await find_whose(services, who, operator)
    now, idle = services.clock.now().timestamp(), services.settings.session_idle_minutes * 60
    rows = await services.store.tx(sessions.list_sessions, whose.id, now, idle)
    return SessionsShown(items=[SessionShown.of_row(row, current=row.id == current.id) for row in rows])


@router.delete("/v1/sessions", **describe_route(EndedShown, 404, security=OPERATOR))
async def end_sessions(request: Request, who: SignedIn, operator: WhoseQuery = None) -> EndedShown:
    """Sign an operator out everywhere; yourself everywhere but here."""
    services, (_, current) = services_of(request), await require_sign_in(request)
    whose = await find_whose(services, who, operator)
    ended = await services.store.tx(_end_all, services.ids, who, whose, current.id, services.clock.now())
    return EndedShown(ended=ended)


@router.delete("/v1/sessions/{session_id}", **describe_route(None, 404, status=204, security=OPERATOR))
async def end_session(request: Request, who: SignedIn, session_id: IdPath, operator: WhoseQuery = None) -> None:
    """End one sign-in."""
    services = services_of(request)
    whose = await find_whose(services, who, operator)
    ended = await services.store.tx(_end_one, services.ids, who, whose, session_id, services.clock.now())
    require_found(ended, "session")


async def find_whose(services: Services, who: Operator, name: str | None) -> OperatorRow:
    """The operator of that name, whom an admin may sign out; without a name, who asks."""
    if name is None or name == who.name:
        return require_found(await services.store.tx(access.get_operator, who.id), "operator")
    if who.role != "admin":
        raise NotPermitted(f"The role '{who.role}' may not do this.", fix="Ask an operator with the role admin.")
    found = await services.store.tx(access.operator_named, name)
    if found is None or not manages(who, found):
        raise not_found("operator")
    return found


def manages(who: Operator, other: OperatorRow) -> bool:
    """An admin of some tenants has those who see nothing beyond them."""
    if who.role != "admin":
        return False
    return who.tenants is None or (other.tenants is not None and set(other.tenants) <= who.tenants)


def _end_all(
    connection: sa.Connection, ids: Ids, who: Operator, whose: OperatorRow, current: str, now: datetime
) -> int:
    ended = sessions.end_sessions(connection, whose.id, but=current)
    if ended:
        _log(connection, ids, who, whose, {"sessions": ended}, now)
    return ended


def _end_one(
    connection: sa.Connection, ids: Ids, who: Operator, whose: OperatorRow, session: str, now: datetime
) -> bool | None:
    if sessions.end_session_by_id(connection, session, whose.id) is None:
        return None
    _log(connection, ids, who, whose, {"session": session}, now)
    return True


def _log(
    connection: sa.Connection,
    ids: Ids,
    who: Operator,
    whose: OperatorRow,
    detail: dict[str, str | int],
    now: datetime,
) -> None:
    action_log.log_action(
        connection,
        id=ids.new("log"),
        at=now,
        operator=who.name,
        action="session.ended",
        subject=whose.id,
        detail={**detail},
    )
