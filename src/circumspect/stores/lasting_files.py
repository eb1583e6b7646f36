"""Whether what is written to an SQLite file will still be there tomorrow.

A database file that is deleted or replaced under a running server goes on taking writes, which are gone when the last
process closes it; and a disk without room takes a call's beginning and not its end. So each transaction first looks
whether path and open file are still the same, and whatever begins something new also looks for room: what has begun
may use up the reserve to end. Both take microseconds. Room can be scarce where the disk has plenty (a limit on pages,
a quota): once SQLite has said that it is full, whatever begins first tries whether as much as a turn needs would fit.

After a crash the log of changes (`-wal`) holds what was written last. Where somebody deletes it, the database is that
of some minutes ago, with questions open that were answered. The index beside it (`-shm`) knows how much the log held,
so that is noticed when the file is opened, unless the index was deleted as well.

The index is only read while nothing of this process has the database open: to close a file, whoever does it, gives up
every lock that the process holds on it. Another process would then take the database for nobody's, and cut off the
index under the feet of this one.
"""

from __future__ import annotations

import os
import struct
import threading
from collections import Counter
from pathlib import Path

import sqlalchemy as sa

from circumspect.errors import StoreError, StoreNotLasting

MIN_FREE_BYTES = 64 * 1024 * 1024
TRIED_BYTES = 256 * 1024
_KEY = "circumspect_files"
_INDEX_HEADER, _LOG_HEADER, _FRAME_HEADER = 136, 32, 24
"""Bytes, as SQLite's file format has them."""

FileIdentity = tuple[int, int] | None

_OPEN: Counter[str] = Counter()
"""How often each database is open in this process."""
_OPENING = threading.Lock()


class LastingFiles:
    """The files of one open SQLite database."""

    def __init__(self, path: Path, min_free_bytes: int) -> None:
        # As a name relative to a folder that may be left, it would be another file's.
        self._paths = tuple(str(path.absolute()) + end for end in ("", "-wal", "-shm"))
        self._folder, self._least = str(path.absolute().parent), min_free_bytes
        self._opened: tuple[FileIdentity, ...] = (None,) * len(self._paths)
        self._was_full = False
        self._place = os.path.realpath(path)
        self._is_open = False

    def open(self, restored: bool) -> None:
        """Before SQLite does, which would forget that there was a log. Refused where what was written last is missing,
        unless the file counts as restored from a backup."""
        with _OPENING:
            if not restored and not _OPEN[self._place]:
                self._require_log_of_changes()
            if not self._is_open:
                self._is_open = True
                _OPEN[self._place] += 1

    def close(self) -> None:
        with _OPENING:
            if self._is_open:
                self._is_open = False
                _OPEN[self._place] -= 1
                if not _OPEN[self._place]:
                    del _OPEN[self._place]

    def note(self, connection: sa.Connection) -> None:
        """These are the ones, as the first transaction leaves them."""
        self._opened = tuple(_identify(path) for path in self._paths)
        connection.info[_KEY] = self

    def require_same(self) -> None:
        for path, opened in zip(self._paths, self._opened, strict=True):
            if opened is not None and _identify(path) != opened:
                raise StoreNotLasting(
                    "The database's file was deleted or replaced while it was in use.",
                    fix="Nothing is written any more, since it would be lost. Put the file back as it was, or restore "
                    "a backup and run `circumspect db restored`; then start again.",
                )

    def note_full(self) -> None:
        """SQLite said so."""
        self._was_full = True

    def require_room(self, connection: sa.Connection) -> None:
        disk = os.statvfs(self._folder)
        if disk.f_bavail * disk.f_frsize < self._least:
            raise StoreNotLasting(
                f"The disk of the database has less than {self._least // 1024**2} MB left.",
                fix="Free some space, or set CIRCUMSPECT_MIN_FREE_BYTES; until then nothing new is begun.",
            )
        if self._was_full:
            _try_to_fill(connection)
            self._was_full = False

    def _require_log_of_changes(self) -> None:
        path, log, index = self._paths
        try:
            known = Path(index).read_bytes()[:_INDEX_HEADER]
            written = os.path.getsize(log) if os.path.exists(log) else 0
        except OSError:
            return
        if len(known) < _INDEX_HEADER or not known[12]:
            return
        size, frames = struct.unpack_from("=HI", known, 14)
        (copied,) = struct.unpack_from("=I", known, 96)
        size = 65_536 if size == 1 else size
        if frames > copied and written < _LOG_HEADER + frames * (_FRAME_HEADER + size):
            raise StoreError(
                f"The database {path} lacks what was written to it last: its log of changes ({log}) was deleted.",
                fix="Put that file back. If it is lost, run `circumspect db restored`: what was open is then held "
                "until a person has looked.",
            )


def require_room(connection: sa.Connection) -> None:
    """Before something new is begun. Of a server's disk that server knows."""
    files: LastingFiles | None = connection.info.get(_KEY)
    if files is not None:
        files.require_room(connection)


def _try_to_fill(connection: sa.Connection) -> None:
    """Raises what SQLite says when it is full; otherwise nothing of it is kept."""
    connection.exec_driver_sql("SAVEPOINT room")
    connection.exec_driver_sql("CREATE TABLE room_tried (filler BLOB)")
    connection.exec_driver_sql(f"INSERT INTO room_tried VALUES (zeroblob({TRIED_BYTES}))")  # noqa: S608
    connection.exec_driver_sql("ROLLBACK TO room")
    connection.exec_driver_sql("RELEASE room")


def _identify(path: str) -> FileIdentity:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
