"""`circumspect tools`: what a tenant's clients brought along, and declaring it."""

from __future__ import annotations

import click

from circumspect.cli.store_options import StoreTarget, add_store_options, need_packages, table, write_log


@click.group()
def tools() -> None:
    """Tools that clients bring along: see them, and declare those that were reviewed."""
    need_packages()


@tools.command()
@click.argument("tenant")
@add_store_options
def seen(tenant: str, target: StoreTarget) -> None:
    """What clients brought along and nobody has declared yet."""
    from circumspect.server.stores.seen_tools import list_seen_tools
    from circumspect.values import TenantId

    found = target.tx(list_seen_tools, TenantId(tenant))
    rows = [(one.spec.name, one.spec.signature, one.seen_at.isoformat(timespec="minutes")) for one in found]
    value = [
        {"name": one.spec.name, "description": one.spec.description, "parameters": one.spec.parameters,
         "seen_at": one.seen_at.isoformat()}
        for one in found
    ]  # fmt: skip
    shown = table(rows, ("name", "signature", "last seen")) if rows else "No client brought along any tool so far."
    target.say(value, shown)


@tools.command()
@click.argument("tenant")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@add_store_options
def adopt(tenant: str, names: tuple[str, ...], target: StoreTarget) -> None:
    """Declare tools as they were seen. Applying the tenant's file again takes out what it does not declare itself;
    `circumspect tenants show` prints a file that does."""
    import sqlalchemy as sa

    from circumspect.clock import SystemClock
    from circumspect.server.adopt_tools import adopt_tools
    from circumspect.values import TenantId

    at = SystemClock().now().timestamp()

    def body(connection: sa.Connection) -> None:
        adopt_tools(connection, TenantId(tenant), names)
        write_log(connection, "adopt_tools", at, subject=tenant, detail={"tools": list(names)}, tenant=tenant)

    target.tx(body)
    target.say({"tenant": tenant, "adopted": list(names)}, f"Declared for {tenant}: {', '.join(names)}")
