"""Is a reply data that a program will read? The model's text -> its words, a value a line; None where it is prose.

Data are JSON (an object, a list, or one of these a line), YAML, and `name: value` lines, with or without a fence around
them. What may surprise: one heading before a sentence ("Status: I have cancelled it.") makes no data, and neither do
several names that people would read: then the values have to be short.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import orjson

_LONGEST = 200_000
_FENCE = re.compile(r"\s*```[\w+-]*[ \t]*\n(.*?)\n?```\s*", re.DOTALL)
_NAMED = re.compile(r"(?P<indent>[ \t]*)(?:- )?(?P<name>\"?[^\W\d][\w .()/-]{0,40}\"?):(?:[ \t]+(?P<value>\S.*))?")
_FOR_PROGRAMS = re.compile(r"\"?[a-z_][\w.-]*\"?")
_ITEM = re.compile(r"[ \t]*- (?P<value>\S.*)")
_MARK = re.compile(r"---|\.\.\.|[ \t]*#.*")
_BLOCK = re.compile(r"[|>][+-]?\d?")
_SHORT = 6
"""So many words of a value are no sentence."""
_BEGINS = re.compile(r"\s*(?:[{\[]|```|---|(?:- )?\"?[A-Za-z_][\w.-]*\"?:(?:\s|\Z))")


def read_reply_data(reply: str) -> str | None:
    if not reply or len(reply) > _LONGEST:
        return None
    fenced = _FENCE.fullmatch(reply)
    text = (fenced[1] if fenced else reply).strip()
    found = _read_json(text)
    if found is None:
        found = _read_named_lines(text)
    return None if found is None else "\n".join(found)


def begins_as_data(text: str) -> bool:
    """The first words of a reply may be the beginning of data."""
    return _BEGINS.match(text) is not None


def _read_json(text: str) -> list[str] | None:
    if text[:1] not in ("{", "["):
        return None
    try:
        return list(_list_words(orjson.loads(text)))
    except orjson.JSONDecodeError:
        pass
    words: list[str] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        try:
            one = orjson.loads(line)
        except orjson.JSONDecodeError:
            return None
        if not isinstance(one, dict | list):
            return None
        words += _list_words(one)
    return words


def _list_words(data: object) -> Iterator[str]:
    left = [data]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict | list):
            left += reversed([*(one.values() if isinstance(one, dict) else one)])


def _read_named_lines(text: str) -> list[str] | None:
    """Of YAML or of names with their values: every line has to be part of it."""
    names, values, block = list[str](), list[str](), -1
    lines = [line for line in text.splitlines() if line.strip()]
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if 0 <= block < indent:
            values.append(line.strip())
            continue
        block = -1
        if named := _NAMED.fullmatch(line):
            names.append(named["name"])
            value = named["value"] or ""
            if _BLOCK.fullmatch(value):
                block = indent
            elif value:
                values.append(value.strip("\"'"))
        elif item := _ITEM.fullmatch(line):
            values.append(item["value"].strip("\"'"))
        elif not _MARK.fullmatch(line):
            return None
    return values if _is_for_programs(lines, names, values) else None


def _is_for_programs(lines: Sequence[str], names: Sequence[str], values: Sequence[str]) -> bool:
    if not names or len(lines) < 2 or not (_NAMED.fullmatch(lines[0]) or _MARK.fullmatch(lines[0])):
        return False
    if all(map(_FOR_PROGRAMS.fullmatch, names)):
        return True
    return len(names) > 1 and all(len(one.split()) <= _SHORT and one[-1] not in ".!?" for one in values)
