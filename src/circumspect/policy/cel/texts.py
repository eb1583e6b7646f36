"""Texts: CEL's string functions, by code points."""

from __future__ import annotations

import math
import re
import string
from typing import Any

from circumspect.policy.cel.moments import render_duration, render_moment
from circumspect.policy.cel.values import TYPE_NAMES, CelDuration, CelError, CelMoment, name_type

_LONGEST = 20_000_000
"""Characters of a text that a function makes; a stranger's list of texts could make more."""
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_UPPER = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_CLAUSE = re.compile(r"%(?:%|(?:\.(\d+))?([sdfebxXo]))|%.?", re.ASCII | re.DOTALL)
_MOST_DIGITS = 1000


def lower(text: str) -> str:
    return text.translate(_LOWER)


def upper(text: str) -> str:
    return text.translate(_UPPER)


def trim(text: str) -> str:
    return text.strip(_SPACE)


def reverse(text: str) -> str:
    return text[::-1]


def find_character(text: str, position: int) -> str:
    _check_position(text, position)
    return text[position : position + 1]


def cut(text: str, start: int) -> str:
    _check_position(text, start)
    return text[start:]


def cut_between(text: str, start: int, end: int) -> str:
    _check_position(text, start)
    _check_position(text, end)
    if end < start:
        raise CelError("a part of a text ends before it starts")
    return text[start:end]


def find_from(text: str, wanted: str, start: int) -> int:
    _check_position(text, start)
    return text.find(wanted, start)


def find_last_from(text: str, wanted: str, start: int) -> int:
    """The last that starts there or before."""
    _check_position(text, start)
    return text.rfind(wanted, 0, start + len(wanted))


def _check_position(text: str, position: int) -> None:
    if not 0 <= position <= len(text):
        raise CelError("a position outside of the text")


def split(text: str, separator: str) -> list[str]:
    return split_limited(text, separator, -1)


def split_limited(text: str, separator: str, limit: int) -> list[str]:
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if limit < 0 or limit >= len(text):
        return list(text) or [""]
    return [*text[: limit - 1], text[limit - 1 :]]


def replace(text: str, old: str, new: str) -> str:
    return replace_limited(text, old, new, -1)


def replace_limited(text: str, old: str, new: str, limit: int) -> str:
    count = text.count(old)
    _check_length(len(text) + (count if limit < 0 else min(count, limit)) * len(new))
    return text.replace(old, new, max(limit, -1))


def join(texts: list[Any]) -> str:
    return join_with(texts, "")


def join_with(texts: list[Any], separator: str) -> str:
    if any(type(one) is not str for one in texts):
        raise CelError("join() takes texts")
    _check_length(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def _check_length(length: int) -> None:
    if length > _LONGEST:
        raise CelError("a text becomes too long")


def mention(texts: list[Any], words: str) -> bool:
    """Ours: `user.mentions(words)`, in whatever case."""
    if any(type(one) is not str for one in texts):
        raise CelError("mentions() takes texts")
    wanted = words.casefold()
    return any(wanted in text.casefold() for text in texts)


# --- format() ---------------------------------------------------------------------------------------------------------


def format_values(template: str, values: list[Any]) -> str:
    left = iter(values)

    def fill(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        clause = found[2]
        if not clause or int(found[1] or 0) > _MOST_DIGITS:
            raise CelError("format() has %s, %d, %f, %e, %b, %x, %X and %o")
        try:
            value = next(left)
        except StopIteration:
            raise CelError("format() has more places than values") from None
        return _format_value(clause, value, 6 if found[1] is None else int(found[1]))

    return _CLAUSE.sub(fill, template)


def _format_value(clause: str, value: Any, digits: int) -> str:
    kind = type(value)
    if clause == "s":
        return _render(value)
    if clause == "d" and kind is int:
        return str(value)
    if clause in "dfe" and (kind is float or (kind is int and clause != "d")):
        digits = 6 if clause == "d" else digits
        return _render_special(value) or (f"{value:.{digits}e}" if clause == "e" else f"{value:.{digits}f}")
    if clause in "fe" and value in ("NaN", "Infinity", "-Infinity"):
        return str(value)
    if clause in "bxXo" and kind is int:
        return format(value, clause)
    if clause == "b" and kind is bool:
        return "1" if value else "0"
    if clause in "xX" and kind is str:
        code = value.encode("utf-8", "surrogatepass").hex()
        return str(code.upper() if clause == "X" else code)
    raise CelError(f"format() cannot write {name_type(value)} as %{clause}")


def _render_special(number: float) -> str:
    if number != number:
        return "NaN"
    return ("Infinity" if number > 0 else "-Infinity") if math.isinf(number) else ""


def _render(value: Any) -> str:
    """A value of any type, as `%s` writes it."""
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is bool or value is None:
        return "null" if value is None else "true" if value else "false"
    if kind is float:
        return _render_special(value) or f"{value:g}"
    if kind is CelMoment:
        return re.sub(r"(\.\d{0,9}?)0{1,9}Z", r"\1Z", render_moment(value))
    if kind is CelDuration:
        return render_duration(value)
    if kind is list:
        return f"[{', '.join(map(_render, value))}]"
    if kind is dict:
        items = sorted(((_render(key), item) for key, item in value.items()), key=lambda pair: pair[0])
        return f"{{{', '.join(f'{key}: {_render(item)}' for key, item in items)}}}"
    return TYPE_NAMES[value] if kind is type else str(value)
