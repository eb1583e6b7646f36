"""A big JSON document, piece by piece: the elements of its outermost array, or the members of its outermost object.

Each piece comes as the bytes it was written in, with the line it starts on; whoever asks parses it. Memory holds one
piece at a time, so a file of a gigabyte is fine as long as no single conversation in it is. Brackets outside of strings
are counted, and nothing else is looked at, so a malformed piece comes out as it is and only that piece is lost.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import IO

CHUNK = 1 << 20
_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|' + _STRING + rb")*+[\[\]{}]", re.DOTALL)
"""Everything up to and with the next bracket that is not inside a string."""
_PLAIN = re.compile(rb'[^"\[\]{},]*+')
_NAME = re.compile(_STRING, re.DOTALL)


@dataclass(frozen=True, slots=True)
class JsonPiece:
    key: str | None
    """The member's name; None in an outermost array."""
    data: bytes
    line: int


class Truncated(ValueError):
    """The document ends in the middle of something. `line` is where that something starts."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.line = line


def pieces(stream: IO[bytes], streamed: Collection[str] = ()) -> Iterator[JsonPiece]:
    """The document's pieces in order. Members named in `streamed` that hold arrays come element by element."""
    scanner = _Scanner(stream)
    opening = scanner.skip_blank()
    if opening == b"[":
        yield from scanner.elements(None)
    elif opening == b"{":
        yield from scanner.members(streamed)
    else:
        raise Truncated("the document is neither an array nor an object", scanner.line)
    if scanner.skip_blank():
        problem = "something follows the end of the document; a file of one conversation a line is named .jsonl"
        raise Truncated(problem, scanner.line)


class _Scanner:
    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.buffer = b""
        self.at = 0
        self.counted = 0
        self.line = 1
        """Of the place up to which lines were counted."""
        self.ended = False

    def _count_lines(self) -> int:
        self.line += self.buffer.count(b"\n", self.counted, self.at)
        self.counted = self.at
        return self.line

    def _more(self) -> bool:
        """Read on. What lies before `at` is dropped; chunks grow with the piece, so that none is scanned too often."""
        if self.ended:
            return False
        self._count_lines()
        kept = self.buffer[self.at :]
        chunk = self.stream.read(max(CHUNK, len(kept)))
        self.buffer, self.at, self.counted = kept + chunk, 0, 0
        self.ended = not chunk
        return bool(chunk)

    def skip_blank(self) -> bytes:
        """Move to the next sign that is not white space and return it; nothing at the end."""
        while True:
            while self.at < len(self.buffer):
                sign = self.buffer[self.at : self.at + 1]
                if not sign.isspace() and sign not in (b"\xef", b"\xbb", b"\xbf"):
                    return sign
                self.at += 1
            if not self._more():
                return b""

    def _value(self) -> tuple[bytes, int]:
        """The bytes of the value that starts here, and its line."""
        return self._read_nested() if self.buffer[self.at : self.at + 1] in (b"{", b"[") else self._scalar()

    def _read_nested(self) -> tuple[bytes, int]:
        """Up to the bracket that closes the one it starts with."""
        scanned, depth = self.at, 0
        while True:
            while token := _BRACKET.match(self.buffer, scanned):
                scanned = token.end()
                depth += 1 if self.buffer[scanned - 1] in b"{[" else -1
                if depth == 0:
                    return self._take(scanned)
            start = self.at
            if not self._more():
                raise Truncated("the document ends inside a value", self.line)
            scanned -= start

    def _scalar(self) -> tuple[bytes, int]:
        """Up to the comma or bracket that ends it."""
        while True:
            text = self.buffer[self.at : self.at + 1] == b'"'
            token = (_NAME if text else _PLAIN).match(self.buffer, self.at)
            if token and (text or token.end() < len(self.buffer)):
                return self._take(token.end())
            if not self._more():
                raise Truncated("the document ends inside a value", self.line)

    def _take(self, end: int) -> tuple[bytes, int]:
        data, line = self.buffer[self.at : end], self._count_lines()
        self.at = end
        return data.strip(), line

    def elements(self, key: str | None) -> Iterator[JsonPiece]:
        self.at += 1
        while True:
            sign = self.skip_blank()
            if sign == b"]":
                self.at += 1
                return
            if not sign:
                raise Truncated("the document ends inside an array", self.line)
            if sign == b",":
                self.at += 1
                continue
            if sign == b"}":
                raise Truncated("a bracket is closed that was never opened", self.line)
            data, line = self._value()
            yield JsonPiece(key, data, line)

    def members(self, streamed: Collection[str]) -> Iterator[JsonPiece]:
        self.at += 1
        while True:
            sign = self.skip_blank()
            if sign == b"}":
                self.at += 1
                return
            if sign == b",":
                self.at += 1
                continue
            if sign != b'"':
                raise Truncated("the document ends inside an object", self.line)
            key = self._key()
            if self.skip_blank() != b":":
                raise Truncated(f"a colon is missing after {key!r}", self.line)
            self.at += 1
            if self.skip_blank() == b"[" and key in streamed:
                yield from self.elements(key)
            else:
                data, line = self._value()
                yield JsonPiece(key, data, line)

    def _key(self) -> str:
        while True:
            token = _NAME.match(self.buffer, self.at)
            if token:
                self.at = token.end()
                return token.group()[1:-1].decode("utf-8", "replace")
            if not self._more():
                raise Truncated("the document ends inside a name", self.line)
