"""Files for their owner only: conversations and cases are in them, and whoever copies a folder copies its modes along.

What we make is private from its first moment: files 0600, folders 0700. A file that every user of the machine can read
has the modes it has by default, and is closed with a word in the log; one that only a group can read was made so on
purpose, and is left alone. Folders that are already there are somebody's own and are never changed.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterable
from pathlib import Path

log = logging.getLogger(__name__)

FILE, FOLDER = 0o600, 0o700
EVERYBODY = 0o007
BESIDE = ("", "-wal", "-shm", "-journal")
"""What SQLite keeps of a database: its file, and others named after it that it makes with the file's own mode."""


def make_folder(folder: Path) -> None:
    """The folder and those above it that are missing."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(FOLDER, exist_ok=True)
    if not folder.is_dir():
        folder.mkdir(FOLDER)  # says what is in the way


def opener(path: str, flags: int) -> int:
    """For `open`: a file that this makes is private from the first moment."""
    return os.open(path, flags, FILE)


def write(file: Path, data: bytes) -> None:
    """Whole or not at all."""
    part = file.with_suffix(f"{file.suffix}.part")
    with open(part, "wb", opener=opener) as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    part.replace(file)


def make_database_file(path: Path) -> None:
    """An empty file for SQLite to fill, where there is none; what SQLite makes beside it has its mode."""
    # Where it cannot be made SQLite cannot either, and says why.
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE))


def database_files(path: Path) -> list[Path]:
    return [Path(f"{path}{ending}") for ending in BESIDE]


def is_open_to_everybody(path: Path) -> bool:
    """Can every user of this machine read or write the file? Always no where files have no such bits."""
    try:
        return os.name == "posix" and path.is_file() and bool(path.stat().st_mode & EVERYBODY)
    except OSError:
        return False


def close_to_others(paths: Iterable[Path]) -> None:
    for path in paths:
        if not is_open_to_everybody(path):
            continue
        try:
            path.chmod(FILE)
        except OSError:
            log.warning("every user of this machine can read %s: chmod 600 it", path)
        else:
            log.warning("every user of this machine could read %s: now only its owner can", path)
