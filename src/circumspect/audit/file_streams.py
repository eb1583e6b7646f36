"""Files of transcripts as streams of bytes: unpacked, and looked at without being used up."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, cast

import orjson

from circumspect.errors import ConfigError

LINE_LIMIT = 1 << 28
UNPACKED = 1 << 18


_SUFFIXES = frozenset((".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".log", ".gz"))


def find_files(paths: Iterable[Path]) -> list[Path]:
    """The files among these, and those below the folders among these, by name."""
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        inside = sorted(one for one in path.rglob("*") if one.suffix.lower() in _SUFFIXES and one.is_file())
        if not inside:
            raise ConfigError(
                f"There are no transcripts in {path}.", fix="Give a folder of .json, .jsonl or .csv files."
            )
        found += inside
    return found


def open_stream(path: Path) -> IO[bytes]:
    stream = path.open("rb")
    # Looked at and not read: a pipe cannot go back to its beginning.
    if stream.peek(2)[:2] == b"\x1f\x8b":
        stream.close()
        # A line at a time out of a large buffer: the module's own is refilled several times a line.
        return io.BufferedReader(cast("io.RawIOBase", gzip.open(path, "rb")), UNPACKED)
    return stream


def is_lines(path: Path) -> bool:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    return not suffixes or suffixes[-1] != ".json"


def starts_with_a_line(start: bytes) -> bool:
    """The first line is a JSON value of its own: conversations by lines, whatever the file is called."""
    line, newline, more = start.partition(b"\n")
    if not newline or not more.strip():
        return False
    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return False


class PeekedStream:
    """A stream with some bytes put back in front."""

    def __init__(self, start: bytes, stream: IO[bytes]) -> None:
        self.start = start
        self.stream = stream
        self.seen = bool(start.strip())

    def text_lines(self) -> Iterator[str]:
        while line := self.readline(LINE_LIMIT):
            yield line.decode("utf-8", "replace")

    def read(self, size: int) -> bytes:
        start, self.start = self.start, b""
        return start + self.stream.read(max(0, size - len(start)))

    def readline(self, limit: int) -> bytes:
        start, self.start = self.start, b""
        if (end := start.find(b"\n")) >= 0:
            self.start = start[end + 1 :]
            return start[: end + 1]
        return start + self.stream.readline(limit)
