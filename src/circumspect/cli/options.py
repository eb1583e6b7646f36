"""Pieces of command lines that several commands share: kinds of paths, options, callbacks that read values."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from circumspect.cli.find_settings import find_database, find_model
from circumspect.errors import ConfigError

PATH = click.Path(exists=True, path_type=Path)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
NEW_FILE = click.Path(dir_okay=False, path_type=Path)
NEW_FOLDER = click.Path(file_okay=False, path_type=Path)

CommandFunction = TypeVar("CommandFunction", bound=Callable[..., Any])
_SPANS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
config_option = click.option(
    "--config", type=click.Path(path_type=Path), help="Settings file instead of circumspect.toml."
)
database_option = click.option(
    "--database", help="SQLite file or postgresql:// URL instead of the one in the settings."
)


def default_database_option(about: str) -> Callable[[CommandFunction], CommandFunction]:
    """For commands that need no other setting: the command gets `database`, the one that the server would use. `about`:
    what it is for."""

    def add_options(command: CommandFunction) -> CommandFunction:
        @wraps(command)
        def call_command(*args: Any, database: str | None, config: Path | None, **others: Any) -> Any:
            return command(*args, database=find_database(config, database), **others)

        named = click.option("--database", help=f"{about} Without it, the one in the settings.")
        return cast(CommandFunction, named(config_option(call_command)))

    return add_options


def default_model_option(command: CommandFunction) -> CommandFunction:
    """For commands that take a settings file as well: the command gets `model`, the one that the server would use."""

    @wraps(command)
    def call_command(*args: Any, model: str | None, config: Path | None, **others: Any) -> Any:
        return command(*args, model=find_model(config, model), config=config, **others)

    named = click.option("--model", help="openai:gpt-4o, anthropic:…, offline. Without it, the one in the settings.")
    return cast(CommandFunction, named(call_command))


def since_option(about: str) -> Callable[[CommandFunction], CommandFunction]:
    return click.option("--since", callback=read_moment, metavar="ISO-TIME", help=about)


def read_json_object(text: str, where: str, example: str) -> dict[str, Any]:
    """A JSON object that was written on the command line."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ConfigError(f"{where} not a JSON object.", fix=f"Write it in quotes: '{example}'.")
    return found


def pick_model_name(given: str | None, config: Path | None) -> str | None:
    """The model that was named here or in the settings; None for the offline demo model, which chats only."""
    from circumspect.models.opening import OFFLINE

    named = find_model(config, given)
    return None if named == OFFLINE else named


def need_model(given: str | None, config: Path | None, problem: str) -> str:
    """The same where the command cannot do without."""
    if named := pick_model_name(given, config):
        return named
    raise ConfigError(problem, fix="Add --model openai:gpt-4o, or set CIRCUMSPECT_MODEL.")


def read_moment(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    """An ISO date or time; without a zone it is UTC."""
    if value is None:
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(
            f"'{value}' is not an ISO time such as 2026-03-31 or 2026-03-31T14:30:00+00:00."
        ) from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def read_span(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """`90d`, `24h`, `30m`, in seconds."""
    if value is None:
        return None
    number, unit = value[:-1], value[-1:]
    if unit not in _SPANS or not number.isascii() or not number.isdigit() or int(number) > 100_000:
        raise click.BadParameter(f"'{value}' is not a length of time such as 90d, 24h or 30m.")
    return float(int(number) * _SPANS[unit])
