"""Two values, or two calls -> are they the same, however they are written?

A model that was told no writes the same thing in another way: `sku-3` for `SKU-3`, 5.0 for 5, "77" for 77. What
grounding takes for the user's own words in one spelling, limits and repeated calls take for the same thing in all.

What may surprise: this is for holding a call, never for letting one run. A yes is bound to the exact bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from circumspect.hashing import digest
from circumspect.language.folding import fold
from circumspect.language.written_values import looks_like_id
from circumspect.values import Execution, Json, ToolCall

_EDGES = " \t.,;:!?\"'()[]<>"
_WHOLE = re.compile(r"(-?\d{1,18})(?:\.0+)?")
_DAY = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})")
_CLOCK = re.compile(r"(\d):(\d\d)(?::00)?")
_SEPARATORS = re.compile(r"[\s\-()+]")
_KEPT = re.compile(r"[.@/:]")
"""Where these stand, a separator more or less is another address, file or version."""
_SHORTEST_BARE = 6
_LARGEST_WHOLE = 2.0**53


def even_out(value: Json) -> Json:
    """The value in the one spelling in which it is compared."""
    match value:
        case bool() | None:
            return value
        case int() | float():
            return _even_number(value)
        case str():
            return _even_text(value)
        case Mapping():
            pairs = ((str(name), even_out(one)) for name, one in value.items())
            return {name: one for name, one in pairs if one not in (None, "")}
    return [even_out(one) for one in value]


def is_same(one: Json, other: Json) -> bool:
    """One thing, in two spellings at most; of a list its order says nothing."""
    return one == other or _unordered(even_out(one)) == _unordered(even_out(other))


def likeness(call: ToolCall) -> str:
    """The same for every spelling of a call."""
    known: str | None = call.__dict__.get("likeness")
    if known is None:
        known = call.__dict__["likeness"] = digest([call.tool, even_out(call.arguments)])
    return known


def is_among(call: ToolCall, ran: Iterable[Execution]) -> bool:
    """The call is one of these, however it is written."""
    return any(one.call.tool == call.tool and likeness(one.call) == likeness(call) for one in ran)


def _unordered(value: Json) -> Json:
    return sorted(map(digest, value)) if isinstance(value, list) else value


def _even_number(value: int | float) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_WHOLE:
        value = int(value)
    return str(value)


def _even_text(text: str) -> str:
    plain = fold(text).strip(_EDGES).lstrip("#@$").rstrip("/").replace("_", " ").strip()
    _, scheme, rest = plain.partition("://")
    if scheme:
        return rest
    if whole := _WHOLE.fullmatch(plain):
        return whole[1]
    if day := _DAY.fullmatch(plain):
        return f"{day[1]}-{int(day[2]):02}-{int(day[3]):02}"
    if clock := _CLOCK.fullmatch(plain):
        return f"0{clock[1]}:{clock[2]}"
    bare = _SEPARATORS.sub("", plain)
    is_id = len(bare) >= _SHORTEST_BARE and not _KEPT.search(plain) and looks_like_id(bare)
    return bare if is_id else plain
