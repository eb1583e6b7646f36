"""A CSV file with one message a row, comma, semicolon or tab between the columns -> pieces of conversations."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator

from circumspect.audit.readers.message_rows import is_header, read_row
from circumspect.audit.readers.talk_pieces import TalkPiece
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
            yield read_row(row), rows.line_num, size
    except csv.Error as problem:
        raise Unknown(f"line {rows.line_num} is no row of a CSV file: {problem}") from None
