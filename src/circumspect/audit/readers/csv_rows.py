"""A CSV file with one message a row, comma, semicolon or tab between the columns -> pieces of conversations.

A table of traces, as Langfuse exports one, has a record of its own format in each row.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping

from circumspect.audit.readers.langfuse_export import LANGFUSE
from circumspect.audit.readers.message_rows import is_export, is_header, read_row
from circumspect.audit.readers.talk_pieces import TalkPiece, open_json
from circumspect.audit.transcript_steps import Unknown

FIELD_LIMIT = 1 << 24


def find_delimiter(line: str) -> str:
    """What stands between the columns of a header; nothing when the line is no header that we know."""
    try:
        return next((sign for sign in ",;\t" if is_header(next(csv.reader([line], delimiter=sign), []))), "")
    except csv.Error:
        return ""


def read_rows(lines: Iterable[str], delimiter: str) -> Iterator[tuple[TalkPiece, int, int]]:
    """Each row as a piece, with its line and its size."""
    csv.field_size_limit(FIELD_LIMIT)
    rows = csv.DictReader(lines, delimiter=delimiter)
    try:
        for row in rows:
            size = sum(len(value) for value in row.values() if isinstance(value, str))
            for piece in _read(row):
                yield piece, rows.line_num, size
    except csv.Error as problem:
        raise Unknown(f"line {rows.line_num} is no row of a CSV file: {problem}") from None


def _read(row: Mapping[str, str]) -> Iterator[TalkPiece]:
    if not is_export(row):
        yield read_row(row)
        return
    record = {key.strip(): open_json(value) for key, value in row.items() if isinstance(key, str) and value}
    yield from LANGFUSE.read(record)
