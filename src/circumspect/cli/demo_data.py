"""`circumspect demo-data`: sample conversations for the console, and away with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from circumspect.cli.store_options import StoreTarget, add_store_options, need_packages

if TYPE_CHECKING:
    from circumspect.stores import SqlStore


@click.group("demo-data")
def demo_data() -> None:
    """Fill the console with conversations of the sample shops, or take them away again."""
    need_packages()


@demo_data.command()
@add_store_options
def add(target: StoreTarget) -> None:
    """Run some hundred conversations of the sample shops and desks through the engine, offline, at past moments.

    Done once: a second time adds nothing.
    """
    from circumspect.demo.demo_data import seed_demo
    from circumspect.demo.samples.apply_samples import apply_samples
    from circumspect.demo.samples.desks import apply_desks

    settings = target.load_settings()

    async def body(store: SqlStore) -> int:
        await apply_samples(store, settings)
        await apply_desks(store, settings)
        return await seed_demo(store, settings)

    made = target.with_store(body)
    target.say({"added": made}, f"{made} conversations added." if made else "The demo data is there already.")


@demo_data.command()
@add_store_options
def remove(target: StoreTarget) -> None:
    """Delete every conversation of the demo data, with everything that belongs to it. The sample shops stay."""
    from circumspect.demo.demo_data import remove_demo

    removed = target.with_store(remove_demo)
    target.say({"removed": removed}, f"{removed} conversations removed.")
