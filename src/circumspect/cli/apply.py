"""`circumspect apply`: tenant files into the database."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from circumspect.cli.store_options import WHO, add_store_options, need_packages
from circumspect.errors import CircumspectError, ConfigError

if TYPE_CHECKING:
    from circumspect.server.apply_tenant import Applied

_COLOURS = {"added": "green", "changed": "yellow", "removed": "red"}


@click.command()
@click.argument(
    "paths", nargs=-1, required=True, metavar="FILE...", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@add_store_options
def apply(paths: tuple[Path, ...], dry_run: bool, database: str | None, config: Path | None, as_json: bool) -> None:
    """Create or update tenants from files: plan, business, tools, policy, notifications, secrets. See docs/tenants.md.

    Each file is one tenant and one transaction: it is applied whole or not at all. Applying it again changes nothing.
    A running server takes over what changed within a second or so.

    \b
    circumspect apply tenant.yaml --dry-run
    circumspect apply tenants/*.yaml
    """
    need_packages()
    asyncio.run(_apply(paths, dry_run, database, config, as_json))


async def _apply(
    paths: tuple[Path, ...], dry_run: bool, database: str | None, config: Path | None, as_json: bool
) -> None:
    from circumspect.server.apply_tenant import apply_file
    from circumspect.server.config import load_settings
    from circumspect.stores import SqlStore

    settings = load_settings(config, database=database)
    store = await SqlStore.open(settings.database)
    problems: list[CircumspectError] = []
    try:
        for path in paths:
            try:
                applied = await apply_file(path, store, settings, dry_run=dry_run, by=WHO)
            except ConfigError as problem:
                # The other files have nothing to do with this one; the command fails all the same.
                problems.append(problem)
            else:
                _show(path, applied, as_json)
    finally:
        await store.close()
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
