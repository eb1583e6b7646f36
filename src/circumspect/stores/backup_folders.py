"""A backup: a folder with a copy of the database and `manifest.json`, which says what is in it and proves it whole.

The folder is made aside and put in place by one rename, the manifest last: what is called a backup is one. Secrets of
tenants are in it as they are in the database, sealed; the key that opens them is not.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

import orjson

from circumspect.errors import StoreError
from circumspect.private_files import make_folder, opener
from circumspect.private_files import write as write_file
from circumspect.stores.schema import HEAD, is_usable

FORMAT = 1
MANIFEST = "manifest.json"
PIECE = 1 << 20
Progress = Callable[[int, int], None]
"""Told how much is done, of how much."""
BackupKind = Literal["sqlite", "postgresql"]


@dataclass(frozen=True, slots=True)
class BackupManifest:
    kind: BackupKind
    file: str
    bytes: int
    sha256: str
    rows: Mapping[str, int]
    """By table, counted in the database at the moment of the copy."""
    schema: str
    version: str
    """Of Circumspect."""
    made_at: str
    format: int = FORMAT


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder to fill; under the wanted name when all went well, and gone otherwise."""
    if target.exists() or target.is_symlink():
        raise StoreError(f"{target} is there already.", fix="Name another: a backup replaces nothing.")
    make_folder(target.parent)
    aside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    make_folder(aside)
    try:
        yield aside
        sync_folder(aside)
        try:
            aside.rename(target)
        except OSError:
            raise StoreError(f"{target} is there by now.", fix="Name another: a backup replaces nothing.") from None
        sync_folder(target.parent)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def write_manifest(
    folder: Path, kind: BackupKind, file: str, rows: Mapping[str, int], schema: str, version: str, at: datetime
) -> BackupManifest:
    path = folder / file
    with open(path, "rb") as copied:
        os.fsync(copied.fileno())
    made = BackupManifest(
        kind, file, path.stat().st_size, hash_file(path), rows, schema, version, at.isoformat(timespec="seconds")
    )
    write_file(folder / MANIFEST, orjson.dumps(asdict(made), option=orjson.OPT_INDENT_2) + b"\n")
    return made


def read_manifest(folder: Path) -> BackupManifest:
    """Whether the copy is whole is for `check_copy`; whether this version can use it is said here."""
    try:
        found = orjson.loads((folder / MANIFEST).read_bytes())
        newer = found["format"] > FORMAT
        made = BackupManifest(**found)
        usable = made.kind in ("sqlite", "postgresql") and Path(made.file).name == made.file
    except OSError:
        raise StoreError(f"{folder} is not a backup: it has no {MANIFEST}.", fix=_NAME_ONE) from None
    except (ValueError, TypeError, KeyError):
        newer, usable, made = False, False, None
    if newer:
        raise StoreError(f"{folder} was made by a newer version of Circumspect.", fix="Upgrade Circumspect first.")
    if made is None or not usable:
        raise StoreError(f"{folder / MANIFEST} cannot be read.", fix=_NAME_ONE)
    if made.schema > HEAD and not is_usable(made.schema):
        raise StoreError(
            f"{folder} holds a database of a newer version of Circumspect (schema {made.schema}).",
            fix="Upgrade Circumspect first.",
        )
    return made


_NAME_ONE = "Name a folder that `circumspect backup` made."


def check_copy(folder: Path, manifest: BackupManifest, progress: Progress) -> None:
    path = folder / manifest.file
    try:
        found = hash_file(path, progress)
    except OSError:
        raise StoreError(f"{path} cannot be read.", fix="Take another backup.") from None
    if found != manifest.sha256:
        raise StoreError(f"{path} is not what the backup wrote: its hash differs.", fix="Take another backup.")


def copy_whole(source: Path, target: Path, manifest: BackupManifest, progress: Progress) -> None:
    """The copy, on disk, and it is what the manifest says."""
    done, seen = 0, hashlib.sha256()
    with open(source, "rb") as old, open(target, "xb", opener=opener) as new:
        while piece := old.read(PIECE):
            new.write(piece)
            seen.update(piece)
            done += len(piece)
            progress(done, manifest.bytes)
        new.flush()
        os.fsync(new.fileno())
    if seen.hexdigest() != manifest.sha256:
        raise StoreError(f"{source} is not what the backup wrote: its hash differs.", fix="Use another backup.")


def hash_file(path: Path, progress: Progress | None = None) -> str:
    size, done, seen = path.stat().st_size, 0, hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            seen.update(piece)
            done += len(piece)
            if progress:
                progress(done, size)
    return seen.hexdigest()


def sync_folder(folder: Path) -> None:
    """A name is on disk when its folder is."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def compare_rows(wanted: Mapping[str, int], found: Mapping[str, int], what: str) -> None:
    differing = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if differing:
        raise StoreError(f"{what} has other numbers of rows in {', '.join(differing[:5])}.", fix="Take another backup.")
