"""Who looks at a page: the session cookie in, a `Visitor` out, or the way to the sign-in page.

    Looking = Annotated[Visitor, Depends(visitor("operator", "reviewer"))]

    @router.get("/escalations")
    async def inbox(request: Request, who: Looking) -> Response: ...

Sign-in, roles and the protection of changes against other sites are the server's own (`server.access`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from circumspect.server.access import Operator, Principal, account_owner, find_sign_in, operator, services_of
from circumspect.server.console.i18n import COOKIE, Translator, pick_language
from circumspect.server.console.read_pool import read
from circumspect.server.stores import tenants
from circumspect.server.stores.access import OperatorRole
from circumspect.server.stores.sessions import SessionRow
from circumspect.values import TenantId


@dataclass(frozen=True, slots=True)
class Visitor:
    operator: Operator
    words: Translator

    @property
    def principal(self) -> Principal:
        """As the routes of the API know them."""
        return Principal(self.operator.name, self.operator.tenants, operator=self.operator)

    def has(self, *roles: OperatorRole) -> bool:
        return not roles or self.operator.role == "admin" or self.operator.role in roles


VisitorOf = Callable[[Request], Awaitable[Visitor]]


def visitor(*roles: OperatorRole) -> VisitorOf:
    """A signed-in operator with one of these roles, or an admin; any operator, when none is named."""
    signed_in = operator(*roles)

    async def dependency(request: Request) -> Visitor:
        return Visitor(await signed_in(request), words_of(request))

    dependency.roles = roles  # type: ignore[attr-defined]
    return dependency


def account_visitor() -> VisitorOf:
    """Anybody who signed in, also who still lacks the second factor that their role needs."""
    owner = account_owner()

    async def dependency(request: Request) -> Visitor:
        return Visitor(await owner(request), words_of(request))

    dependency.roles = ()  # type: ignore[attr-defined]
    return dependency


async def leaving(request: Request) -> SessionRow:
    """The sign-in of whoever wants to end it: also of a person without a role."""
    return (await find_sign_in(request))[1]


leaving.roles = ()  # type: ignore[attr-defined]


def words_of(request: Request) -> Translator:
    return Translator(pick_language(request.cookies.get(COOKIE), request.headers.get("accept-language", "")))


async def tenants_of(request: Request, who: Visitor) -> dict[TenantId, str]:
    """The tenants that this visitor may see, with their names."""
    rows = await read(services_of(request), tenants.get_all)
    return {row.tenant.id: row.tenant.business.name for row in rows if who.principal.may_see(row.tenant.id)}


ReviewerVisitor = Annotated[Visitor, Depends(visitor("operator", "reviewer"))]
OperatorVisitor = Annotated[Visitor, Depends(visitor("operator"))]
AdminVisitor = Annotated[Visitor, Depends(visitor("admin"))]
AccountVisitor = Annotated[Visitor, Depends(account_visitor())]
LeavingSession = Annotated[SessionRow, Depends(leaving)]
AnyVisitor = Annotated[Visitor, Depends(visitor())]
