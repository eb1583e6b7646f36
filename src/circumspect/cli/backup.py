"""`circumspect backup` and `circumspect restore`: the database to a verified folder while servers run, and back."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from circumspect.cli.options import FOLDER, NEW_FOLDER
from circumspect.cli.store_options import StoreTarget, add_store_options, login, need_packages

if TYPE_CHECKING:
    from circumspect.stores.backup_folders import BackupManifest, Progress
    from circumspect.stores.restored import HeldAfterRestore


@click.command()
@click.argument("folder", type=NEW_FOLDER)
@add_store_options
def backup(folder: Path, target: StoreTarget) -> None:
    """Copy the database into FOLDER, which must not be there yet. Servers go on meanwhile.

    The copy is of one moment, checked against the database, and has its hash in FOLDER/manifest.json. Tenants' secrets
    stay sealed in it: keep the secret key elsewhere. PostgreSQL is copied by pg_dump.

    \b
    circumspect backup /backups/$(date +%F)
    """
    need_packages()
    from circumspect.clock import SystemClock
    from circumspect.stores.backups import make_backup

    with _shown() as progress:
        made = make_backup(target.load_settings().database, folder, SystemClock().now(), progress)
    target.say({"folder": str(folder), **asdict(made)}, f"{folder} holds {_describe(made)}.")


@click.command()
@click.argument("folder", type=FOLDER)
@click.option("--replace", is_flag=True, help="Put it in the place of an SQLite file that is there, which is kept.")
@click.option("--check", is_flag=True, help="Only see whether the backup is whole.")
@add_store_options
def restore(folder: Path, replace: bool, check: bool, target: StoreTarget) -> None:
    """Make a database of the backup in FOLDER. No server may use it: stop them first.

    What the backup left open is held until a person has looked, as `circumspect db restored` does it. An SQLite file
    takes its place whole or not at all; a PostgreSQL database has to be new and empty.

    \b
    circumspect restore /backups/2026-11-18 --database sqlite:///restored.db
    """
    need_packages()
    from circumspect.clock import RandomIds, SystemClock
    from circumspect.stores.backups import check_backup, restore_backup
    from circumspect.stores.restored import hold_restored_work

    if check:
        with _shown() as progress:
            found = check_backup(folder, progress)
        target.say({"folder": str(folder), **asdict(found)}, f"{folder} is whole: {_describe(found)}.")
        return
    settings = target.load_settings()

    async def hold(database: str) -> HeldAfterRestore:
        return await hold_restored_work(database, login(), SystemClock().now(), RandomIds().new("log"))

    with _shown() as progress:
        made = asyncio.run(restore_backup(folder, settings.database, hold, replace=replace, progress=progress))
    lines = [f"The database is restored: {_describe(made.manifest)}.", *describe_held(made.held)]
    if made.kept:
        lines.append(f"The one that was there is kept as {made.kept}.")
    if settings.secret_key is None and made.manifest.kind == "sqlite":
        lines.append("Tenants' secrets open with the secret key of then: put its file back, or set it.")
    said = {"held": asdict(made.held), "kept": str(made.kept) if made.kept else None, **asdict(made.manifest)}
    target.say(said, "\n".join(lines))


def describe_held(held: HeldAfterRestore) -> list[str]:
    return [
        f"{held.calls} calls are unknown and wait for a person: circumspect escalations list",
        f"{held.questions} questions are put again when somebody answers them.",
        f"{held.notifications} notifications are held: circumspect outbox list",
    ]


def _describe(made: BackupManifest) -> str:
    rows = sum(made.rows.values())
    return f"{rows:,} rows of {made.made_at}, {made.bytes:,} bytes, schema {made.schema}, Circumspect {made.version}"


@contextmanager
def _shown() -> Iterator[Progress]:
    """A line that counts up, for somebody who watches."""
    watched = sys.stderr.isatty()

    def show(done: int, whole: int) -> None:
        if watched and whole:
            click.echo(f"\r{100 * done // whole:3d} %", nl=False, err=True)

    try:
        yield show
    finally:
        if watched:
            click.echo("\r      \r", nl=False, err=True)
