"""A tool's result in words. It is data from outside: shown on one line, shortened, never obeyed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from circumspect.demo.offline.lexicon import is_written_in, say, words
from circumspect.demo.offline.request_view import OfferedTool, pieces
from circumspect.demo.offline.tool_names import describe_completion, name_words
from circumspect.values import Json, Language

DENIED = "DENIED:"
FAILED = "ERROR:"
_LONGEST = 600
_FIELDS = 8
_ITEMS = 5
_TEXTS = ("message", "answer", "text", "summary", "detail", "details")
_FLAGS = ("success", "ok", "succeeded")


def make_quotable(text: str) -> str:
    """On one line, shortened, and without angle brackets: nothing that is quoted can pass for a self-assessment."""
    flat = " ".join(text.split()).replace("<", "‹").replace(">", "›")
    return flat if len(flat) <= _LONGEST else flat[: _LONGEST - 1] + "…"


def phrase_result(text: str, tool: OfferedTool, language: Language) -> str:
    """One or two sentences about what a call brought. A question in it is quoted, so that nobody takes it for ours."""
    told = _describe_result(text, tool, language)
    return say(language, "quote_foreign", quote=told) if "?" in told and not told.endswith(("”", "“", "»")) else told


def _describe_result(text: str, tool: OfferedTool, language: Language) -> str:
    if text.startswith(FAILED):
        return _report_failure(text.removeprefix(FAILED), language)
    try:
        result: Json = json.loads(text)
    except ValueError:
        result = text
    if isinstance(result, Mapping):
        return _of_fields(result, tool, language)
    if result is None or result == [] or result == "":
        return say(language, "nothing") if tool.is_read else describe_completion(tool, language)
    if isinstance(result, str):
        return _report_text(result, tool, language)
    facts = _value(result, language)
    return say(language, "found", facts=facts) if tool.is_read else _report_done(tool, facts, language)


def _of_fields(result: Mapping[str, Json], tool: OfferedTool, language: Language) -> str:
    problem = result.get("error")
    if problem or any(result.get(flag) is False for flag in _FLAGS):
        told = problem if isinstance(problem, str) else next((result[key] for key in _TEXTS if result.get(key)), "")
        return _report_failure(str(told or ""), language)
    said = next((value for key in _TEXTS if isinstance(value := result.get(key), str) and value), "")
    if said and is_written_in(said, language):
        return make_quotable(said)
    facts = _fields(result, language)
    if not facts:
        return _report_text(said, tool, language) if said else say(language, "nothing" if tool.is_read else "done")
    return say(language, "found", facts=facts) if tool.is_read else _report_done(tool, facts, language)


def _report_text(text: str, tool: OfferedTool, language: Language) -> str:
    plain = make_quotable(text)
    if is_written_in(plain, language):
        return plain
    quote = say(language, "quote_foreign", quote=plain)
    return quote if tool.is_read else f"{describe_completion(tool, language)} {quote}"


def _report_done(tool: OfferedTool, facts: str, language: Language) -> str:
    return say(language, "done_facts", done=describe_completion(tool, language), facts=facts[0].upper() + facts[1:])


def _report_failure(problem: str, language: Language) -> str:
    plain = make_quotable(problem)
    return say(language, "failed", problem=plain) if plain else say(language, "failed_plain")


def _fields(fields: Mapping[str, Json], language: Language) -> str:
    shown = [
        f"{name_words(key, language) or ' '.join(pieces(key)) or make_quotable(key)}: {_value(value, language)}"
        for key, value in fields.items()
        if key not in _FLAGS and value not in (None, "", [], {})
    ]
    return "; ".join(shown[:_FIELDS])


def _value(value: Json, language: Language) -> str:
    if isinstance(value, bool):
        return words(language).values["yes" if value else "no"]
    if isinstance(value, str):
        return words(language).values.get(value.lower()) or make_quotable(value)
    if isinstance(value, Mapping):
        return f"({_fields(value, language)})"
    if isinstance(value, Sequence):
        return ", ".join(_value(item, language) for item in value[:_ITEMS])
    return str(value)
