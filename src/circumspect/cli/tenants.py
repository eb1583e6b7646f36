"""`circumspect tenants`: who is served, and with what."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from circumspect.cli.store_options import add_store_options, need_packages, say, table, with_store
from circumspect.errors import UnknownTenant

if TYPE_CHECKING:
    from collections.abc import Sequence

    import sqlalchemy as sa

    from circumspect.server.stores.tenants import TenantRow
    from circumspect.stores import SqlStore


@click.group()
def tenants() -> None:
    """List and show tenants. `circumspect apply` makes and changes them."""
    need_packages()


@tenants.command("list")
@add_store_options
def list_(database: str | None, config: Path | None, as_json: bool) -> None:
    """All tenants. Those without a configuration were made by a program that brings its own tools."""
    from circumspect.server.schemas.admin import TenantListed
    from circumspect.server.stores import tenants as rows

    async def body(store: SqlStore) -> Sequence[TenantRow]:
        return await store.tx(rows.get_all)

    found = [TenantListed.of(row, served=row.settings is not None) for row in with_store(body, database, config)]
    cells = [(one.id, one.business.name, one.language, one.plan, "yes" if one.served else "no") for one in found]
    shown = table(cells, ("id", "name", "language", "plan", "served"))
    say(as_json, found, shown if found else "There are no tenants yet: circumspect apply tenant.yaml")


@tenants.command()
@click.argument("tenant")
@add_store_options
def show(tenant: str, database: str | None, config: Path | None, as_json: bool) -> None:
    """A tenant as a file that could be applied. Secrets are not in it, only their names."""

    async def body(store: SqlStore) -> str:
        return await store.tx(_render_file, tenant)

    text = with_store(body, database, config)
    value: Any = {"tenant": tenant, "yaml": text} if as_json else None
    say(as_json, value, text.rstrip())


def _render_file(connection: sa.Connection, tenant: str) -> str:
    from circumspect.server.stores import access, policies
    from circumspect.server.stores import tenants as rows
    from circumspect.server.tenants.write_tenant_file import as_file
    from circumspect.values import TenantId

    id_ = TenantId(tenant)
    row = rows.get(connection, id_)
    if row is None:
        raise UnknownTenant(f"There is no tenant '{tenant}'.", fix="`circumspect tenants list` shows who is there.")
    return as_file(row, policies.current(connection, id_), access.get_sealed_secrets(connection, id_))
