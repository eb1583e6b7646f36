"""An answer as text that came over the wire -> its JSON values: server-sent events, JSON lines, lists of either.

Proxies keep bodies as they pass: whole, in the chunks in which they came, a JSON text in a JSON text, or as Python
prints bytes.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from circumspect.audit.readers.talk_pieces import open_json

_FIELD = re.compile(r"\s*(?:data|event|id|retry)?:")
_DATA = re.compile(r"(?:^|\s)data:\s*")
_END = "[DONE]"
_MOST_PRINTED = 1 << 20
_decoder = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class WirePieces:
    """`ended`: the stream said that this was all. `broken`: a piece is cut off."""

    pieces: list[Any]
    ended: bool = False
    broken: bool = False


def unwrap_text(value: Any) -> Any:
    """What a text stands for that holds a JSON document, or another text, or bytes as Python prints them."""
    for _ in range(3):
        if not isinstance(value, str):
            return value
        text = value.strip()
        if text[:1] == '"' and text[-1:] == '"':
            value = _parse(text, value)
        elif text[:2] in ("b'", 'b"') and len(text) <= _MOST_PRINTED:
            value = _read_printed_bytes(text)
        else:
            return open_json(value)
    return value


def _parse(text: str, otherwise: Any) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return otherwise


def _read_printed_bytes(text: str) -> Any:
    try:
        value = ast.literal_eval(text)
        return open_json(value.decode("utf-8")) if isinstance(value, bytes) else value
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return open_json(text[2:-1])


def find_pieces(body: Any) -> WirePieces | None:
    """The pieces that a stream came in; None where the body is none."""
    if isinstance(body, str):
        return _read_events(body) if is_stream(body) else _read_json_lines(body)
    if not isinstance(body, list) or not body:
        return None
    if all(isinstance(one, str | bytes) for one in body):
        return _read_texts([one.decode("utf-8", "replace") if isinstance(one, bytes) else one for one in body])
    if any(isinstance(one, Mapping) and _holds_data(one) for one in body):
        return _read_wrapped(body)
    return WirePieces(body)


def is_stream(text: str) -> bool:
    """Server-sent events, also where their beginning was cut off."""
    start = _FIELD.match(text)
    return bool(start and _DATA.search(text)) or re.search(r"\ndata:\s*[{\[]", text) is not None


def _read_events(text: str) -> WirePieces:
    pieces: list[Any] = []
    ended = broken = False
    place = 0
    while found := _DATA.search(text, place):
        place = found.end()
        if text.startswith(_END, place):
            ended = True
        elif text[place : place + 1] in ("{", "["):
            try:
                value, place = _decoder.raw_decode(text, place)
            except (ValueError, RecursionError):
                broken = True
            else:
                pieces.append(value)
    return WirePieces(pieces, ended, broken)


def _read_json_lines(text: str) -> WirePieces | None:
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2 or not all(line.lstrip()[:1] == "{" for line in lines):
        return None
    values = [open_json(line) for line in lines]
    read = [one for one in values if not isinstance(one, str)]
    return WirePieces(read, broken=len(read) < len(values)) if read else None


def _read_texts(texts: Sequence[str]) -> WirePieces | None:
    """Lines of a stream, or chunks that may end anywhere."""
    written = [one for one in texts if one.strip()]
    if written and all(one.lstrip()[:1] == "{" or one.strip() == _END for one in written):
        values = [open_json(one) for one in written]
        read = [one for one in values if not isinstance(one, str)]
        if len(read) == len(values) - (_END in map(str.strip, written)):
            return WirePieces(read, ended=len(read) < len(values))
    are_lines = all(_FIELD.match(one) for one in written) and not any("\n" in one for one in written)
    whole = ("\n" if are_lines else "").join(texts)
    return _read_events(whole) if is_stream(whole) else _read_json_lines(whole)


def _holds_data(one: Mapping[str, Any]) -> bool:
    return "data" in one and one.keys() <= {"data", "event", "id", "retry", "type", "comment"}


def _read_wrapped(body: Sequence[Any]) -> WirePieces:
    """`{"event": "…", "data": …}`, as clients for server-sent events give them."""
    given = [one["data"] for one in body if isinstance(one, Mapping) and _holds_data(one)]
    values = [open_json(one) for one in given]
    read = [one for one in values if not isinstance(one, str)]
    ended = any(isinstance(one, str) and one.strip() == _END for one in values)
    return WirePieces(read, ended, broken=any(isinstance(one, str) and one.strip()[:1] == "{" for one in values))
