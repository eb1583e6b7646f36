"""Tools that clients bring along in their requests, kept for somebody to review: the most recent of each tenant.

Plain functions on a connection. A client chooses the names and the schemas, so how many there are and how large they
are is bounded here, and what is kept decides nothing by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from circumspect.stores import codec
from circumspect.stores.codec import check_identifiers, dumps, epoch, moment
from circumspect.stores.statements import SqlValues, run, sql
from circumspect.stores.tables import seen_tools
from circumspect.values import TenantId, ToolSpec

MOST = 200
"""Of one tenant."""
LARGEST = 32_000
"""A definition that is longer is not kept."""
LONGEST_NAME = 128

_PUT = sql("""
    INSERT INTO seen_tools (tenant, name, version, spec, seen_at) VALUES (:tenant, :name, :version, :spec, :seen_at)
    ON CONFLICT (tenant, name) DO UPDATE SET
        version = excluded.version, spec = excluded.spec, seen_at = excluded.seen_at
""")


@dataclass(frozen=True, slots=True)
class SeenTool:
    spec: ToolSpec
    seen_at: datetime


def put_seen_tools(connection: sa.Connection, tenant: TenantId, specs: Mapping[str, ToolSpec], at: datetime) -> None:
    """As they came last. Beyond `MOST`, those that were seen longest ago go."""
    check_identifiers(tenant)
    for name, spec in specs.items():
        document = dumps(codec.spec_document(spec))
        if len(document) <= LARGEST and len(name) <= LONGEST_NAME and name.isprintable():
            values: SqlValues = {
                "tenant": tenant,
                "name": name,
                "version": spec.version,
                "spec": document,
                "seen_at": epoch(at),
            }
            run(connection, _PUT, values)
    ours = seen_tools.c.tenant == tenant
    newest = sa.select(seen_tools.c.name).where(ours).order_by(seen_tools.c.seen_at.desc(), seen_tools.c.name)
    names = connection.execute(newest.offset(MOST)).scalars().all()
    if names:
        connection.execute(sa.delete(seen_tools).where(ours, seen_tools.c.name.in_(names)))


def list_seen_tools(connection: sa.Connection, tenant: TenantId) -> Sequence[SeenTool]:
    """By name."""
    query = sa.select(seen_tools).where(seen_tools.c.tenant == tenant).order_by(seen_tools.c.name)
    return [SeenTool(codec.spec(row.spec), moment(row.seen_at)) for row in connection.execute(query)]


def find_seen_tool(connection: sa.Connection, tenant: TenantId, name: str) -> ToolSpec | None:
    query = sa.select(seen_tools.c.spec).where(seen_tools.c.tenant == tenant, seen_tools.c.name == name)
    document = connection.execute(query).scalar()
    return None if document is None else codec.spec(document)


def remove_seen_tools(connection: sa.Connection, tenant: TenantId, names: Collection[str]) -> None:
    connection.execute(sa.delete(seen_tools).where(seen_tools.c.tenant == tenant, seen_tools.c.name.in_(names)))
