"""`circumspect db`: the database's schema, and what it takes after a backup was restored."""

from __future__ import annotations

import asyncio
import sys

import click

from circumspect.cli.options import default_database_option, json_option


@click.group()
def db() -> None:
    """The database's schema: see it, bring it up to date, take it back; hold what a restored backup left open."""


@db.command()
@default_database_option("SQLite file or postgresql:// URL.")
def upgrade(database: str) -> None:
    """Bring the database's schema up to date. Opening it does the same; this is for deployments that do it apart."""
    from circumspect.stores import SqlStore

    async def run() -> None:
        await (await SqlStore.open(database)).close()

    asyncio.run(run())
    click.echo("The database is up to date.")


@db.command()
@click.option("--yes", is_flag=True, help="No worker runs on this database: do not ask.")
@default_database_option("SQLite file or postgresql:// URL.")
def restored(yes: bool, database: str) -> None:
    """A backup was restored: nothing that it left open is repeated before a person has looked. Run it before any worker
    starts. Calls that it shows as begun become unknown, each with an escalation; open questions are put again;
    notifications that wait are held."""
    from circumspect.cli.backup import describe_held
    from circumspect.cli.store_options import login
    from circumspect.clock import RandomIds, SystemClock
    from circumspect.stores.restored import hold_restored_work

    if not yes:
        click.confirm("Calls that run now would be recorded as unknown. Have all workers stopped?", abort=True)
    held = asyncio.run(hold_restored_work(database, login(), SystemClock().now(), RandomIds().new("log")))
    click.echo("\n".join(describe_held(held)))


@db.command()
@json_option
@default_database_option("SQLite file or postgresql:// URL.")
def status(as_json: bool, database: str) -> None:
    """Which schema the database has and which this version needs. Exit code 1 when they do not fit; changes nothing."""
    from circumspect.cli.store_options import print_result
    from circumspect.stores.schema_history import read_status

    found = read_status(database)
    said = f"The database has schema {found.schema or 'none'}; this version needs {found.needed}: {found.said}"
    value = {"schema": found.schema, "needed": found.needed, "usable": found.usable, "said": found.said}
    print_result(as_json, value, said)
    sys.exit(0 if found.usable else 1)


@db.command()
@click.argument("revision")
@click.option("--yes", is_flag=True, help="No worker runs on this database, and there is a backup: do not ask.")
@default_database_option("SQLite file or postgresql:// URL.")
def downgrade(revision: str, yes: bool, database: str) -> None:
    """Take the schema back to REVISION, for an older version. Run it with the newer one, before that is taken away.

    Not every revision can be taken back: where rows would be lost it says so, and a backup from before the upgrade is
    the way (circumspect restore).
    """
    from circumspect.stores.schema_history import take_back

    if not yes:
        click.confirm("Have all workers stopped, and is there a backup?", abort=True)
    taken = take_back(database, revision)
    click.echo(f"Taken back: {', '.join(taken)}." if taken else f"The schema is {revision} already.")
