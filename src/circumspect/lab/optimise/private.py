"""Files for their owner only: cases are in them, and whoever copies a folder copies its files' modes along."""

from __future__ import annotations

import os
from pathlib import Path


def make_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)


def opener(path: str, flags: int) -> int:
    """For `open`: a file that this makes is private from the first moment."""
    return os.open(path, flags, 0o600)


def write(file: Path, data: bytes) -> None:
    """Whole or not at all."""
    part = file.with_suffix(f"{file.suffix}.part")
    with open(part, "wb", opener=opener) as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    part.replace(file)
