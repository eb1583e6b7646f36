"""Which language is a message in? The script of its letters decides."""

from __future__ import annotations

import re

from circumspect.turn import Language

_SCRIPTS: dict[Language, re.Pattern[str]] = {
    "he": re.compile(r"[\u05d0-\u05ea]"),
    "ru": re.compile(r"[\u0400-\u04ff]"),
    "en": re.compile(r"[A-Za-z]"),
}


def detect(text: str, kept: Language | None, default: Language) -> Language:
    counts = {language: len(letters.findall(text)) for language, letters in _SCRIPTS.items()}
    best = max(counts, key=lambda language: counts[language])
    if not counts[best]:
        return kept or default
    if best == "en" and (kept or default) != "en" and len(text.split()) == 1:
        return kept or default
    return best
