"""The values that a user's words give for a tool: text and schema -> parameter to values, as they were written.

Only what a schema tells beyond doubt is read: an e-mail address, what has the schema's pattern, one of its choices, an
id, and where something should go. All else is the model's to read, and a value that it reads is traced by the rules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from circumspect.language.wanted import even_out, find_place, is_linking
from circumspect.language.written_values import is_measured
from circumspect.schema_bounds import is_plain_pattern
from circumspect.values import JsonObject, ToolSpec

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_ID = re.compile(r"(?<![\w@.])[A-Za-z]{0,4}-?\d{3,}[\w-]*(?![\w@])")
_ID_NAME = re.compile(r"(?:_|\b)(?:id|number|no|code|ref|reference)$")
_ANCHORS = re.compile(r"^\^|\$$")
_LONGEST, _LONGEST_CHOICES = 2_000, 2_000
_GLUED = re.compile(r"(?<!\w)([^\W\dA-Za-z_]{1,2})-(?=\d)")
"""An "and" or "to" that is written together with the number after it."""


def find_values(spec: ToolSpec, text: str, after_verb: str) -> Mapping[str, Sequence[str]]:
    """For each required parameter the values in the text, each once. More than one only where they form a list."""
    found: dict[str, Sequence[str]] = {}
    place = find_place(after_verb) if after_verb else ""
    for name in spec.properties:
        if name not in spec.required:
            continue
        if _is_place(name):
            found[name] = [place] if place else []
        else:
            found[name] = _find(name, spec.properties[name], text.replace(place, " ") if place else text)
    return found


def find_readable(spec: ToolSpec) -> frozenset[str]:
    """Required parameters whose value could be told from words: that it was not found means that it was not said."""
    return frozenset(
        name
        for name, schema in spec.properties.items()
        if name in spec.required and (_is_place(name) or _pattern(name, schema) is not None)
    )


def read_answer(spec: ToolSpec, text: str, given: JsonObject, *, replaces: bool) -> JsonObject:
    """What a short message gives for a call that lacks something, or (`replaces`) puts right in it."""
    values = find_values(spec, text, f" {text}")
    told = {name: found[0] for name, found in values.items() if len(found) == 1 and (replaces or name not in given)}
    missing = [name for name in spec.required if name not in given and name not in told]
    if not told and len(missing) == 1 and _is_place(missing[0]) and re.search(r"\d", text) and len(text.split()) > 1:
        return {missing[0]: text.strip().rstrip(".!")}
    return told


def _find(name: str, schema: JsonObject, text: str) -> list[str]:
    pattern, text = _pattern(name, schema), _GLUED.sub(r"\1 ", text)
    hits = [*pattern.finditer(text[:_LONGEST])] if pattern else []
    if pattern is _ID:
        hits = [hit for hit in hits if not is_measured(text, *hit.span())]
    values = list(dict.fromkeys(hit.group() for hit in hits))
    if len(values) < 2:
        return values
    between = [text[one.end() : two.start()] for one, two in pairwise(hits)]
    return values if all(map(is_linking, between)) else []


def _pattern(name: str, schema: JsonObject) -> re.Pattern[str] | None:
    choices = schema.get("enum")
    if isinstance(choices, Sequence) and not isinstance(choices, str):
        if sum(len(str(one)) for one in choices) > _LONGEST_CHOICES:
            return None
        return re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(str(one)) for one in choices)})(?!\w)")
    if schema.get("type") != "string":
        return None
    if schema.get("format") == "email":
        return _EMAIL
    written = schema.get("pattern")
    if isinstance(written, str) and is_plain_pattern(written) and schema.get("format") is None:
        try:
            return re.compile(rf"(?<![\w@.+-])(?:{_ANCHORS.sub('', written)})(?![\w@])")
        except re.error:
            return None
    if schema.get("format") is None and _ID_NAME.search(even_out(name)):
        return _ID
    return None


def _is_place(name: str) -> bool:
    return even_out(name).rsplit("_", 1)[-1] == "address" and "mail" not in even_out(name)
