"""`circumspect tenants`: who is served, and with what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from circumspect.cli.store_options import StoreTarget, add_store_options, need_packages, table, unknown_tenant

if TYPE_CHECKING:
    import sqlalchemy as sa


@click.group()
def tenants() -> None:
    """List and show tenants. `circumspect apply` makes and changes them."""
    need_packages()


@tenants.command("list")
@add_store_options
def list_(target: StoreTarget) -> None:
    """All tenants. Those without a configuration were made by a program that brings its own tools."""
    from circumspect.server.schemas.admin import TenantListed
    from circumspect.server.stores import tenants as rows

    found = [TenantListed.of(row, served=row.settings is not None) for row in target.tx(rows.get_all)]
    cells = [(one.id, one.business.name, one.language, one.plan, "yes" if one.served else "no") for one in found]
    shown = table(cells, ("id", "name", "language", "plan", "served"))
    target.say(found, shown if found else "There are no tenants yet: circumspect apply tenant.yaml")


@tenants.command()
@click.argument("tenant")
@add_store_options
def show(tenant: str, target: StoreTarget) -> None:
    """A tenant as a file that could be applied. Secrets are not in it, only their names."""
    text = target.tx(_render_file, tenant)
    target.say({"tenant": tenant, "yaml": text}, text.rstrip())


def _render_file(connection: sa.Connection, tenant: str) -> str:
    from circumspect.server.stores import access, policies
    from circumspect.server.stores import tenants as rows
    from circumspect.server.tenants.write_tenant_file import as_file
    from circumspect.values import TenantId

    id_ = TenantId(tenant)
    row = rows.get(connection, id_)
    if row is None:
        raise unknown_tenant(tenant)
    return as_file(row, policies.current(connection, id_), access.get_sealed_secrets(connection, id_))
