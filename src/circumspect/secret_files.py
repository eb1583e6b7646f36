"""Secrets from files: the settings that are secret can be read from a file instead of being written down.

In order: a variable `CIRCUMSPECT_…_FILE` that names one; a value `file:PATH` wherever a value may stand; a file called
like the setting in the folder that systemd names in `CREDENTIALS_DIRECTORY`. What a file holds is shown nowhere, also
not where it is wrong. One that every user of the machine can read is used, and said so.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from circumspect.private_files import is_open_to_everybody

REFERENCE = "file:"
ENDING = "_FILE"
CREDENTIALS = "CREDENTIALS_DIRECTORY"
LONGEST = 65_536


@dataclass(slots=True)
class SecretsRead:
    """By setting: what was read and where; what is wrong; files that are open to everybody."""

    values: dict[str, str] = field(default_factory=dict)
    places: dict[str, Path] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    open_files: list[Path] = field(default_factory=list)

    def read(self, name: str, path: Path) -> None:
        self.places[name] = path
        try:
            with path.open("rb") as file:
                text = file.read(LONGEST + 1).decode("utf-8").strip("\r\n")
        except OSError as error:
            self.problems[name] = f"{path} cannot be read: {error.strerror or 'no reason given'}"
            return
        except UnicodeDecodeError:
            self.problems[name] = f"{path} is not text in UTF-8"
            return
        if not text.strip() or len(text) > LONGEST:
            self.problems[name] = f"{path} is {'empty' if not text.strip() else 'too long for a secret'}"
            return
        self.values[name] = text
        if is_open_to_everybody(path):
            self.open_files.append(path)


def read_secret_files(
    names: Iterable[str],
    options: Mapping[str, object],
    filed: Mapping[str, object],
    prefix: str,
    *,
    not_by_value: Iterable[str] = (),
) -> SecretsRead:
    """`options` and `filed`: values that were passed, and those of the settings file. A variable that names a file wins
    where the one without the ending would; both of them at once contradict each other and are refused."""
    found, folder = SecretsRead(), os.environ.get(CREDENTIALS)
    for name in names:
        variable = f"{prefix}{name.upper()}"
        written = os.environ.get(variable)
        named = None if name in options else os.environ.get(f"{variable}{ENDING}")
        value = options.get(name, written or filed.get(name))
        if named and written:
            found.problems[name] = f"{variable} and {variable}{ENDING} are both set; unset one"
        elif named:
            found.read(name, Path(named))
        elif isinstance(value, str) and value.startswith(REFERENCE) and name not in not_by_value:
            found.read(name, Path(value.removeprefix(REFERENCE)))
        elif value is None and folder and (Path(folder) / name).is_file():
            found.read(name, Path(folder) / name)
    return found
