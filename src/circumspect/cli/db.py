"""`circumspect db`: the database's schema."""

from __future__ import annotations

import asyncio

import click

from circumspect.cli.options import default_database_option


@click.group()
def db() -> None:
    """Create or update the database."""


@db.command()
@default_database_option("SQLite file or postgresql:// URL.")
def upgrade(database: str) -> None:
    """Bring the database's schema up to date. Opening it does the same; this is for deployments that do it apart."""
    from circumspect.stores import SqlStore

    async def run() -> None:
        await (await SqlStore.open(database)).close()

    asyncio.run(run())
    click.echo("The database is up to date.")
