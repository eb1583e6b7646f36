"""The checked syntax tree of a CEL expression, read from the protobuf in which the library hands it out.

The message is `cel.expr.CheckedExpr` of https://github.com/google/cel-spec (checked.proto, syntax.proto): its field
numbers are part of the standard. Only what conditions need is read, which is less than a protobuf dependency weighs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class SyntaxNode:
    kind: Literal["const", "ident", "select", "has", "call", "loop", "other"]
    id: int
    name: str = ""
    constant: Any = None
    parts: tuple[SyntaxNode, ...] = ()
    bound: tuple[str, ...] = ()
    """Of a loop: the names it gives to all of its parts but the first, the list it goes over."""

    def walk(self) -> Iterator[SyntaxNode]:
        yield self
        for part in self.parts:
            yield from part.walk()


def tree(serialised: bytes) -> tuple[SyntaxNode, Mapping[int, str]]:
    """The root of the tree, and the type of each node by its id: int, double, dyn (known only when it runs), other."""
    wrapped = dict(_fields(serialised))
    root: SyntaxNode | None = None
    types: dict[int, str] = {}
    for number, content in _fields(wrapped[2]):
        if number == 4:
            root = _node(content)
        elif number == 3:
            entry = dict(_fields(content))
            types[entry.get(1, 0)] = _type(entry.get(2, b""))
    if root is None:
        raise ValueError("a serialised expression without a tree")
    return root, types


def read_kinds(serialised: bytes) -> Mapping[int, str]:
    """What each node gives, by its id, where that is known before it runs: text, number, truth, moment, duration, list
    or record."""
    found: dict[int, str] = {}
    for number, content in _fields(dict(_fields(serialised))[2]):
        if number == 3:
            entry = dict(_fields(content))
            if kind := _kind(entry.get(2, b"")):
                found[entry.get(1, 0)] = kind
    return found


def _kind(content: bytes) -> str:
    for number, part in _fields(content):
        match number:
            case 3:
                return {1: "truth", 2: "number", 3: "number", 4: "number", 5: "text"}.get(part, "")
            case 5:
                return {2: "moment", 3: "duration"}.get(part, "")
            case 6:
                return "list"
            case 7:
                return "record"
    return ""


def _type(content: bytes) -> str:
    fields = dict(_fields(content))
    if 1 in fields:
        return "dyn"
    return {2: "int", 3: "int", 4: "double"}.get(fields.get(3, 0), "other")


def _node(content: bytes) -> SyntaxNode:
    fields = dict(_fields(content))
    number = fields.get(2, 0)
    if 3 in fields:
        return SyntaxNode("const", number, constant=_constant(fields[3]))
    if 4 in fields:
        return SyntaxNode("ident", number, dict(_fields(fields[4]))[1].decode())
    if 5 in fields:
        select = dict(_fields(fields[5]))
        return SyntaxNode("has" if select.get(3) else "select", number, select[2].decode(), parts=(_node(select[1]),))
    if 6 in fields:
        call = list(_fields(fields[6]))
        name = next(part.decode() for key, part in call if key == 2)
        return SyntaxNode(
            "call", number, name, parts=tuple(_node(part) for key, part in sorted(call, key=_field) if key in (1, 3))
        )
    if 7 in fields:
        return SyntaxNode("other", number, parts=tuple(_node(part) for key, part in _fields(fields[7]) if key == 1))
    if 8 in fields:
        entries = [dict(_fields(part)) for key, part in _fields(fields[8]) if key == 2]
        return SyntaxNode(
            "other", number, parts=tuple(_node(one[key]) for one in entries for key in (3, 4) if key in one)
        )
    loop = dict(_fields(fields[9]))
    bound = tuple(loop[key].decode() for key in (1, 3, 8) if loop.get(key))
    return SyntaxNode(
        "loop", number, parts=tuple(_node(loop[key]) for key in (2, 4, 5, 6, 7) if key in loop), bound=bound
    )


def _field(entry: tuple[int, Any]) -> int:
    return entry[0]


def _constant(content: bytes) -> Any:
    """Keys and literals; the kinds that cannot be a key (doubles, bytes, null) are not told apart."""
    for number, part in _fields(content):
        match number:
            case 2:
                return bool(part)
            case 3:
                return part - (1 << 64) if part >> 63 else part
            case 4:
                return part
            case 6:
                return part.decode()
    return None


def _fields(content: bytes) -> Iterator[tuple[int, Any]]:
    """Protobuf's wire format: field numbers with their bytes or integers."""
    position = 0
    while position < len(content):
        key, position = _varint(content, position)
        match key & 7:
            case 0:
                part, position = _varint(content, position)
                yield key >> 3, part
                continue
            case 1:
                length = 8
            case 5:
                length = 4
            case _:
                length, position = _varint(content, position)
        yield key >> 3, content[position : position + length]
        position += length


def _varint(content: bytes, position: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        byte = content[position]
        position += 1
        found |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return found, position
