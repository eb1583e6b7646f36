"""Tool results as grounding sees them: whole fields, and prose in which somebody may have written anything.

A result that is a JSON value has fields. A result that is text is read as JSON, YAML or a Python literal when it is
one (foreign agents print their results so); otherwise it is prose. Only scalars of a real structure are fields: a line
that merely looks like `recipient: somebody` inside a longer text stays prose, because the parser knows that it is
inside a string.

What may surprise: YAML is read as a stream of events and never built, so that aliases cannot blow it up.
"""

from __future__ import annotations

import ast
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache

import orjson

from circumspect.language.folding import fold
from circumspect.language.written_values import FoldedText
from circumspect.values import Json

FieldPath = tuple[str, ...]
_OPENS = frozenset((" ", ":", "[", ",", "\n"))
_ENDS = frozenset((",", "}", "]", " ", "\n", ""))
_NUMBERS = re.compile(r"(?:^|_|(?<=[a-z]))(?:id|number|code|sku|key)$", re.IGNORECASE)
YAML_LIMIT = 400_000
DEPTH_LIMIT = 200
FIELD_LIMIT = 400
"""A scalar longer than this is a text, whatever it is the value of."""


class IndexedResult:
    """What one tool call returned, indexed when first asked. Equal texts share one index (see `result_of`)."""

    def __init__(self, value: Json, raw: str | None = None) -> None:
        self.value = value
        self.raw = raw
        """The JSON text that `value` was read from, when there is one."""

    @cached_property
    def plain(self) -> str:
        """The text in lower case, when a field can be found in it as it is written: JSON with nothing escaped."""
        return self.raw.lower() if self.raw and self.raw.isascii() and "\\u" not in self.raw else ""

    def field(self, form: str) -> str:
        """The name of the field that holds exactly this (folded) value; "" when none does.

        Looked for in the text first: most results are never indexed at all.
        """
        if text := self.plain:
            at = text.find(f'"{form}"')
            while at >= 0:
                if text[at - 1 : at] != "\\":
                    return _name_before(text, at)
                at = text.find(f'"{form}"', at + 1)
            if '"' not in form and "\\" not in form:
                return _number_field(text, form)
        path = self.fields.get(form)
        return "" if path is None else ".".join(path) or "(result)"

    def marks(self, key: str) -> Mapping[str, frozenset[str]]:
        """For each of the records that this key is one of, the words by which a person would call it."""
        known = self._marks.get(key)
        if known is None:
            records = self.choices.get(key, {})
            known = {name: _marks(record) for name, record in records.items()}
            self._marks.update(dict.fromkeys(records, known))
        return known

    @cached_property
    def _marks(self) -> dict[str, Mapping[str, frozenset[str]]]:
        return {}

    @property
    def is_structured_text(self) -> bool:
        """It was read from a JSON text, in which fields can be found as they are written."""
        return bool(self.plain)

    def holds(self, text: str) -> bool:
        """False when the text (in lower case) is certainly nowhere in it."""
        return not self.plain or text in self.plain

    @cached_property
    def leaves(self) -> tuple[tuple[FieldPath, str], ...]:
        """Every scalar of the structure with the path to it; nothing when the result is plain prose."""
        if isinstance(self.value, str):
            return tuple(_read(self.value))
        return tuple(_walk(self.value, ()))

    @cached_property
    def fields(self) -> Mapping[str, FieldPath]:
        """Folded scalar (or key of a mapping) to where it stands. The first of equals wins."""
        found: dict[str, FieldPath] = {}
        keys: dict[FieldPath, None] = {}
        for path, text in self.leaves:
            if len(text) <= FIELD_LIMIT:
                found.setdefault(fold(text), path)
            keys[path] = None
        for path in keys:
            for depth, part in enumerate(path):
                found.setdefault(fold(part), path[: depth + 1])
        return found

    @cached_property
    def reading(self) -> FoldedText:
        """Everything in the result as one text: a value may be a fragment of it."""
        if isinstance(self.value, str):
            return FoldedText(self.value)
        if self.raw:
            return FoldedText(self.raw)
        return FoldedText("\n".join((*(" ".join(path) + ": " + text for path, text in self.leaves),)))

    @cached_property
    def prose(self) -> tuple[str, ...]:
        """The texts in it that are long enough to tell somebody to do something."""
        if self.leaves:
            return tuple(text for _, text in self.leaves if text.count(" ") >= 3)
        return (self.value,) if isinstance(self.value, str) and self.value else ()

    @cached_property
    def choices(self) -> Mapping[str, Mapping[str, Mapping[str, Json]]]:
        """Key of a record to all the records that it is one of: `{"card_1": {"card_1": {...}, "card_2": {...}}}`."""
        found: dict[str, Mapping[str, Mapping[str, Json]]] = {}
        _gather(self.tree, found, 0)
        return found

    @cached_property
    def listed(self) -> Mapping[str, Mapping[str, Mapping[str, Json]]]:
        """The same for records in a list, by any field that numbers them: `[{"item_id": "1"}, {"item_id": "2"}]`."""
        found: dict[str, Mapping[str, Mapping[str, Json]]] = {}
        for records in self.parts:
            for name in {name for record in records for name in record if _NUMBERS.search(name)}:
                numbered = {str(record[name]): record for record in records if isinstance(record.get(name), str | int)}
                for key in numbered:
                    found.setdefault(key, numbered)
        return found

    @cached_property
    def parts(self) -> tuple[Sequence[Mapping[str, Json]], ...]:
        """Every list of records in it."""
        return tuple(_lists(self.tree, 0))

    @cached_property
    def tree(self) -> Json:
        """The structure, also of a result that is the text of one."""
        read: Json = self.value
        if isinstance(self.value, str) and self.value.lstrip()[:1] in ("{", "["):
            with suppress(orjson.JSONDecodeError):
                read = orjson.loads(self.value)
        return read

    @cached_property
    def lines(self) -> frozenset[str]:
        """Plain text by lines, and by what follows a label: how trusted tools print a list."""
        if not isinstance(self.value, str) or self.leaves:
            return frozenset()
        found = {fold(line.strip(" -*•\t")) for line in self.value.splitlines()}
        found |= {fold(line.split(":", 1)[1]) for line in self.value.splitlines() if ":" in line}
        return frozenset(line for line in found if line)


