"""`circumspect db`: the database's schema, and what it takes after a backup was restored."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from circumspect.cli.options import default_database_option

if TYPE_CHECKING:
    import sqlalchemy as sa


@click.group()
def db() -> None:
    """Create or update the database; hold what a restored backup left open."""


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
    from circumspect.approvers import COMMAND_LINE
    from circumspect.cli.store_options import login
    from circumspect.clock import RandomIds, SystemClock
    from circumspect.stores import SqlStore
    from circumspect.stores.action_log import log_action
    from circumspect.stores.restored import HeldAfterRestore, hold_open_work

    if not yes:
        click.confirm("Calls that run now would be recorded as unknown. Have all workers stopped?", abort=True)
    who, now, id_ = f"{COMMAND_LINE}{login()}", SystemClock().now(), RandomIds().new("log")

    def body(connection: sa.Connection) -> HeldAfterRestore:
        held = hold_open_work(connection, now)
        detail = {"calls": held.calls, "questions": held.questions, "notifications": held.notifications}
        log_action(connection, id=id_, at=now, operator=who, action="restored", tenant=None, subject="", detail=detail)
        return held

    async def run() -> HeldAfterRestore:
        store = await SqlStore.open(database)
        try:
            return await store.tx(body)
        finally:
            await store.close()

    held = asyncio.run(run())
    click.echo(f"{held.calls} calls are unknown and wait for a person: circumspect escalations list")
    click.echo(f"{held.questions} questions are put again when somebody answers them.")
    click.echo(f"{held.notifications} notifications are held: circumspect outbox list")
