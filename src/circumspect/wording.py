"""Calls in words: how a proposed action is named to a person. Values are shown on one line, shortened, never read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import orjson

from circumspect.language import catalogue
from circumspect.values import Json, Language, ToolCall, ToolSpec

UNSPOKEN = "x-unspoken"
"""Marks a parameter in a tool's schema whose value means nothing to a person."""
WHOLE = "x-whole"
"""Marks one whose value is never shortened: a person decides by it."""
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_LONGEST = 200


def action(call: ToolCall, spec: ToolSpec | None, language: Language, phrase: Mapping[str, str] | None = None) -> str:
    """The call as a phrase that names every argument: "cancel order 12345 (reason: too late)"."""
    template = (phrase or {}).get(language) or (spec.phrases.get(language) if spec else None) or _humanise(call.tool)
    said = set(_PLACEHOLDER.findall(template)) & call.arguments.keys()
    text = _PLACEHOLDER.sub(lambda hit: render_value(call.arguments[hit[1]]) if hit[1] in said else "", template)
    rest = [
        f"{label(name, language)}: {render_value(value, None if _is_marked(spec, name, WHOLE) else _LONGEST)}"
        for name, value in call.arguments.items()
        if name not in said and value not in (None, "", [], {}) and not _is_marked(spec, name, UNSPOKEN)
    ]
    return _tidy_spaces(text) + (f" ({', '.join(rest)})" if rest else "")


def _is_marked(spec: ToolSpec | None, parameter: str, mark: str) -> bool:
    return spec is not None and bool(spec.properties.get(parameter, {}).get(mark))


def title(tool: str, spec: ToolSpec | None, language: Language, phrase: Mapping[str, str] | None = None) -> str:
    """What the tool does, with no arguments: "cancel order"."""
    template = (phrase or {}).get(language) or (spec.phrases.get(language) if spec else None) or _humanise(tool)
    return _tidy_spaces(_PLACEHOLDER.sub("", template))


def label(parameter: str, language: Language) -> str:
    key = f"field-{parameter.replace('_', '-').lower()}"
    return catalogue.say(language, key) if catalogue.has(language, key) else parameter.replace("_", " ")


def render_value(value: Json, most: int | None = _LONGEST) -> str:
    text = " ".join((value if isinstance(value, str) else compact(value)).split())
    return text if most is None or len(text) <= most else text[: most - 1] + "…"


def compact(value: object) -> str:
    """JSON on one line; also for what orjson will not write (integers beyond 64 bits, lone surrogates)."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, default=str)


def _humanise(tool: str) -> str:
    return re.sub(r"[_\-.]+|(?<=[a-z])(?=[A-Z])", " ", tool).strip().lower()


def _tidy_spaces(text: str) -> str:
    return " ".join(text.split()).replace(" ,", ",").replace("( )", "").replace("()", "").strip()
