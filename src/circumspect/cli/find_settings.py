"""What a command takes from the settings that needs only one of them: database, model or port, as the server finds it.

As passed, as in the environment, as in the settings file. What reads all settings is `circumspect.server.config`; it
needs packages of the server, which these commands do without as long as there is no settings file. The one choice that
may surprise: where there is one, it is read by the very code that the server reads it with, and a mistake in it ends
the command, since a guess could be the wrong database. Only the health check, which runs every few seconds, reads its
one line by itself.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from circumspect.errors import ConfigError
from circumspect.extras import explain_missing
from circumspect.secret_files import read_secret_files
from circumspect.settings_places import DATABASE, PREFIX, find_settings_file

if TYPE_CHECKING:
    from circumspect.server.config import Settings

PORT = 8000


def find_database(config: Path | None, given: str | None) -> str:
    """The database that `circumspect serve` would use here."""
    if given:
        return given
    if _has_settings_file(config):
        return _read_settings(config, "Name the database with --database").database
    variable = f"{PREFIX}DATABASE"
    found = read_secret_files(("database",), {}, {}, PREFIX, not_by_value=("database",))
    if problem := found.problems.get("database"):
        raise ConfigError(f"database: {problem}.", fix=f"Correct {variable} or {variable}_FILE; set one of them.")
    return found.values.get("database") or os.environ.get(variable) or DATABASE


def find_model(config: Path | None, given: str | None) -> str:
    """The model that `circumspect serve` would give tenants that name none."""
    from circumspect.models.opening import OFFLINE, VARIABLE

    if given:
        return given
    if _has_settings_file(config):
        return _read_settings(config, "Name the model with --model").model.strip() or OFFLINE
    return os.environ.get(VARIABLE, "").strip() or OFFLINE


def find_port(config: Path | None, given: int | None) -> int:
    """The port that `circumspect serve` would listen on here."""
    if given:
        return given
    variable = f"{PREFIX}PORT"
    found: object = os.environ.get(variable)
    where = variable
    if not found:
        path, missing = find_settings_file(config)
        if missing:
            raise ConfigError(f"{missing}: there is no such file.", fix="Name another with --config, or --port.")
        found, where = (_read_port(path), f"port in {path}") if path else (PORT, "")
    if str(found) == "0":
        raise ConfigError(f"{where} is 0: the server takes a free port.", fix="Name the port it took with --port.")
    try:
        port = int(str(found))
    except ValueError:
        port = 0
    if not 1 <= port <= 65535:
        raise ConfigError(f"{where} is no port: {found!r}.", fix="Correct it, or name the port with --port.")
    return port


def _has_settings_file(config: Path | None) -> bool:
    """Is there one, or was one named that is not there? Reading it says so."""
    return any(find_settings_file(config))


def _read_settings(config: Path | None, instead: str) -> Settings:
    try:
        from circumspect.server.config import load_settings
    except ModuleNotFoundError as missing:
        lacking = explain_missing(missing)
        if lacking is None:
            raise
        fix = f"{instead}, or: {lacking.fix}"
        raise ConfigError("The settings file cannot be read without the packages of the server.", fix=fix) from None
    return load_settings(config)


def _read_port(path: Path) -> object:
    try:
        return tomllib.loads(path.read_text("utf-8")).get("port", PORT)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.", fix="`circumspect doctor` shows what is wrong.") from None
