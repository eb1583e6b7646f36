"""Operators as an identity provider sees them: those of one tenant, and of no other.

Plain functions on a connection. The one choice that may surprise: nobody is deleted. What a person approved is looked
at again when it runs, and an operator who was disabled approves nothing; one who is gone could not be told from one who
never was. Who is deleted is disabled, hidden from the provider, and let in again when they are created again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from circumspect.server.stores import access
from circumspect.server.stores.access import HeldRole, OperatorRow
from circumspect.stores.tables import operators
from circumspect.values import Json, TenantId

_GONE = "deleted"


@dataclass(frozen=True, slots=True)
class ProvisionedOperator:
    id: str
    name: str
    role: HeldRole
    created_at: float
    active: bool
    profile: Mapping[str, Json]
    """What the provider said of them, as it said it."""


def list_provisioned(connection: sa.Connection, tenant: TenantId) -> Sequence[ProvisionedOperator]:
    """The operators who may see this tenant and nothing else, by name."""
    return [_read(row) for row in connection.execute(sa.select(operators).order_by(operators.c.name))
            if _is_own(row, tenant)]  # fmt: skip


def find_provisioned(connection: sa.Connection, tenant: TenantId, id_: str) -> ProvisionedOperator | None:
    row: Any = connection.execute(sa.select(operators).where(operators.c.id == id_).with_for_update()).one_or_none()
    return None if row is None or not _is_own(row, tenant) else _read(row)


def add_provisioned(
    connection: sa.Connection, tenant: TenantId, operator: ProvisionedOperator
) -> ProvisionedOperator | None:
    """None when the name is taken. One who was deleted comes back under the id that they had."""
    row: Any = connection.execute(sa.select(operators).where(operators.c.name == operator.name)).one_or_none()
    if row is not None:
        if row.tenants != [tenant] or not (row.profile or {}).get(_GONE):
            return None
        return change_provisioned(connection, row.id, operator, operator.created_at)
    made = OperatorRow(operator.id, operator.name, operator.role, (tenant,), operator.created_at)
    access.add_operator(connection, made, "")
    return change_provisioned(connection, operator.id, operator, operator.created_at)


def change_provisioned(
    connection: sa.Connection, id_: str, to: ProvisionedOperator, now: float
) -> ProvisionedOperator | None:
    """As they are now; None when another has the name. Whoever is not active is signed out everywhere."""
    taken = sa.select(operators.c.id).where(operators.c.name == to.name, operators.c.id != id_)
    if connection.execute(taken).first() is not None:
        return None
    before: Any = connection.execute(sa.select(operators).where(operators.c.id == id_)).one()
    told = dict(to.profile) or None
    changed = sa.update(operators).where(operators.c.id == id_).values(name=to.name, role=to.role, profile=told)
    connection.execute(changed)
    if to.active != (before.disabled_at is None) or before.role != to.role:
        access.set_disabled(connection, id_, None if to.active else before.disabled_at or now)
    return _read(connection.execute(sa.select(operators).where(operators.c.id == id_)).one())


def delete_provisioned(connection: sa.Connection, id_: str, now: float) -> None:
    connection.execute(sa.update(operators).where(operators.c.id == id_).values(profile={_GONE: True}))
    access.set_disabled(connection, id_, now)


def _is_own(row: Any, tenant: TenantId) -> bool:
    return row.tenants == [tenant] and not (row.profile or {}).get(_GONE)


def _read(row: Any) -> ProvisionedOperator:
    profile = row.profile or {}
    return ProvisionedOperator(row.id, row.name, row.role, row.created_at, row.disabled_at is None, profile)
