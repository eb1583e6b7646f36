"""What commands on the server's own tables share: which database, opening it, and saying what was done."""

from __future__ import annotations

import asyncio
import getpass
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from circumspect.errors import ConfigError

if TYPE_CHECKING:
    from circumspect.server.services import Services
    from circumspect.stores import SqlStore

T = TypeVar("T")
WHO = "command line"
"""In the operators' log."""

_SPANS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def add_store_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that they all have."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option("--config", type=click.Path(path_type=Path), help="Settings file instead of circumspect.toml."),
        click.option("--database", help="SQLite file or postgresql:// URL instead of the one in the settings."),
    ):
        command = option(command)
    return command


def with_store(body: Callable[[SqlStore], Awaitable[T]], database: str | None, config: Path | None) -> T:
    """Open the database that the settings name, run, close."""
    from circumspect.server.config import load_settings
    from circumspect.stores import SqlStore

    async def run() -> T:
        store = await SqlStore.open(load_settings(config, database=database).database)
        try:
            return await body(store)
        finally:
            await store.close()

    return asyncio.run(run())


def with_services(body: Callable[[Services], Awaitable[T]], database: str | None, config: Path | None) -> T:
    """Run with all that a worker of the server has, over the database that the settings name."""
    from circumspect.server.config import load_settings
    from circumspect.server.services import open_services

    async def run() -> T:
        async with open_services(load_settings(config, database=database)) as services:
            return await body(services)

    return asyncio.run(run())


def login() -> str:
    """Who sits at the keyboard, for the record."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "somebody"


def need_packages() -> None:
    """For a group's own function, which runs before any of its commands and not for their help."""
    try:
        import circumspect.server.config
        import circumspect.server.credentials  # noqa: F401
    except ModuleNotFoundError as missing:
        raise ConfigError(
            f"The package {missing.name} is not installed.", fix="pip install 'circumspect[server]'"
        ) from None


def span(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """`90d`, `24h`, `30m`, in seconds; a callback of click options."""
    if value is None:
        return None
    number, unit = value[:-1], value[-1:]
    if unit not in _SPANS or not number.isascii() or not number.isdigit() or int(number) > 100_000:
        raise click.BadParameter(f"'{value}' is not a length of time such as 90d, 24h or 30m.")
    return float(int(number) * _SPANS[unit])


def iso(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def table(rows: Sequence[tuple[str, ...]], head: tuple[str, ...]) -> str:
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows))
    return "\n".join(line.rstrip() for line in lines)


def say(as_json: bool, value: object, text: str) -> None:
    """Print the text, or the value as JSON: what it holds of the API's answers as the API writes them."""
    if as_json:
        import orjson

        text = orjson.dumps(value, default=lambda answer: answer.to_json()).decode()
    click.echo(text)
