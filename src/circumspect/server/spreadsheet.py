"""Rows in, CSV out that a spreadsheet shows and never runs. The only place that writes CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a formula begins with, also in the wide forms that East Asian keyboards write."""


def write_csv(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    out = io.StringIO()
    table = csv.DictWriter(out, columns, lineterminator="\r\n")
    table.writeheader()
    table.writerows({name: make_inert(value) for name, value in row.items()} for row in rows)
    return out.getvalue()


def make_inert(value: object) -> object:
    """A text that a spreadsheet would take for a formula is marked as text; numbers stay numbers."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_SIGNS) else value
