"""Text and JSON as providers really send them, made safe: strings that can be encoded, objects that are objects.

In: text from a model or for one. Out: the same text with lone surrogates replaced; a JSON object, or `Unreadable`.

The one choice that may surprise: nothing is repaired here. The arguments of a call that cannot be read exactly, or that
can be read in two ways (the same key twice), are not arguments. A code fence around them changes nothing about what
they say, so it is taken off.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from circumspect.values import Json

_FENCE = re.compile(r"\A\s*```[A-Za-z]*[ \t]*(?:\r?\n|(?=\{))")
_DEEPEST = 100


class Unreadable(ValueError):
    """It is not the JSON it should be. The message says why, and never quotes the text."""


def clean(text: str) -> str:
    """The text with surrogate pairs joined and lone halves replaced, so that it can be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean_json(value: Json, depth: int = 0) -> Json:
    """The value with every string in it, keys included, cleaned. Raises `Unreadable` for what is no JSON value."""
    if depth > _DEEPEST:
        raise Unreadable("it is nested too deeply")
    match value:
        case str():
            return clean(value)
        case float() if not math.isfinite(value):
            raise Unreadable(f"{value} is not a JSON value")
        case Mapping():
            return {clean(key): clean_json(item, depth + 1) for key, item in value.items()}
        case Sequence():
            return [clean_json(item, depth + 1) for item in value]
    return value


def read_object(text: str) -> dict[str, Json]:
    """One JSON object and nothing else but a code fence around it. Raises `Unreadable`."""
    try:
        value = json.loads(strip_fence(text), object_pairs_hook=_no_key_twice)
    except Unreadable:
        raise
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None
    except ValueError:
        raise Unreadable("it is not valid JSON") from None
    if not isinstance(value, dict):
        raise Unreadable("it is not a JSON object")
    return {clean(key): clean_json(item) for key, item in value.items()}


def require(value: Any, kind: type) -> Any:
    """The value, if it is of that kind. Raises `TypeError`: an answer of another shape is garbled."""
    if not isinstance(value, kind):
        raise TypeError(f"{type(value).__name__} is no {kind.__name__}")
    return value


def compact(value: Json) -> str:
    """JSON on one line, with letters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_standard)


def strip_fence(text: str) -> str:
    """The inside of a reply that is one code fence; any other text as it is."""
    opening, rest = _FENCE.match(text), text.rstrip()
    if opening is None or not rest.endswith("```") or len(rest) < opening.end() + 3:
        return text
    return rest[opening.end() : -3].rstrip(" \t").removesuffix("\n")


def _no_key_twice(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Unreadable("it has the same key twice")
    return found


def _standard(value: object) -> dict[str, Json] | list[Json]:
    match value:
        case Mapping():
            return dict(value)
        case Sequence():
            return list(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")
