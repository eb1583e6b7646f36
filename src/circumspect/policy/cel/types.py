"""The types of CEL that a condition knows, and whether a value of one can stand where another is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class CelType:
    name: str
    of: tuple[CelType, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.of))})" if self.of else self.name


BOOL, INT, DOUBLE, STRING = CelType("bool"), CelType("int"), CelType("double"), CelType("string")
NULL, TIMESTAMP, DURATION = CelType("null_type"), CelType("timestamp"), CelType("duration")
TYPE = CelType("type")
DYN = CelType("dyn")
"""Known only when the condition runs, as everything that comes from a conversation."""
FREE = CelType("free")
"""What is in an empty list: whatever the other side wants."""
A, B = CelType("A"), CelType("B")
"""In signatures: any type, the same wherever the letter stands."""

TypeBindings: TypeAlias = dict[str, CelType]


def list_of(element: CelType) -> CelType:
    return CelType("list", (element,))


def map_of(key: CelType, value: CelType) -> CelType:
    return CelType("map", (key, value))


def find_constant_type(value: Any) -> CelType:
    return {bool: BOOL, int: INT, float: DOUBLE, str: STRING}.get(type(value), NULL)


def fits(given: CelType, wanted: CelType, bindings: TypeBindings) -> bool:
    """May the one stand where the other is wanted? Letters are bound on the way, to the more general of two types."""
    if wanted in (A, B):
        before = bindings.get(wanted.name)
        if before is None or (is_more_general(given, before) and fits(before, given, {})):
            bindings[wanted.name] = given
            return True
        return fits(given, before, bindings)
    if given == wanted or DYN in (given, wanted) or FREE in (given, wanted):
        return True
    if NULL in (given, wanted):
        return given in (TIMESTAMP, DURATION) or wanted in (TIMESTAMP, DURATION)
    same = given.name == wanted.name and len(given.of) == len(wanted.of)
    return same and all(fits(one, other, bindings) for one, other in zip(given.of, wanted.of, strict=True))


def is_more_general(one: CelType, other: CelType) -> bool:
    if one == other:
        return False
    if one == DYN or other == FREE:
        return True
    if other in (DYN, NULL) or one == FREE:
        return other == NULL and one in (TIMESTAMP, DURATION)
    pairs = [pair for pair in zip(one.of, other.of, strict=False) if pair[0] != pair[1]]
    return one.name == other.name and bool(pairs) and all(is_more_general(*pair) for pair in pairs)


def substitute(wanted: CelType, bindings: TypeBindings) -> CelType:
    """A type of a signature, with its letters replaced."""
    if wanted in (A, B):
        return bindings.get(wanted.name, DYN)
    return CelType(wanted.name, tuple(substitute(part, bindings) for part in wanted.of)) if wanted.of else wanted


def settle(found: CelType) -> CelType:
    """What nobody ever wanted to be anything in particular may be anything."""
    if found == FREE:
        return DYN
    return CelType(found.name, tuple(settle(part) for part in found.of)) if found.of else found
