"""What the policy editor completes with and what it calls its buttons."""

from __future__ import annotations

from collections.abc import Mapping

from circumspect.policy.load import schema
from circumspect.server.console.i18n import Translator
from circumspect.server.console.known_sentences import translate_sentence
from circumspect.values import Json, ToolSpec

_PHRASES = (
    "Find", "Replace", "next", "previous", "all", "match case", "regexp", "by word", "replace", "replace all", "close",
    "Completions", "Diagnostics", "No diagnostics", "Go to line", "go", "Fold line", "Unfold line", "folded code",
    "current match", "on line", "replaced $ matches", "replaced match on line $",
)  # fmt: skip
"""CodeMirror's own words; ours for them are `editor-…`."""


def translate_phrases(words: Translator) -> dict[str, str]:
    return {phrase: words.t(_name(phrase)) for phrase in _PHRASES}


def list_words(specs: Mapping[str, ToolSpec], words: Translator) -> dict[str, Json]:
    """The file's schema, and the tools with their parameters."""
    tools: dict[str, Json] = {}
    for name, spec in sorted(specs.items()):
        properties = spec.parameters.get("properties")
        tools[name] = list(properties) if isinstance(properties, Mapping) else []
    return {"schema": _translate_descriptions(schema(), words), "tools": tools}


def _translate_descriptions(part: Json, words: Translator) -> Json:
    if isinstance(part, list):
        return [_translate_descriptions(one, words) for one in part]
    if not isinstance(part, Mapping):
        return part
    return {name: _translate_description(name, inner, words) for name, inner in part.items()}


def _translate_description(name: str, inner: Json, words: Translator) -> Json:
    if name == "description" and isinstance(inner, str):
        return translate_sentence(" ".join(inner.split()), "lint", words).text
    return _translate_descriptions(inner, words)


def _name(phrase: str) -> str:
    return "editor-" + "-".join(phrase.lower().replace("$", "").split())
