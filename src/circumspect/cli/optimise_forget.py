"""`circumspect optimise forget`: deleted cases, and the folders that hold copies of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from circumspect.cli.input_files import read_from
from circumspect.cli.options import FOLDER
from circumspect.cli.store_options import StoreTarget, add_store_options
from circumspect.errors import UnknownTenant

if TYPE_CHECKING:
    import sqlalchemy as sa


@click.command()
@click.argument("folders", nargs=-1, required=True, type=FOLDER)
@click.option("--case", "cases", multiple=True, metavar="ID", help="The case that was deleted; may be given again.")
@click.option("--tenant", help="Whose cases. Without --case: all that its database no longer has.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@add_store_options
def forget(
    folders: tuple[Path, ...], cases: tuple[str, ...], tenant: str | None, yes: bool, target: StoreTarget
) -> None:
    """Delete what folders hold of cases that were deleted.

    FOLDERS are run directories and datasets made by --from-store, or what they lie in. A dataset is written again
    without the cases; a run goes, all but winner.md and report.json. Datasets that you made yourself are left alone.

    \b
    circumspect optimise forget optimise dataset --tenant shop
    circumspect optimise forget optimise dataset --case C-1042
    """
    from circumspect.lab.optimise.forgetting import forget as forget_in
    from circumspect.lab.optimise.forgetting import holdings

    if not cases and tenant is None:
        raise click.UsageError("Say which: --case ID, or --tenant NAME for all that its database no longer has.")
    held = [one for one in holdings(folders) if tenant is None or one.tenant == tenant]
    wanted = frozenset(cases)
    if tenant is not None and not cases:
        wanted = _find_deleted(tenant, frozenset().union(*(one.cases for one in held)), target)
    found = [one for one in held if one.cases & wanted]
    for one in found:
        count = f"{one.path}: {len(one.cases & wanted)} of {len(one.cases)} cases."
        fate = "The rest stays." if one.kind == "dataset" else "The run goes; what came of it stays."
        click.echo(f"{count} {fate}", err=target.as_json)
    if found and not yes:
        click.confirm("Delete this?", abort=True, err=target.as_json)
    for one in found:
        forget_in(one, wanted)
    read = [str(file) for one in found if one.has_learnt_from(wanted) for file in one.results]
    lines = [f"{len(found)} of {len(held)} folders held any of them."]
    lines += [f"Read {file}: it was written by a model that had seen such a case, and may repeat it." for file in read]
    told = {"looked_at": len(held), "changed": [str(one.path) for one in found], "read_these": read}
    target.say(told, "\n".join(lines))


def _find_deleted(tenant: str, cases: frozenset[str], target: StoreTarget) -> frozenset[str]:
    from circumspect.lab.optimise.forgetting import find_deleted
    from circumspect.stores import admin
    from circumspect.values import TenantId

    def look(connection: sa.Connection) -> frozenset[str]:
        found = find_deleted(connection, tenant, cases)
        # A database that has never heard of the tenant would call all of its cases deleted.
        if found == cases and admin.get_tenant(connection, TenantId(tenant)) is None:
            raise UnknownTenant(f"There is no tenant '{tenant}' in this database.", fix="Name another with --database.")
        return found

    return read_from(target.load_settings().database, look)
