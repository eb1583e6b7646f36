"""Parts of a file of transcripts: a path -> stretches of whole lines, each of which can be read by itself.

Only files with a conversation a line fall into parts. Anything else (one JSON document, UTF-16, logs and traces whose
records belong together) is one piece, for which there are none.

What may surprise: a packed file falls into parts of what is in it, and everyone who reads some of them unpacks all that
lies before. That is a small part of the work, as long as each takes its parts in their order.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import orjson

from circumspect.audit.file_streams import LINE_LIMIT, is_lines, open_stream
from circumspect.audit.json_stream import pieces
from circumspect.audit.readers.record_formats import PLAIN, find_reader
from circumspect.audit.tool_defs import Toolbox
from circumspect.audit.transcript_files import STREAMED, Transcript, TranscriptProblem, read_lines
from circumspect.errors import ConfigError

PART = 1 << 20


@dataclass(frozen=True, slots=True)
class FilePart:
    start: int
    end: int
    """In bytes of what is unpacked, at the beginning of a line or the end of the file."""
    line: int
    """The number of its first line."""


def is_joined(path: Path, format_name: str | None = None) -> bool:
    """Whether conversations of a file may be put together from many records, so that it is read as a whole."""
    if format_name is not None:
        return format_name != PLAIN
    try:
        with open_stream(path) as stream:
            record = _read_first(stream, lines=is_lines(path))
    except (ValueError, EOFError, OSError, zlib.error):
        return True
    return isinstance(record, Mapping) and find_reader(record, lines=is_lines(path)) is not None


def _read_first(stream: IO[bytes], *, lines: bool) -> Any:
    if lines:
        return orjson.loads(stream.readline(LINE_LIMIT).removeprefix(b"\xef\xbb\xbf"))
    return next((orjson.loads(one.data) for one in pieces(stream, STREAMED) if one.is_element), None)


def parts(path: Path, size: int = PART, format_name: str | None = None) -> Sequence[FilePart]:
    """Parts of at least so many bytes; none for a file that does not fall into any, or is no larger than one."""
    if not is_lines(path) or is_joined(path, format_name):
        return []
    try:
        with open_stream(path) as stream:
            found = _list_parts(stream, size)
    except (EOFError, OSError, zlib.error):
        # A packed file that is damaged is left to the reader of whole files, which says so.
        return []
    return found if len(found) > 1 else []


def _list_parts(stream: IO[bytes], size: int) -> Sequence[FilePart]:
    found: list[FilePart] = []
    mark = stream.read(3)
    if mark[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return found
    start = stream.seek(3 if mark == b"\xef\xbb\xbf" else 0)
    line = 1
    while data := stream.read(size):
        rest = b"" if data.endswith(b"\n") else stream.readline(LINE_LIMIT)
        # A line that is too long is left to the reader of whole files, too.
        if len(data) + len(rest) >= LINE_LIMIT:
            return []
        end = start + len(data) + len(rest)
        found.append(FilePart(start, end, line))
        start, line = end, line + data.count(b"\n") + rest.count(b"\n")
    return found


class PartReader:
    """Reads parts of files, one after the other. The file of the last one stays open."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox
        self._path: Path | None = None
        self._stream: IO[bytes] = io.BytesIO()

    def read(self, path: Path, part: FilePart) -> Iterator[Transcript | TranscriptProblem]:
        """The conversations of a part, as reading the whole file gives them."""
        try:
            if path != self._path:
                self.close()
                self._stream, self._path = open_stream(path), path
            self._stream.seek(part.start)
            data = self._stream.read(part.end - part.start)
        except OSError as problem:
            raise ConfigError(
                f"Cannot read {path}: {problem.strerror or problem}.",
                fix="It must be there for everyone who works on it.",
            ) from None
        lines = enumerate(io.BytesIO(data), part.line)
        return read_lines(lines, path.name, folder=path.parent, toolbox=self._toolbox)

    def close(self) -> None:
        self._stream.close()
        self._path = None
