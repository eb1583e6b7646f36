"""`circumspect apply`: tenant files into the database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from circumspect.cli.options import FILE
from circumspect.cli.store_options import WHO, StoreTarget, add_store_options, need_packages
from circumspect.errors import CircumspectError, ConfigError

if TYPE_CHECKING:
    from circumspect.server.apply_tenant import Applied
    from circumspect.stores import SqlStore

_COLOURS = {"added": "green", "changed": "yellow", "removed": "red"}


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE...", type=FILE)
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@add_store_options
def apply(paths: tuple[Path, ...], dry_run: bool, target: StoreTarget) -> None:
    """Create or update tenants from files: plan, business, tools, policy, notifications, secrets.

    What a file may say: `circumspect docs tenants`.

    Each file is one tenant and one transaction: it is applied whole or not at all. Applying it again changes nothing.
    A running server takes over what changed within a second or so.

    \b
    circumspect apply tenant.yaml --dry-run
    circumspect apply tenants/*.yaml
    """
    need_packages()
    from circumspect.server.apply_tenant import apply_file

    settings, problems = target.load_settings(), list[CircumspectError]()

    async def body(store: SqlStore) -> None:
        for path in paths:
            try:
                applied = await apply_file(path, store, settings, dry_run=dry_run, by=WHO)
            except ConfigError as problem:
                # The other files have nothing to do with this one; the command fails all the same.
                problems.append(problem)
            else:
                _show(path, applied, target.as_json)

    target.with_store(body)
    for one in problems[:-1]:
        click.echo(f"Error: {one}", err=True)
    if problems:
        raise problems[-1]


def _show(path: Path, applied: Applied, as_json: bool) -> None:
    if as_json:
        import orjson

        click.echo(orjson.dumps({"file": str(path), **applied.to_json()}))
        return
    for warning in applied.warnings:
        click.secho(f"warning: {warning}", fg="yellow", err=True)
    if not applied.changes:
        click.echo(f"{applied.tenant}: no change")
        return
    did = "would be " if applied.dry_run else ""
    click.secho(f"{applied.tenant}: {did}{'created' if applied.created else 'updated'}", bold=True)
    for change in applied.changes:
        click.secho(f"  {change}", fg=_COLOURS[change.kind])