_indexed: OrderedDict[int, IndexedResult] = OrderedDict()
KEPT = 512


@lru_cache(maxsize=KEPT)
def _make_indexed_result(text: str) -> IndexedResult:
    return IndexedResult(text)


def result_of(value: Json, raw: str | None = None) -> IndexedResult:
    """The index of a result. What comes again with each proposal of a conversation is indexed once.

    A structure is known by its identity: the index holds on to it, so the identity stays its own.
    """
    if type(value) is str:
        return _make_indexed_result(value) if len(value) <= 65_536 else IndexedResult(value)
    known = _indexed.get(id(value))
    if known is None or known.value is not value:
        known = _indexed[id(value)] = IndexedResult(value, raw)
        if len(_indexed) > KEPT:
            _indexed.popitem(last=False)
    return known


def _number_field(text: str, form: str) -> str:
    """The name of the field that holds this number, true, false or null, in a JSON text."""
    at = text.find(form)
    while at >= 0:
        if text[at - 1 : at] in _OPENS and text[at + len(form) : at + len(form) + 1] in _ENDS:
            return _name_before(text, at)
        at = text.find(form, at + 1)
    return ""


def _name_before(text: str, at: int) -> str:
    """The last name before a place in a JSON text: the field itself, or the list it is in."""
    colon = text.rfind('":', 0, at)
    return text[text.rfind('"', 0, colon) + 1 : colon] if colon > 0 else "(result)"


def _walk(value: Json, path: FieldPath, depth: int = 0) -> Iterator[tuple[FieldPath, str]]:
    if depth > DEPTH_LIMIT:
        return
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, bool):
        yield path, "true" if value else "false"
    elif isinstance(value, int | float):
        yield path, _format_number(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _walk(item, (*path, str(key)), depth + 1)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _walk(item, path, depth + 1)


def _gather(value: Json, found: dict[str, Mapping[str, Mapping[str, Json]]], depth: int) -> None:
    if depth > 8 or isinstance(value, str):
        return
    if isinstance(value, Mapping):
        records = {key: item for key, item in value.items() if isinstance(item, Mapping)}
        for key in records:
            found.setdefault(key, records)
        for item in value.values():
            if isinstance(item, dict | list):
                _gather(item, found, depth + 1)
    elif isinstance(value, Sequence):
        for item in value:
            if isinstance(item, dict | list):
                _gather(item, found, depth + 1)


def _lists(value: Json, depth: int) -> Iterator[list[Mapping[str, Json]]]:
    if depth > 8 or isinstance(value, str):
        return
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _lists(item, depth + 1)
    elif isinstance(value, Sequence):
        records = [item for item in value if isinstance(item, Mapping)]
        if records:
            yield records
        for item in records:
            yield from _lists(item, depth + 1)


def _marks(record: Mapping[str, Json]) -> frozenset[str]:
    """Its short values, without the id itself: gift card, visa, 8484."""
    return frozenset(
        fold(value).replace("_", " ")
        for name, value in record.items()
        if isinstance(value, str) and name not in ("id", "key") and not name.endswith("_id") and 3 <= len(value) <= 20
    )


def _format_number(value: int | float) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _read(text: str) -> Iterator[tuple[FieldPath, str]]:
    start = text.lstrip()[:1]
    if start and start in '{["':
        try:
            yield from _walk(orjson.loads(text), ())
            return
        except orjson.JSONDecodeError:
            pass
        try:
            yield from _walk(ast.literal_eval(text) if len(text) <= YAML_LIMIT else None, ())
            return
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            pass
    elif text.isascii() and text.strip().isdigit():
        yield (), text.strip()
        return
    if len(text) <= YAML_LIMIT:
        yield from _read_yaml(text)


def _read_yaml(text: str) -> Iterator[tuple[FieldPath, str]]:
    """Scalars of a block or flow collection. A text that is one scalar, or no YAML, has no fields."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: list[tuple[FieldPath, str]] = []
    stack: list[list[object]] = []  # for a mapping: ["map", path, key or None]; for a sequence: ["seq", path]
    try:
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                kind = "map" if isinstance(event, yaml.MappingStartEvent) else "seq"
                stack.append([kind, _place(stack), None])
                if len(stack) > DEPTH_LIMIT:
                    return
            elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                stack.pop()
                _value_done(stack)
            elif isinstance(event, yaml.ScalarEvent):
                if not stack:
                    return
                top = stack[-1]
                if top[0] == "map" and top[2] is None:
                    top[2] = event.value
                else:
                    found.append((_place(stack), event.value))
                    _value_done(stack)
            elif isinstance(event, yaml.AliasEvent):
                _value_done(stack)
    except (yaml.YAMLError, ValueError):
        return
    yield from found


def _place(stack: list[list[object]]) -> FieldPath:
    if not stack:
        return ()
    _, path, key = stack[-1]
    base = path if isinstance(path, tuple) else ()
    return (*base, key) if isinstance(key, str) else base


def _value_done(stack: list[list[object]]) -> None:
    if stack and stack[-1][0] == "map":
        stack[-1][2] = None
