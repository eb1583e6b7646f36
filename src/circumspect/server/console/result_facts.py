"""What a tool brought, as a person reads it: JSON in, named facts out.

A record's fields are named by the tool, in the reader's language where our catalogue has the word; an amount beside a
currency is money; a list of records is a table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from babel.core import get_global

from circumspect.values import Json
from circumspect.wording import label

MOST_FACTS = 40
MOST_ROWS = 8
MOST_COLUMNS = 6
LONGEST_TEXT = 20_000
"""Of a text that may be JSON, in characters: a longer one is shown as it is."""


@dataclass(frozen=True, slots=True)
class KnownFact:
    name: str
    value: Json
    currency: str = ""
    """Of an amount of money."""
    rows: tuple[tuple[KnownFact | None, ...], ...] = ()
    """Of a list of records: one for each, with the same columns; None where a record says nothing of one."""
    columns: tuple[str, ...] = ()
    more: int = 0
    """How many records are beyond those rows."""
    parts: tuple[KnownFact, ...] = ()
    """Of a record within a record."""
    words: tuple[str, ...] = ()
    """Of a list of plain values."""


def list_facts(result: Json, language: str, most: int = MOST_FACTS) -> tuple[KnownFact, ...]:
    """The fields of a record that have something in them; of anything else, the whole. A currency whose amounts say it
    needs no line of its own."""
    result = _read_text(result)
    if not isinstance(result, Mapping):
        return () if result in (None, "", [], {}) else (_describe("", result, "", language, deep=True),)
    return _list_fields(result, language, deep=True)[:most]


def _list_fields(record: Mapping[str, Json], language: str, *, deep: bool) -> tuple[KnownFact, ...]:
    currency = _find_currency(record)
    filled = [(name, value) for name, value in record.items() if value not in (None, "", [], {})]
    facts = [(name, _describe(name, value, currency, language, deep=deep)) for name, value in filled]
    told = any(one.currency for _, one in facts)
    return tuple(one for name, one in facts if not (told and name.lower() in _CURRENCIES))


def _describe(name: str, value: Json, currency: str, language: str, *, deep: bool) -> KnownFact:
    named = label(name, language) if name else ""
    if _is_money(name, value) and currency:
        return KnownFact(named, value, currency)
    if isinstance(value, Mapping):
        return KnownFact(named, value, parts=_list_fields(value, language, deep=False) if deep else ())
    if isinstance(value, Sequence) and not isinstance(value, str):
        if deep and (records := [one for one in value if isinstance(one, Mapping)]) and len(records) == len(value):
            return _make_table(named, value, records, language)
        if not any(isinstance(one, Mapping | list) for one in value):
            return KnownFact(named, value, words=tuple(one if isinstance(one, str) else _write(one) for one in value))
    return KnownFact(named, value)


def _make_table(name: str, value: Json, records: Sequence[Mapping[str, Json]], language: str) -> KnownFact:
    """No table where a record has a record within, or more fields than a line has room for."""
    listed = [{one.name: one for one in _list_fields(record, language, deep=False)} for record in records[:MOST_ROWS]]
    columns = tuple(dict.fromkeys(name for fields in listed for name in fields))
    nested = any(
        isinstance(one.value, Mapping | list) and not one.words for fields in listed for one in fields.values()
    )
    if nested or not columns or len(columns) > MOST_COLUMNS:
        return KnownFact(name, value)
    rows = tuple(tuple(fields.get(column) for column in columns) for fields in listed)
    return KnownFact(name, value, rows=rows, columns=columns, more=max(0, len(records) - MOST_ROWS))


def _read_text(result: Json) -> Json:
    """Tools of servers bring text, and what is in it is often JSON."""
    if not isinstance(result, str) or len(result) > LONGEST_TEXT or not result.lstrip().startswith(("{", "[")):
        return result
    try:
        read: Json = json.loads(result)
    except (ValueError, RecursionError):
        return result
    return read


def _write(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


_CURRENCIES = ("currency", "currency_code")
_AMOUNTS = {
    "amount", "balance", "cost", "discount", "due", "fee", "paid", "price", "refunded", "remaining", "sum", "tax",
    "total",
}  # fmt: skip


def _find_currency(record: Mapping[str, Json]) -> str:
    said = next((value for name, value in record.items() if name.lower() in _CURRENCIES), None)
    return said if isinstance(said, str) and said in get_global("all_currencies") else ""


def _is_money(name: str, value: Json) -> bool:
    """By the words of its name: a number of pieces stands beside a currency, too."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return bool(_AMOUNTS.intersection(name.lower().replace("-", "_").split("_")))
