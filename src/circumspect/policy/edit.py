"""A policy's text and a change -> the text with that change and everything else as it was, comments included.

    put(text, ("tools", "refund", "confirm"), "four_eyes")
    add(text, ("tools", "refund", "when"), {"if": "args.amount > 50", "then": "four_eyes", "because": "Large."})

What is not there yet is made, in the style of what surrounds it: `key: value` lines, or an entry of `{…}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import yaml

from circumspect.policy.keys.findings import Place
from circumspect.values import Json

_PLAIN = re.compile(r"[A-Za-z_][\w./-]*( [\w./-]+)*")
_WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))


def put(text: str, place: Place, value: Json | Mapping[str, Json]) -> str:
    """The value at this place, in place of what is there."""
    whole, found, rest = _descend(text, place)
    if whole is None:
        return f"{text.rstrip()}\n{_name(rest[0])}: {_flow(_nest(rest[1:], value))}\n".lstrip()
    if not rest:
        begin, end = found.start_mark.index, found.end_mark.index
        kept = text[begin:end]
        tail = kept[len(kept.rstrip()) :]
        return text[:begin] + _flow(value) + (tail if isinstance(found, yaml.CollectionNode) else "") + text[end:]
    return _insert(text, found, rest, value)


def add(text: str, place: Place, item: Json | Mapping[str, Json]) -> str:
    """One more item at the head of the list at this place."""
    whole, found, rest = _descend(text, place)
    if whole is None or rest or not isinstance(found, yaml.SequenceNode):
        return put(text, place, [item])
    at = found.start_mark.index
    if found.flow_style:
        return f"{text[: at + 1]}{_flow(item)}{', ' if found.value else ''}{text[at + 1 :]}"
    return f"{text[:at]}- {_flow(item)}\n{' ' * found.start_mark.column}{text[at:]}"


def rename(text: str, place: Place, name: str, value: Json) -> str:
    """Another key with another value in place of this one."""
    _, section, rest = _descend(text, place[:-1])
    assert not rest, place
    key, old = next(pair for pair in section.value if pair[0].value == place[-1])
    return text[: key.start_mark.index] + f"{name}: {_flow(value)}" + text[old.end_mark.index :]


def _descend(text: str, place: Place) -> tuple[yaml.Node | None, Any, Place]:
    """The document, the innermost node on the way to the place, and what is missing from there."""
    loader = yaml.CSafeLoader(text)
    try:
        whole: Any = loader.get_single_node()
    finally:
        loader.dispose()
    if not isinstance(whole, yaml.MappingNode):
        return None, None, place
    found: Any = whole
    for depth, step in enumerate(place):
        if isinstance(found, yaml.SequenceNode) and isinstance(step, int) and step < len(found.value):
            found = found.value[step]
            continue
        pairs = found.value if isinstance(found, yaml.MappingNode) else ()
        inner = next((value for key, value in pairs if key.value == step), None)
        if inner is None:
            return whole, found, place[depth:]
        found = inner
    return whole, found, ()


def _insert(text: str, section: Any, rest: Place, value: Any) -> str:
    begin, end = section.start_mark.index, section.end_mark.index
    if not isinstance(section, yaml.MappingNode):
        # A key without anything below it.
        return f"{text[:begin].rstrip(' ')} {_flow(_nest(rest, value))}{text[end:]}"
    if section.flow_style:
        inner = f"{_name(rest[0])}: {_flow(_nest(rest[1:], value))}"
        return f"{text[: begin + 1]}{inner}{', ' if section.value else ''}{text[begin + 1 :]}"
    column = section.start_mark.column
    return f"{text[:begin]}{_name(rest[0])}: {_flow(_nest(rest[1:], value))}\n{' ' * column}{text[begin:]}"


def _nest(rest: Place, value: Any) -> Any:
    for step in reversed(rest):
        value = {step: value}
    return value


def _name(step: object) -> str:
    return _flow(str(step))


def _flow(value: Any) -> str:
    """On one line, quoted where YAML would read it otherwise."""
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS
        return value if plain else "".join(map(_spell, json.dumps(value, ensure_ascii=False)))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_name(key)}: {_flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(one) for one in value) + "]"
    return json.dumps(value)


def _spell(letter: str) -> str:
    """What YAML does not take as it is, by its number."""
    if letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"
