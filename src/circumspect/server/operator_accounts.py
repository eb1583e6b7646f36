"""Operators as the command line and the console make and change them: the same checks for both."""

from __future__ import annotations

import secrets

import sqlalchemy as sa

from circumspect.errors import ConfigError
from circumspect.server.access import NotPermitted, Operator
from circumspect.server.problems import not_found
from circumspect.server.routes.sessions import manages
from circumspect.server.stores import access
from circumspect.server.stores.access import OperatorRole, OperatorRow
from circumspect.values import TenantId

ROLES: tuple[OperatorRole, ...] = ("operator", "reviewer", "admin")


def check_operator_name(name: str) -> str:
    name = name.strip()
    if not name or len(name) > 200 or not name.isprintable():
        raise ConfigError("This is no name for an operator.", fix="Use up to 200 characters that can be printed.")
    return name


def make_first_password() -> str:
    """For somebody who changes it when they have signed in: long enough that nobody guesses it."""
    return secrets.token_urlsafe(15)


def is_owner(role: str, allowed: tuple[TenantId, ...] | None) -> bool:
    """Sees and changes everything, everybody else included."""
    return role == "admin" and allowed is None


def require_manageable(connection: sa.Connection, who: Operator, operator: str) -> OperatorRow:
    """The operator of that id, whom `who` may change: not themselves, so that the last owner stays."""
    found = access.get_operator(connection, operator)
    if found is None or not manages(who, found):
        raise not_found("operator")
    if found.id == who.id:
        raise NotPermitted("Nobody changes their own role.", fix="Ask another administrator.")
    # A sign-in that outlived the role it was made with changes nobody.
    own = access.get_operator(connection, who.id)
    if own is None or own.role != "admin" or own.disabled_at is not None:
        raise NotPermitted("You are no administrator any more.", fix="Ask another administrator.")
    return found


def require_own_tenants(who: Operator, wanted: tuple[TenantId, ...]) -> tuple[TenantId, ...] | None:
    """The tenants that `who` may give somebody: none named is all of them, and only who sees all gives all."""
    if who.tenants is None:
        return wanted or None
    if not wanted or not set(wanted) <= who.tenants:
        raise NotPermitted("Nobody gives more than they have.", fix="Choose among the tenants that you see.")
    return wanted
