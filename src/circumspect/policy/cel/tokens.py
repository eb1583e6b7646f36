"""Text -> tokens: names, signs, and literals with the value they stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from circumspect.policy.cel.syntax import ExpressionError, locate

LONGEST_INT = 2**63
_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n\f]+|//[^\n]*)
  | (?P<double>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
  | (?P<int>0x[0-9a-fA-F]+|\d+)(?P<unsigned>[uU])?
  | (?P<prefix>[rRbB]{0,2})(?P<quote>\"\"\"|'''|"|')
  | (?P<name>[A-Za-z_]\w*)
  | (?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])
    """,
    re.VERBOSE | re.ASCII,
)
_ESCAPE = re.compile(
    r"\\(?:(?P<plain>[abfnrtv\\?'\"`])|[xX](?P<hex>[0-9a-fA-F]{2})|u(?P<four>[0-9a-fA-F]{4})"
    r"|U(?P<eight>[0-9a-fA-F]{8})|(?P<octal>[0-3][0-7]{2})|(?P<other>.|$))",
    re.DOTALL,
)
_PLAIN = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CONSTANTS = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class SourceToken:
    kind: str
    """`name`, `literal`, `sign` or `end`."""
    text: str
    position: int
    value: Any = None


def split_tokens(source: str) -> Iterator[SourceToken]:
    """The tokens of a text, the last of which is its end. Raises `ExpressionError`."""
    position = 0
    while position < len(source):
        found = _TOKEN.match(source, position)
        if found is None:
            hint = {"=": "; write ==", "&": "; write &&", "|": "; write ||"}.get(source[position], "")
            raise _syntax_error(source, position, f"'{source[position]}' has no meaning here{hint}")
        if found["quote"]:
            value, end = _read_text(source, found)
            yield SourceToken("literal", source[position:end], position, value)
            position = end
            continue
        text = found[0]
        if found["unsigned"]:
            raise ExpressionError(f"numbers without a sign ({text}) are not used here; write {found['int']}")
        if found["double"]:
            yield SourceToken("literal", text, position, float(text))
        elif found["int"]:
            yield SourceToken("literal", text, position, int(text, 16 if text.startswith("0x") else 10))
        elif found["name"]:
            kind = "literal" if text in _CONSTANTS else "sign" if text == "in" else "name"
            yield SourceToken(kind, text, position, _CONSTANTS.get(text))
        elif found["sign"]:
            yield SourceToken("sign", text, position)
        position = found.end()
    yield SourceToken("end", "", len(source))


def _syntax_error(source: str, position: int, problem: str) -> ExpressionError:
    return ExpressionError(f"Syntax error: {problem} {locate(source, position)}")


def _read_text(source: str, opened: re.Match[str]) -> tuple[str, int]:
    """What stands between quotes, and where it ends."""
    start, quote, prefix = opened.end(), opened["quote"], opened["prefix"].lower()
    if "b" in prefix:
        raise ExpressionError(f"bytes ({prefix}{quote}…) are not used here; write a text")
    inside = "(?:.*?)" if prefix else r"(?:\\.|[^\\])*?"
    closed = re.compile(f"({inside}){quote}", re.DOTALL).match(source, start)
    if closed is None or (len(quote) == 1 and re.search(r"[\r\n]", closed[1])) or prefix == "rr":
        raise _syntax_error(source, opened.start(), "this text does not end")
    return closed[1] if prefix else _unescape(source, closed[1], start), closed.end()


def _unescape(source: str, text: str, start: int) -> str:
    def replace(found: re.Match[str]) -> str:
        if found["plain"]:
            return _PLAIN.get(found["plain"], found["plain"])
        digits = found["hex"] or found["four"] or found["eight"]
        code = int(digits, 16) if digits else int(found["octal"], 8) if found["octal"] else -1
        if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            hint = "; a backslash itself is written twice" if found["other"] else ""
            raise _syntax_error(source, start + found.start(), f"'{found[0]}' stands for no character{hint}")
        return chr(code)

    return _ESCAPE.sub(replace, text)
