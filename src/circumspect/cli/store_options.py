"""What commands on the server's own tables share: which database, working on it, and printing what was done."""

from __future__ import annotations

import asyncio
import getpass
import platform
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from circumspect.cli.options import config_option, database_option, json_option
from circumspect.errors import UnknownTenant

if TYPE_CHECKING:
    import sqlalchemy as sa

    from circumspect.server.config import Settings
    from circumspect.server.services import Services
    from circumspect.stores import SqlStore

P = ParamSpec("P")
T = TypeVar("T")
WHO = "command line"
"""In the operators' log."""


@dataclass(frozen=True)
class StoreTarget:
    """The database that a command works on, and how it prints what came of it."""

    database: str | None
    config: Path | None
    as_json: bool

    def load_settings(self) -> Settings:
        from circumspect.server.config import load_settings

        return load_settings(self.config, database=self.database)

    def tx(self, body: Callable[Concatenate[sa.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the body returns, run in one transaction."""

        async def run(store: SqlStore) -> T:
            return await store.tx(body, *args, **kwargs)

        return self.with_store(run)

    def with_store(self, body: Callable[[SqlStore], Awaitable[T]]) -> T:
        """Open the database, run, close."""
        from circumspect.stores import SqlStore
        from circumspect.stores.action_log import acting_from

        async def run() -> T:
            acting_from.set(f"{login()}@{platform.node()}")
            store = await SqlStore.open(self.load_settings().database)
            try:
                return await body(store)
            finally:
                await store.close()

        return asyncio.run(run())

    def with_services(self, body: Callable[[Services], Awaitable[T]]) -> T:
        """The same with everything that a server has."""
        from circumspect.server.services import open_services
        from circumspect.stores.action_log import acting_from

        async def run() -> T:
            acting_from.set(f"{login()}@{platform.node()}")
            async with open_services(self.load_settings()) as services:
                return await body(services)

        return asyncio.run(run())

    def say(self, value: Any, text: str) -> None:
        print_result(self.as_json, value, text)


def add_store_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options that they all have; the command gets them as `target`."""

    @wraps(command)
    def call_command(*args: Any, database: str | None, config: Path | None, as_json: bool, **others: Any) -> None:
        command(*args, target=StoreTarget(database, config, as_json), **others)

    return database_option(config_option(json_option(call_command)))


def print_result(as_json: bool, value: Any, text: str) -> None:
    """The value for programs, what it holds of the API's answers as the API writes them; or the text for people."""
    if as_json:
        import orjson

        text = orjson.dumps(value, default=lambda answer: answer.to_json()).decode()
    click.echo(text)


def login() -> str:
    """Who sits at the keyboard, for the record."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "somebody"


def need_packages() -> None:
    """For a group's own function, which runs before any of its commands and not for their help."""
    import circumspect.server.config
    import circumspect.server.credentials  # noqa: F401


def unknown_tenant(tenant: str, where: str = "") -> UnknownTenant:
    return UnknownTenant(f"There is no tenant '{tenant}'{where}.", fix="`circumspect tenants list` shows who is there.")


def write_log(
    connection: sa.Connection,
    action: str,
    at: float,
    *,
    subject: str,
    detail: dict[str, Any],
    tenant: str | None = None,
) -> None:
    """A line in the operators' log."""
    from circumspect.clock import RandomIds
    from circumspect.stores.action_log import log_action

    id_ = RandomIds().new("log")
    log_action(connection, id=id_, at=at, operator=WHO, action=action, tenant=tenant, subject=subject, detail=detail)


def iso(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def table(rows: Sequence[tuple[str, ...]], head: tuple[str, ...]) -> str:
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows))
    return "\n".join(line.rstrip() for line in lines)
