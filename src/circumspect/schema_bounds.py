"""A JSON schema of anybody's -> how much work it can make, or `ConfigError` where that is too much.

A schema comes with a client's tools, from an MCP server or in a transcript: two kilobytes whose definitions double each
other make a billion checks of one value. So a schema is measured before anything walks, compiles or keeps it, in time
that grows with its length only. What it makes of one value is known then, and too large a value is not checked at all.

Definitions that contain themselves are allowed, since trees are made of them; what counts there is how often.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import zip_longest
from typing import Any

from circumspect.errors import ConfigError
from circumspect.values import Json, JsonObject

MOST_PARTS = 5_000
"""Objects, lists and values in one schema, and a text counts once for each hundred characters."""
MOST_WRITTEN_OUT = 50_000
"""The same with every reference replaced by what it refers to."""
MOST_AT_ONCE = 2_000
"""Schemas that one value at one place is held against."""
DEEPEST = 64
LONGEST_PATTERN = 2_000
MOST_PATTERN_STEPS = 5_000
"""Of all patterns together; `.{1,500}` counts as 500."""
MOST_ARGUMENTS = 5_000
"""Parts of what one call is given, each of which is traced to what was said; a text counts once for each hundred
characters."""
_MOST_CHECKS = 2_000_000
"""Parts of a value, each against what it may be held against: some 80 ms."""
_MOST_STEPS = 50_000_000
_MOST_LOOKED_BACK = 200_000
_MOST_RECURSIONS = 200_000
"""A schema that holds itself twice may be tried twice at each level of a value."""

_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies")
_OF_PARTS = ("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains", "properties",
             "patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames")  # fmt: skip
_ONE_OF_THEM = frozenset(("properties", "prefixItems"))
"""Each part of a value is held against at most one of these schemas."""
_TABLES = frozenset(("properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"))
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_KEYWORDS = frozenset((*_REFERENCES, *_IN_PLACE, *_OF_PARTS, "$defs", "definitions"))
_TOKEN = re.compile(
    r"\\[pP]\{[^{}]*\}|\\.|\[\^?\]?(?:[^\]\\]|\\.)*+(?:\]|\Z)|\(\?[^:=!<>()]*[:=!<>]|\{(\d+)(,(\d*))?\}|.", re.DOTALL
)
_BACK = re.compile(r"\\[1-9]|\\k<")
_LOOKS_BACK = re.compile(r"\(\?(?:[=!]|<[=!])|\\[1-9]|\\k<")


@dataclass(frozen=True, slots=True)
class SchemaWork:
    """What a value can cost that is held against a schema."""

    at_once: int
    recursions: int
    """How often a definition holds itself, written out once."""
    steps: int
    """Of its patterns, all together."""
    looking_back: int
    """Patterns that no linear engine can run."""

    def allows(self, value: Json) -> bool:
        """Whether the value is small enough to be held against the schema."""
        parts, letters, depth = measure_value(value)
        return (
            depth <= DEEPEST
            and parts * self.at_once <= _MOST_CHECKS
            and letters * self.steps <= _MOST_STEPS
            and letters * self.looking_back <= _MOST_LOOKED_BACK
            and (self.recursions < 2 or self.recursions**depth <= _MOST_RECURSIONS)
        )


_NO_PARTS = frozenset((int, float, bool, type(None)))


def measure_value(value: Json) -> tuple[int, int, int]:
    """Its parts, the characters in them, how deep they are nested. Stops where it is too deep anyhow."""
    if type(value) is str:
        return 1, len(value), 1
    if type(value) is dict and (letters := _count_flat(value)) is not None:
        return 1 + len(value), letters, 2 if value else 1
    parts = letters = deepest = 0
    rest: list[tuple[Any, int]] = [((value,), 0)]
    while rest and deepest <= DEEPEST:
        one, depth = rest.pop()
        depth += 1
        items = one
        if type(one) is dict or isinstance(one, Mapping):
            letters += sum(map(len, map(str, one)))
            items = one.values()
        if items and depth > deepest:
            deepest = depth
        parts += len(items)
        for item in items:
            kind = type(item)
            if kind is str:
                letters += len(item)
            elif kind in _NO_PARTS:
                continue
            elif kind is dict or kind is list:
                rest.append((item, depth))
            elif isinstance(item, str):
                letters += len(item)
            elif isinstance(item, (Mapping, list, tuple)):
                rest.append((item, depth))
    return parts, letters, deepest


def _count_flat(value: dict[str, Json]) -> int | None:
    """The characters of an object without objects and lists in it, as most arguments are; None for any other."""
    letters = 0
    for name, item in value.items():
        if type(item) is str:
            letters += len(item)
        elif type(item) not in _NO_PARTS:
            return None
        letters += len(name if type(name) is str else str(name))
    return letters


def are_too_large(arguments: JsonObject) -> bool:
    """Whether a call is given more than anybody traces."""
    parts, letters, depth = measure_value(arguments)
    return depth > DEEPEST or parts + letters // 100 > MOST_ARGUMENTS


def measure_schema(what: str, schema: JsonObject) -> SchemaWork:
    """`what` is named in the error: "The parameters of tool 'x'"."""
    parts, letters, depth = measure_value(schema)
    _hold(what, "nested too deeply", depth, DEEPEST, "levels")
    _hold(what, "too large", parts + letters // 100, MOST_PARTS, "parts")
    found = _Patterns()
    for pattern in _find_patterns(schema):
        _hold(what, "one pattern is too long", len(pattern), LONGEST_PATTERN, "characters")
        found.add(pattern)
    _hold(what, "their patterns are too large", found.steps, MOST_PATTERN_STEPS, "steps")
    reading = _Expansion(schema)
    try:
        whole = reading.measure(schema)
    except RecursionError:
        raise _refuse(what, "their references lead too far", "Write the schema out.") from None
    except _Endless as place:
        raise _refuse(what, f"{place} refers to itself and to nothing else", "Correct that reference.") from None
    except _Elsewhere as place:
        raise _refuse(what, f"they refer to another document or to nothing: {place}", "Write the schema out.") from None
    _hold(what, "too large once references are written out", whole.size, MOST_WRITTEN_OUT, "parts")
    at_once = max(whole.at_once)
    _hold(what, "one value would be checked too often", at_once, MOST_AT_ONCE, "times")
    return SchemaWork(at_once, reading.recursions, found.steps, found.looking_back)


def _hold(what: str, problem: str, found: int, limit: int, unit: str) -> None:
    if found > limit:
        raise _refuse(what, f"{problem}: more than {limit:,} {unit}", "Make the schema simpler, or split the tool.")


def _refuse(what: str, problem: str, fix: str) -> ConfigError:
    return ConfigError(f"{what} cannot be used as a JSON schema: {problem}.", fix=fix)


# --- references -----------------------------------------------------------------------------------------------------


class _Endless(Exception):
    """References that lead back with no value in between."""


class _Elsewhere(Exception):
    """A reference to nothing in this schema."""


@dataclass(frozen=True, slots=True)
class _Expanded:
    """A schema with its references written out: its parts, and the schemas for a value at each depth below it."""

    size: int
    at_once: tuple[int, ...] = (1,)
    leads_back: Mapping[int, int] = field(default_factory=dict)
    """How often it leads back to each of the schemas that it is a part of."""


def _add(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip_longest(one, other, fillvalue=0))


def _most(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(max(a, b) for a, b in zip_longest(one, other, fillvalue=0))


class _Expansion:
    def __init__(self, root: JsonObject) -> None:
        self.root = root
        self.recursions = 0
        self._known: dict[int, _Expanded] = {}
        self._open: dict[int, bool] = {}
        """Those being measured; whether a part of a value lies between them and here."""
        self._anchors = {
            name: one
            for one in _mappings(root)
            for key in ("$anchor", "$dynamicAnchor")
            if isinstance(name := one.get(key), str)
        }

    def measure(self, schema: Any) -> _Expanded:
        if not isinstance(schema, Mapping):
            return _Expanded(1)
        if (known := self._known.get(id(schema))) is not None:
            return known
        if _KEYWORDS.isdisjoint(schema):
            return _Expanded(1 + len(schema))
        if id(schema) in self._open:
            if not self._open[id(schema)]:
                raise _Endless(repr(schema.get("$ref", "a part of them"))[:80])
            return _Expanded(1, leads_back={id(schema): 1})
        self._open[id(schema)] = False
        size = 1 + len(schema)
        here: tuple[int, ...] = (1,)
        back: Counter[int] = Counter()
        for key in _REFERENCES:
            if isinstance(reference := schema.get(key), str):
                one = self.measure(self._find(reference))
                size, here = size + one.size, _add(here, one.at_once)
                back.update(one.leads_back)
        for key in _IN_PLACE:
            for part in _schemas(schema, key):
                one = self.measure(part)
                size, here = size + one.size, _add(here, one.at_once)
                back.update(one.leads_back)
        # What lies between, for all that are open: from here on, another value is looked at.
        before, self._open = self._open, dict.fromkeys(self._open, True)
        below: tuple[int, ...] = ()
        for key in _OF_PARTS:
            parts = [self.measure(part) for part in _schemas(schema, key)]
            size += sum(one.size for one in parts)
            for one in parts:
                back.update(one.leads_back)
            join = _most if key in _ONE_OF_THEM else _add
            below = _add(below, reduce(join, (one.at_once for one in parts), ()))
        self._open = before
        for key in ("$defs", "definitions"):
            for part in _schemas(schema, key):
                before, self._open = self._open, {}
                self.measure(part)
                self._open = before
        del self._open[id(schema)]
        self.recursions = max(self.recursions, back.pop(id(schema), 0))
        # Numbers stay small: what is too much already need not be known better.
        limit = 10 * MOST_WRITTEN_OUT
        at_once = tuple(min(one, limit) for one in _add(here, (0, *below[:DEEPEST])))
        found = _Expanded(min(size, limit), at_once, {one: min(times, limit) for one, times in back.items()})
        self._known[id(schema)] = found
        return found

    def _find(self, reference: str) -> Any:
        own = self.root.get("$id")
        pointer = reference.removeprefix(own) if isinstance(own, str) and own else reference
        if not pointer.startswith("#") and pointer:
            raise _Elsewhere(repr(reference)[:80])
        if pointer[1:] and not pointer.startswith("#/"):
            if pointer[1:] not in self._anchors:
                raise _Elsewhere(repr(reference)[:80])
            return self._anchors[pointer[1:]]
        found: Any = self.root
        for part in pointer[2:].split("/") if pointer[1:] else ():
            name = _unquote(part)
            if isinstance(found, Mapping) and name in found:
                found = found[name]
            elif isinstance(found, list | tuple) and name.isdecimal() and len(name) < 6 and int(name) < len(found):
                found = found[int(name)]
            else:
                raise _Elsewhere(repr(reference)[:80])
        return found


def _unquote(part: str) -> str:
    from urllib.parse import unquote

    return unquote(part).replace("~1", "/").replace("~0", "~")


def _schemas(schema: Mapping[str, Any], key: str) -> Sequence[Any]:
    """Those under a keyword: one, a list of them, or a table of them by name."""
    value = schema.get(key)
    if isinstance(value, list | tuple):
        return value
    if not isinstance(value, Mapping):
        return ()
    return tuple(value.values()) if key in _TABLES else (value,)


def _mappings(schema: Json) -> Iterator[Mapping[str, Any]]:
    rest: list[Any] = [schema]
    while rest:
        one = rest.pop()
        if isinstance(one, Mapping):
            yield one
            rest += one.values()
        elif isinstance(one, list | tuple):
            rest += one


# --- patterns -------------------------------------------------------------------------------------------------------


@dataclass
class _Patterns:
    steps: int = 0
    looking_back: int = 0
    known: set[str] = field(default_factory=set)

    def add(self, pattern: str) -> None:
        self.looking_back += bool(_LOOKS_BACK.search(pattern))
        if pattern not in self.known:
            self.known.add(pattern)
            self.steps += weigh_pattern(pattern)


def is_plain_pattern(pattern: str) -> bool:
    """Whether Python's own engine, which backtracks, can be trusted with it on a short text: nothing repeated that
    holds a repeat, and at most two repeats of an open length."""
    opened = variable = maybe = 0
    before = ""
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if text.startswith("("):
            if text not in ("(", "(?:"):
                return False
            opened += 1
        repeats = text in ("*", "+", "?") or bool(token[1])
        if repeats and before == ")":
            return False
        maybe += text == "?"
        variable += text in ("*", "+") or bool(token[2] and token[3] != token[1])
        before = text
    return opened <= 8 and variable <= 2 and maybe <= 4 and weigh_pattern(pattern) <= 200 and not _BACK.search(pattern)


def _find_patterns(schema: JsonObject) -> Iterator[str]:
    for one in _mappings(schema):
        if isinstance(pattern := one.get("pattern"), str):
            yield pattern
        if isinstance(named := one.get("patternProperties"), Mapping):
            yield from named


def weigh_pattern(pattern: str) -> int:
    """How many steps it is long once what it counts is written out: `(ab{3}){2}` is 8."""
    totals, last = [0], [0]
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if text.startswith("("):
            totals.append(0)
            last.append(0)
        elif text == ")" and len(totals) > 1:
            inside = totals.pop()
            last.pop()
            totals[-1] += inside
            last[-1] = inside
        elif token[1]:
            most = max(int(number[:6]) for number in (token[1], token[3]) if number)
            totals[-1] += last[-1] * max(most - 1, 0)
            last[-1] *= max(most, 1)
        elif text not in "*+?|^$":
            last[-1] = 30 if text[:2] in ("\\p", "\\P") else 1
            totals[-1] += last[-1]
    return sum(totals)
