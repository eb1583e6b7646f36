"""`matches(pattern)`: RE2's syntax -> a matcher whose time is linear in the text, whoever wrote the text.

Python's own `re` backtracks. The JSON schema library that we use anyway brings Rust's `regex`, a sister of RE2: a
pattern is read here piece by piece, everything that could mean different things to the two is written out or refused,
and what is left is given to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

import jsonschema_rs

from circumspect.policy.cel.syntax import ExpressionError
from circumspect.policy.cel.values import CelError

_LARGEST: Final = 2_000_000
_CLASSES: Final = {
    "d": "0-9",
    "D": r"\x00-/:-\x{10ffff}",
    "w": "0-9A-Za-z_",
    "W": r"\x00-/:-@\x5b-\x5e\x60\x7b-\x{10ffff}",
    "s": r"\t\n\x0c\r ",
    "S": r"\x00-\x08\x0b\x0e-\x1f!-\x{10ffff}",
}
_POSIX: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "space": r"\t\n\x0b\x0c\r ",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_PIECE: Final = re.compile(
    r"""(?P<class>\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\])
      | (?P<group>\((?:\?(?:P?<\w+>|[ims]*(?:-[ims]+)?:|[ims]+\)))?)
      | (?P<repeat>(?:[*+?]|\{\d+(?:,\d*)?\})\??)
      | (?P<plain>[|).^$])
      | (?P<escape>\\(?:x\{[0-9a-fA-F]{1,6}\}|x[0-9a-fA-F]{2}|[pP](?:[A-Z]|\{\^?[A-Za-z_]+\})|.))
      | (?P<literal>[^\\\[(*+?{|).^$])""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_CONTROLS: Final = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Callable[[str], bool]:
    """Does a text contain a match? Raises `ExpressionError` for a pattern that cannot be used."""
    rewritten = "".join(_rewrite(pattern))
    limits = jsonschema_rs.RegexOptions(size_limit=_LARGEST, dfa_size_limit=_LARGEST)
    try:
        return jsonschema_rs.validator_for({"pattern": rewritten}, pattern_options=limits).is_valid
    except (ValueError, jsonschema_rs.ValidationError):
        raise ExpressionError(f"'{pattern}' is no pattern that matches() can use") from None


def match_pattern(text: str, pattern: str) -> bool:
    try:
        return compile_pattern(pattern)(text)
    except UnicodeEncodeError:
        raise CelError("half a character in a text") from None


def _rewrite(pattern: str) -> Iterator[str]:
    position, repeatable = 0, False
    while position < len(pattern):
        found = _PIECE.match(pattern, position)
        if found is None:
            raise ExpressionError(
                f"'{pattern[position:]}' in a pattern cannot be used; \\ before a sign takes it as it is"
            )
        position, piece = found.end(), found[0]
        if found["repeat"] and (not repeatable or any(int(number) > 1000 for number in re.findall(r"\d+", piece))):
            raise ExpressionError(f"'{piece}' in a pattern repeats nothing, or too often")
        repeatable = not found["repeat"] and piece != "|" and not (found["group"] and not piece.endswith(")"))
        if found["class"]:
            yield _rewrite_class(piece)
        elif found["escape"]:
            yield _rewrite_escape(piece)
        elif found["literal"]:
            yield _spell(ord(piece))
        elif found["group"]:
            yield "(?:" if "<" in piece else piece
        else:
            yield piece


def _rewrite_escape(piece: str) -> str:
    kind = piece[1]
    if kind in _CLASSES:
        return f"(?-i:[{_CLASSES[kind]}])"
    if kind == "b":
        return r"(?-u:\b)"
    if kind in "Az":
        return piece
    if kind in "pP":
        return piece
    return _spell(_read_code(piece))


def _rewrite_class(piece: str) -> str:
    negated = piece.startswith("[^")
    inside = piece[2 if negated else 1 : -1]
    parts = re.findall(
        r"\[:\w+:\]|\\[dDwWsS]|\\[pP](?:[A-Z]|\{\^?[A-Za-z_]+\})"
        r"|(?:\\x\{[0-9a-fA-F]{1,6}\}|\\x[0-9a-fA-F]{2}|\\.|[^\\])(?:-(?:\\x\{[0-9a-fA-F]{1,6}\}|\\x[0-9a-fA-F]{2}|\\.|[^\\\]]))?",
        inside,
        re.DOTALL,
    )
    return f"[{'^' if negated else ''}{''.join(map(_rewrite_part, parts))}]"


def _rewrite_part(part: str) -> str:
    if part.startswith("[:") and len(part) > 3:
        if part[2:-2] not in _POSIX:
            raise ExpressionError(f"'{part}' in a pattern cannot be used")
        return _POSIX[part[2:-2]]
    if part[0] == "\\" and part[1] in _CLASSES:
        return _CLASSES[part[1]]
    if part[0] == "\\" and part[1] in "pP":
        return part
    ends = re.findall(r"\\x\{[0-9a-fA-F]+\}|\\x[0-9a-fA-F]{2}|\\.|.", part, re.DOTALL)
    if len(ends) == 3:
        if ends[2][0] == "\\" and ends[2][1] in _CLASSES:
            raise ExpressionError(f"'{part}' in a pattern is no range")
        first, last = _read_code(ends[0]), _read_code(ends[2])
        if first > last:
            raise ExpressionError(f"'{part}' in a pattern is no range")
        return f"{_spell(first)}-{_spell(last)}"
    return "".join(_spell(_read_code(end)) for end in ends)


def _read_code(piece: str) -> int:
    """The character that a literal or an escape stands for."""
    if piece[0] != "\\" or len(piece) == 1:
        return ord(piece)
    if piece[1] == "x":
        return int(piece[2:].strip("{}"), 16)
    if piece[1] in _CONTROLS:
        return _CONTROLS[piece[1]]
    if piece[1].isalnum() or not piece[1].isascii():
        raise ExpressionError(f"'{piece}' in a pattern cannot be used")
    return ord(piece[1])


def _spell(code: int) -> str:
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ExpressionError("a pattern names a character that does not exist")
    character = chr(code)
    return character if character.isalnum() or character == " " else f"\\x{{{code:x}}}"
