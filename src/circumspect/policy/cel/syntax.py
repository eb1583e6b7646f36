"""The syntax tree of an expression, and what is said of a text that has none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal


class ExpressionError(ValueError):
    """The text is no usable condition. Its words are for the person who wrote it."""


@dataclass(frozen=True, slots=True)
class SyntaxNode:
    """Operators are calls, by the names that CEL gives to them: `_+_`, `_[_]`, `@in`."""

    kind: Literal["const", "ident", "select", "has", "call", "loop", "list", "map"]
    id: int
    position: int
    """Where it is in the text: of an operator, its sign; of a call, the bracket."""
    name: str = ""
    constant: Any = None
    parts: tuple[SyntaxNode, ...] = ()
    """Of a call: the arguments, what it is called on first. Of a loop: what it goes over, then its body. Of a map: keys
    and values in turn."""
    bound: str = ""
    """Of a loop: the name that it gives to each element."""
    member: bool = False
    """Of a call: written behind a point."""

    def walk(self) -> Iterator[SyntaxNode]:
        yield self
        for part in self.parts:
            yield from part.walk()


def locate(source: str, position: int) -> str:
    """A place in a text, as people count."""
    before = source[:position]
    line, column = before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1
    return f"(at character {column})" if "\n" not in source else f"(line {line}, character {column})"
