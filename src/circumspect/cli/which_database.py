"""The database of a command that needs no other setting: as passed, as in the environment, as in the settings file.

What reads all settings is `circumspect.server.config`; it needs packages of the server, which these commands do without
as long as there is no settings file. The one choice that may surprise: where there is one, it is read by the very code
that the server reads it with, and a mistake in it ends the command, since a guess could be the wrong database.
"""

from __future__ import annotations

import os
from pathlib import Path

from circumspect.errors import ConfigError
from circumspect.extras import explain_missing
from circumspect.secret_files import read_secret_files
from circumspect.settings_places import DATABASE, PREFIX, find_settings_file


def find_database(config: Path | None, given: str | None) -> str:
    """The database that `circumspect serve` would use here: as passed, as in the environment, as in the file."""
    if given:
        return given
    path, missing = find_settings_file(config)
    if path or missing:
        return _read_settings(config)
    variable = f"{PREFIX}DATABASE"
    found = read_secret_files(("database",), {}, {}, PREFIX, not_by_value=("database",))
    if problem := found.problems.get("database"):
        raise ConfigError(f"database: {problem}.", fix=f"Correct {variable} or {variable}_FILE; set one of them.")
    return found.values.get("database") or os.environ.get(variable) or DATABASE


def _read_settings(config: Path | None) -> str:
    try:
        from circumspect.server.config import load_settings
    except ModuleNotFoundError as missing:
        lacking = explain_missing(missing)
        if lacking is None:
            raise
        fix = f"Name the database with --database, or: {lacking.fix}"
        raise ConfigError("The settings file cannot be read without the packages of the server.", fix=fix) from None
    return load_settings(config).database
