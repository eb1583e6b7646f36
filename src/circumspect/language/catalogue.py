"""Every word of ours that a user sees, in Fluent files: `say("he", "confirm-question", action=…)`.

Values are data: nothing reads messages out of them. In a language that runs from right to left they are wrapped in
Unicode isolates, so that an order number stays in one piece.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from importlib import resources

from circumspect.language.fluent_texts import FluentMessage, parse_fluent
from circumspect.language.pack import pack
from circumspect.language.registry import LANGUAGES, Language
from circumspect.reasons import ReasonCode

log = logging.getLogger(__name__)


def say(language: Language, key: str, /, **values: str | int | float) -> str:
    """The message in that language; in English, with a warning, where a translation is missing."""
    return _format("messages", language, key, values)


def say_answer(language: Language, yes: bool) -> str:
    """What is written on the button that a user answers a question with."""
    return _format("widget", language, "widget-yes" if yes else "widget-no", {})


def has(language: Language, key: str) -> bool:
    return key in _messages("messages", language)


def meaning(code: ReasonCode, language: Language = "en") -> str:
    """One line that says what a reason code means."""
    return _format("reasons", language, _name(code), {})


def advice(code: ReasonCode) -> str:
    """What whoever runs the agent can do about a reason code, in English."""
    return _messages("reasons", LANGUAGES[0])[_name(code)].attributes["advice"].fill({}, isolate=False)


def _name(code: ReasonCode) -> str:
    return str(code).replace("_", "-").lower()


def keys(catalogue: str, language: Language) -> frozenset[str]:
    """All message names of a catalogue."""
    return frozenset(_messages(catalogue, language))


def _format(catalogue: str, language: Language, key: str, values: Mapping[str, str | int | float]) -> str:
    for candidate in (language, LANGUAGES[0]):
        if message := _messages(catalogue, candidate).get(key):
            if missing := message.text.values - values.keys():
                log.warning("message %s in %s is not given %s", key, candidate, ", ".join(sorted(missing)))
            written = {name: _write(value, candidate) for name, value in values.items()}
            return message.text.fill(written, isolate=pack(candidate).right_to_left)
        log.warning("no message %s in %s", key, candidate)
    raise KeyError(key)


def _write(value: str | int | float, language: Language) -> str:
    return value if isinstance(value, str) else f"{value:,}".replace(",", pack(language).thousands)


@cache
def _messages(catalogue: str, language: Language) -> Mapping[str, FluentMessage]:
    return parse_fluent(resources.files(__package__).joinpath(language, f"{catalogue}.ftl").read_text("utf-8"))
