"""Hashes that never change: of a JSON value exactly as it is, and of names as a share from 0 to 1."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring as _quote
from operator import itemgetter

_KEY = itemgetter(0)
_CONSTANTS = {True: "true", False: "false", None: "null"}


def digest(value: object) -> str:
    """SHA-256 over canonical JSON (RFC 8785): key order does not matter, types and everything else do.

    RFC 8785 writes 1 and 1.0 alike and cannot write integers beyond 2**53; to a tool they are different values,
    so numbers are tagged with their type.
    """
    return hashlib.sha256(_write(value).encode()).hexdigest()


def _write(value: object) -> str:
    if type(value) is dict and (keys := "".join(value)).isascii() and "\0" not in keys:
        return _write_plain(value)
    match value:
        case str():
            return _quote(value) if value.isascii() or _is_text(value) else _tag("str", ascii(value))
        case bool() | None:
            return _CONSTANTS[value]
        case int() | float():
            return _tag(type(value).__name__, repr(value))
        case dict() | Mapping():
            items = [(_escape_key(key), _write(item)) for key, item in value.items()]
            if len(items) > 1:
                items.sort(key=_place_of_key)
            return "{" + ",".join([f"{_quote(key)}:{item}" for key, item in items]) + "}"
        case list() | Sequence():
            return "[" + ",".join([_write(item) for item in value]) + "]"
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def _write_plain(value: dict[str, object]) -> str:
    """An object under names that sort alike in every encoding and look like no type tag; nearly all are such."""
    items = [
        f"{_quote(key)}:{_quote(item) if type(item) is str and item.isascii() else _write(item)}"
        for key, item in (sorted(value.items(), key=_KEY) if len(value) > 1 else value.items())
    ]
    return "{" + ",".join(items) + "}"


def _tag(kind: str, value: str) -> str:
    return f'{{"\\u0000{kind}":{_quote(value)}}}'


def _is_text(value: str) -> bool:
    """False for a lone surrogate, which JSON can carry and UTF-8 cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _escape_key(key: object) -> str:
    """No real key may look like a type tag."""
    if not isinstance(key, str):
        raise TypeError("JSON object keys are strings")
    key = key if key.isascii() or _is_text(key) else "\0str" + ascii(key)
    return "\0" + key if key.startswith("\0") else key


def _place_of_key(entry: tuple[str, str]) -> bytes:
    """RFC 8785 sorts keys as JavaScript does, by UTF-16."""
    return entry[0].encode("utf-16-be")


def stable_share(*names: str) -> float:
    """0 to 1, always the same for the same names: how arms of a roll-out are drawn."""
    return int.from_bytes(hashlib.sha256("/".join(names).encode()).digest()[:8], "big") / 2.0**64
