"""Hebrew words without the small words written together with them, and without their endings.

Over-reduces now and then, which costs little in ranking; missing an inflected word costs the answer.
"""

from __future__ import annotations

_PREFIXES = "והבלמשכ"
_SUFFIXES = ("ויות", "יות", "יהמ", "יכמ", "ינו", "ימ", "ות", "יה", "ית", "יו", "נו", "כמ", "תי", "ה", "ת", "י", "ו")
_SHORTEST = 3


def stem(word: str) -> str:
    """The word less "and", "the", "in", "to", "from", "that" and its plural and possessive endings."""
    while len(word) > _SHORTEST and word[0] in _PREFIXES:
        word = word[1:]
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST:
            return word[: -len(suffix)]
    return word
