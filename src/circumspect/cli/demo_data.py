"""`circumspect demo-data`: sample conversations for the console, and away with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from circumspect.cli.store_options import add_store_options, need_packages, say, with_store

if TYPE_CHECKING:
    from circumspect.stores import SqlStore


@click.group("demo-data")
def demo_data() -> None:
    """Fill the console with conversations of the sample shops, or take them away again."""
    need_packages()


@demo_data.command()
@add_store_options
def add(database: str | None, config: Path | None, as_json: bool) -> None:
    """Run some eighty conversations of the sample shops through the engine, with the offline model, at past moments.

    Done once: a second time adds nothing.
    """
    from circumspect.demo.demo_data import seed_demo
    from circumspect.demo.samples.apply_samples import apply_samples
    from circumspect.server.config import load_settings

    settings = load_settings(config, database=database)

    async def body(store: SqlStore) -> int:
        await apply_samples(store, settings)
        return await seed_demo(store, settings)

    made = with_store(body, database, config)
    said = f"{made} conversations added." if made else "The demo data is there already."
    say(as_json, {"added": made}, said)


@demo_data.command()
@add_store_options
def remove(database: str | None, config: Path | None, as_json: bool) -> None:
    """Delete every conversation of the demo data, with everything that belongs to it. The sample shops stay."""
    from circumspect.demo.demo_data import remove_demo

    async def body(store: SqlStore) -> int:
        return await remove_demo(store)

    removed = with_store(body, database, config)
    say(as_json, {"removed": removed}, f"{removed} conversations removed.")
