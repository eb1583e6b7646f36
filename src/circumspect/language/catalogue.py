"""Every word of ours that a user sees, in Fluent files: `say("he", "confirm-question", action=…)`.

Values are data: Fluent never reads messages out of them. In a language that runs from right to left they are wrapped in
Unicode isolates, so that an order number stays in one piece.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from circumspect.language.pack import pack
from circumspect.language.registry import LANGUAGES, Language
from circumspect.reasons import ReasonCode

if TYPE_CHECKING:
    from fluent.runtime import FluentBundle

log = logging.getLogger(__name__)


def say(language: Language, key: str, /, **values: str | int | float) -> str:
    """The message in that language; in English, with a warning, where a translation is missing."""
    return _format("messages", language, key, values)


def has(language: Language, key: str) -> bool:
    return bool(_bundle("messages", language).has_message(key))


def meaning(code: ReasonCode, language: Language = "en") -> str:
    """One line that says what a reason code means."""
    return _format("reasons", language, _name(code), {})


def advice(code: ReasonCode) -> str:
    """What whoever runs the agent can do about a reason code, in English."""
    bundle = _bundle("reasons", LANGUAGES[0])
    text, _ = bundle.format_pattern(bundle.get_message(_name(code)).attributes["advice"])
    return str(text)


def _name(code: ReasonCode) -> str:
    return str(code).replace("_", "-").lower()


def keys(catalogue: str, language: Language) -> frozenset[str]:
    """All message names of a catalogue."""
    return frozenset(_bundle(catalogue, language)._messages)


def _format(catalogue: str, language: Language, key: str, values: Mapping[str, str | int | float]) -> str:
    for candidate in (language, LANGUAGES[0]):
        bundle = _bundle(catalogue, candidate)
        pattern = bundle.get_message(key).value if bundle.has_message(key) else None
        if pattern is not None:
            text, problems = bundle.format_pattern(pattern, dict(values))
            if problems:
                log.warning("message %s in %s: %s", key, candidate, problems[0])
            return str(text)
        log.warning("no message %s in %s", key, candidate)
    raise KeyError(key)


@cache
def _bundle(catalogue: str, language: str) -> FluentBundle:
    from fluent.runtime import FluentBundle, FluentResource

    bundle = FluentBundle([language], use_isolating=pack(language).right_to_left)
    text = resources.files(__package__).joinpath(language, f"{catalogue}.ftl").read_text("utf-8")
    bundle.add_resource(FluentResource(text))
    return bundle
