"""Where settings stand: the variables' prefix, the settings file, and the database that is used where none is named."""

from __future__ import annotations

import os
from pathlib import Path

PREFIX = "CIRCUMSPECT_"
CONFIG_VARIABLE = "CIRCUMSPECT_CONFIG"
FILE = "circumspect.toml"
DATABASE = "sqlite:///.circumspect/circumspect.db"


def find_settings_file(config: str | Path | None) -> tuple[Path | None, str]:
    """The settings file, if there is one; and the name of one that was named and is not there."""
    named = config or os.environ.get(CONFIG_VARIABLE)
    path = Path(named or FILE)
    if path.is_file():
        return path, ""
    return None, str(path) if named else ""
