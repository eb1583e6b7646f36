"""What a server does for each tenant: settings and their revision, beside the tenant itself.

Plain functions on a connection. `revision` grows with every change to anything that a tenant's setup is made of (the
tenant, its settings, its policy, its secrets), so a worker asks for one number to know whether what it has is current.
Settings are a JSON document here; `server.tenants` knows what is in it. A tenant without settings was made by a program
that brings its own tools: no server serves it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from circumspect.errors import UnknownTenant
from circumspect.stores import admin, codec
from circumspect.stores.tables import tenants
from circumspect.values import JsonObject, Plan, Tenant, TenantId


@dataclass(frozen=True, slots=True)
class TenantRow:
    tenant: Tenant
    settings: JsonObject | None
    revision: int


def get(connection: sa.Connection, tenant: TenantId, *, lock: bool = False) -> TenantRow | None:
    """With `lock`, nobody else changes it before this transaction ends."""
    query = admin.TENANTS.where(tenants.c.id == tenant)
    row = connection.execute(query.with_for_update(of=tenants) if lock else query).one_or_none()
    return None if row is None else _read(row)


def get_all(connection: sa.Connection) -> Sequence[TenantRow]:
    return [_read(row) for row in connection.execute(admin.TENANTS.order_by(tenants.c.id))]


def revision(connection: sa.Connection, tenant: TenantId) -> int | None:
    found = connection.execute(sa.select(tenants.c.revision).where(tenants.c.id == tenant)).scalar_one_or_none()
    return None if found is None else int(found)


def revisions(connection: sa.Connection) -> Mapping[TenantId, int]:
    """Of the tenants that a server serves."""
    served = sa.select(tenants.c.id, tenants.c.revision).where(tenants.c.settings.is_not(None))
    return {row.id: row.revision for row in connection.execute(served.order_by(tenants.c.id))}


def put(connection: sa.Connection, tenant: Tenant, settings: JsonObject) -> None:
    """The tenant and its settings as given. Its plan is referred to by name, and made if there is none."""
    admin.put_tenant(connection, tenant)
    connection.execute(sa.update(tenants).where(tenants.c.id == tenant.id).values(settings=settings))
    touch(connection, tenant.id)


def touch(connection: sa.Connection, tenant: TenantId) -> None:
    """Something that belongs to the tenant changed."""
    grown = sa.update(tenants).where(tenants.c.id == tenant).values(revision=tenants.c.revision + 1)
    if connection.execute(grown).rowcount == 0:
        raise UnknownTenant(f"There is no tenant '{tenant}'.", fix="Create it first: circumspect apply tenant.yaml.")


def put_plan(connection: sa.Connection, plan: Plan) -> None:
    """Changes the plan for every tenant that has it."""
    admin.put_plan(connection, plan)
    connection.execute(sa.update(tenants).where(tenants.c.plan == plan.name).values(revision=tenants.c.revision + 1))


def _read(row: Any) -> TenantRow:
    return TenantRow(codec.tenant(row), row.settings, row.revision)
