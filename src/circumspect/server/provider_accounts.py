"""Whom a provider vouches for in, an operator out, or nobody: what the settings say about people who sign in elsewhere.

A person is known by issuer and subject, which never change. Who comes for the first time is matched by name with an
operator who is here already and belongs to nobody at the provider yet, or added, if the settings say so. Where groups
give roles they do so at every sign-in: who has lost the group is not let in, and a role that has changed ends what the
person had open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

import sqlalchemy as sa

from circumspect.errors import ConfigError
from circumspect.ports import Ids
from circumspect.server.access import NotPermitted
from circumspect.server.config import Settings
from circumspect.server.stores import access, sessions
from circumspect.server.stores.access import OperatorRole, OperatorRow
from circumspect.stores import action_log
from circumspect.stores.codec import check_identifiers, clean
from circumspect.values import JsonObject, TenantId

LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class GrantedRole:
    role: OperatorRole
    tenants: tuple[TenantId, ...] | None


def admit_person(
    connection: sa.Connection, ids: Ids, settings: Settings, claims: Mapping[str, Any], now: datetime
) -> OperatorRow:
    """Raises `NotPermitted` for who may not come in."""
    granted = find_role(settings, claims)
    if settings.oidc_roles and granted is None:
        raise _not_allowed("no group of yours has a role here")
    identity = f"{claims['iss']} {claims['sub']}"
    found = access.operator_by_identity(connection, identity)
    if found is None:
        found = _meet(connection, ids, settings, claims, identity, granted, now)
    if found.disabled_at is not None:
        raise _not_allowed("the account is disabled")
    if granted is not None and (granted.role, granted.tenants) != (found.role, found.tenants):
        access.set_role(connection, found.id, granted.role, granted.tenants)
        _log(connection, ids, now, found, "operator.role", {"role": granted.role})
        found = OperatorRow(found.id, found.name, granted.role, granted.tenants, found.created_at)
    return found


def sign_out_person(connection: sa.Connection, ids: Ids, issuer: str, sub: str, now: datetime) -> int:
    """Ends everything that somebody has open who left at the provider, however they came in. How many there were."""
    found = access.operator_by_identity(connection, f"{issuer} {sub}")
    if found is None:
        return 0
    ended = sessions.end_sessions(connection, found.id)
    if ended:
        _log(connection, ids, now, found, "session.ended", {"provider": True, "sessions": ended})
    return ended


def find_role(settings: Settings, claims: Mapping[str, Any]) -> GrantedRole | None:
    """Of the first line of `oidc_roles` whose group the person has."""
    said = claims.get(settings.oidc_groups_claim)
    groups = {said} if isinstance(said, str) else {one for one in said if isinstance(one, str)} if said else set()
    for line in settings.oidc_roles:
        group, _, granted = line.partition("=")
        if group.strip() in groups:
            role, _, tenants = granted.partition(":")
            allowed = tuple(TenantId(one.strip()) for one in tenants.split("+") if one.strip())
            return GrantedRole(cast("OperatorRole", role), allowed or None)
    return None


def _meet(
    connection: sa.Connection,
    ids: Ids,
    settings: Settings,
    claims: Mapping[str, Any],
    identity: str,
    granted: GrantedRole | None,
    now: datetime,
) -> OperatorRow:
    """Somebody who comes for the first time."""
    name = _read_name(settings, claims)
    known = access.operator_named(connection, name)
    if known is not None:
        if not access.link_identity(connection, known.id, identity):
            raise _not_allowed("that operator is somebody else at the provider")
        _log(connection, ids, now, known, "operator.linked", {"issuer": str(claims["iss"])})
        return known
    if settings.oidc_provision != "create" or granted is None:
        raise _not_allowed("there is no operator of this name")
    row = OperatorRow(ids.new("opr"), name, granted.role, granted.tenants, now.timestamp())
    try:
        access.add_operator(connection, row, "")
    except ConfigError as error:
        raise _not_allowed("the role that the group gives cannot be had here") from error
    access.link_identity(connection, row.id, identity)
    _log(connection, ids, now, row, "operator.added", {"name": name, "role": row.role, "issuer": str(claims["iss"])})
    return row


def _read_name(settings: Settings, claims: Mapping[str, Any]) -> str:
    claim = settings.oidc_name_claim
    name = claims.get(claim)
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise _not_allowed(f"the provider does not say who you are ({claim})")
    if claim == "email" and claims.get("email_verified") is not True:
        raise _not_allowed("the provider has not verified your e-mail address")
    if clean(name) != name:
        raise _not_allowed(f"the provider does not say who you are ({claim})")
    check_identifiers(name)
    return name.strip()


def _not_allowed(why: str) -> NotPermitted:
    return NotPermitted(f"You may not sign in here: {why}.", fix="Ask an administrator of this server.")


def _log(
    connection: sa.Connection, ids: Ids, now: datetime, operator: OperatorRow, action: str, detail: JsonObject
) -> None:
    action_log.log_action(
        connection,
        id=ids.new("log"),
        at=now,
        operator=operator.name,
        action=action,
        subject=operator.id,
        detail=detail,
    )
