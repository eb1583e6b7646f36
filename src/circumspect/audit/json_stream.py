"""A big JSON document, piece by piece: the elements of its outermost array, or the members of its outermost object.

Each piece comes as the bytes it was written in, with the line it starts on; whoever asks parses it. Memory holds one
piece at a time, so a file of a gigabyte is fine as long as no single conversation in it is. Brackets outside of strings
are counted, and nothing else is looked at, so a malformed piece comes out as it is and only that piece is lost. (A
streaming parser such as ijson stops at the first error and knows no lines.)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import IO

CHUNK = 1 << 20
_TEXT = rb'"(?:[^"\\]++|\\.)*+"'
_SEPARATOR = re.compile(rb'(?:[^"\[\]{},:]++|' + _TEXT + rb")*+([\[\]{},:])", re.DOTALL)
_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|' + _TEXT + rb")*+[\[\]{}]", re.DOTALL)
"""Each matches everything up to and with the next such sign that is not inside a string."""


@dataclass(frozen=True, slots=True)
class JsonPiece:
    key: str | None
    """The member's name; None in an outermost array."""
    data: bytes
    line: int
    is_element: bool = True
    """One of an array, and not all that a member holds."""


class Truncated(ValueError):
    """The document ends in the middle of something. `line` is where that something starts."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.line = line


def pieces(stream: IO[bytes], streamed: Collection[str] = ()) -> Iterator[JsonPiece]:
    """The document's pieces in order. Members named in `streamed` that hold arrays come element by element."""
    scanner = _Scanner(stream)
    opening = scanner.find()
    if opening not in (b"[", b"{") or scanner.take()[0]:
        raise Truncated("the document is neither an array nor an object", scanner.line)
    yield from scanner.members(streamed) if opening == b"{" else scanner.elements(None)
    if scanner.find() or scanner.take()[0]:
        problem = "something follows the end of the document; a file of one conversation a line is named .jsonl"
        raise Truncated(problem, scanner.line)


class _Scanner:
    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.buffer = b""
        self.start = 0
        """Of the piece that is being read."""
        self.at = 0
        self.line = 1
        """Of `start`."""
        self.sign = b""
        """The one that `find` stopped behind."""

    def find(self) -> bytes:
        """Move behind the next bracket, comma or colon and return it; nothing at the end of the document."""
        while not (found := _SEPARATOR.match(self.buffer, self.at)):
            if not self._read_on():
                self.at, self.sign = len(self.buffer), b""
                return self.sign
        self.at, self.sign = found.end(), found[1]
        return self.sign

    def _read_on(self) -> bool:
        """Whether there was more. What lies before the piece is dropped; chunks grow with it: none is scanned often."""
        kept = self.buffer[self.start :]
        chunk = self.stream.read(max(CHUNK, len(kept)))
        self.buffer, self.at, self.start = kept + chunk, self.at - self.start, 0
        return bool(chunk)

    def take(self) -> tuple[bytes, int]:
        """What stands between the piece's start and the sign, and its line. The next piece starts behind the sign."""
        written = self.buffer[self.start : self.at - len(self.sign)]
        text = written.lstrip()
        line = self.line + written.count(b"\n", 0, len(written) - len(text))
        self.line += written.count(b"\n")
        self.start = self.at
        return text.rstrip(), line

    def elements(self, key: str | None) -> Iterator[JsonPiece]:
        while self._finish(self.find()) in (b",", b"]"):
            yield from self._take_piece(key, is_element=True)
            if self.sign == b"]":
                return
        raise Truncated("the document ends inside an array", self.line)

    def members(self, streamed: Collection[str]) -> Iterator[JsonPiece]:
        while self.find() == b":":
            key = self.take()[0].strip(b'"').decode("utf-8", "replace")
            if self.find() == b"[" and key in streamed:
                self.take()
                yield from self.elements(key)
                self.find()
            if self._finish(self.sign) not in (b",", b"}"):
                raise Truncated("the document ends inside an object", self.line)
            yield from self._take_piece(key, is_element=False)
            if self.sign == b"}":
                return
        if self.take()[0] or self.sign != b"}":
            raise Truncated("the document ends inside an object, or a colon is missing", self.line)

    def _take_piece(self, key: str | None, *, is_element: bool) -> Iterator[JsonPiece]:
        data, line = self.take()
        if data:
            yield JsonPiece(key, data, line, is_element)

    def _finish(self, sign: bytes) -> bytes:
        """Move behind the comma or closing bracket that ends the piece and return it; nothing at the end."""
        while sign and sign in b"[{:":
            depth = int(sign != b":")
            while depth:
                if found := _BRACKET.match(self.buffer, self.at):
                    self.at = found.end()
                    depth += 1 if self.buffer[self.at - 1] in b"{[" else -1
                elif not self._read_on():
                    raise Truncated("the document ends inside a value", self.line)
            sign = self.find()
        return sign
