"""Which language is this message in? Its letters decide: text, the conversation's language -> Language.

The one choice that may surprise: names do not count. "iPhone 15 Pro" or "ok" in a Hebrew conversation is no change of
language, so Latin words speak for English only where they are plain ones, or where there is no other language to keep.
"""

from __future__ import annotations

import re

from circumspect.values import Language

_LONGEST = 2_000
# Addresses, ids and numbers are in no language.
_NOT_WORDS = re.compile(r"\S*(?:://|@|www\.)\S*|\S*[\d_]\S*")
_WORD = re.compile(r"[^\W\d_]+(?:['’`׳״\"][^\W\d_]+)*")
_HEBREW = re.compile(r"[\u05d0-\u05ea\u05f0-\u05f2\ufb1d-\ufb4f]")
_CYRILLIC = re.compile(r"[\u0400-\u052f]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_ENGLISH = re.compile(
    r"an?|and|are|but|can|could|did|do|does|don['’]?t|for|from|have|help|hello|hi|how|i|i['’]?m|if|in|is|it|me|my|need|no"
    r"|not|of|on|or|please|thanks?|that|the|there|this|to|want|was|we|what|when|where|which|who|why|will|with|would|yes|you"
    r"|your",
    re.IGNORECASE,
)


def detect(text: str, kept: Language | None, default: Language) -> Language:
    """The language of the message; `kept`, the conversation's so far, where the message does not tell."""
    words = _WORD.findall(_NOT_WORDS.sub(" ", text[:_LONGEST]))
    hebrew = sum(1 for word in words if _HEBREW.search(word))
    russian = sum(1 for word in words if _CYRILLIC.search(word))
    latin = [word for word in words if _LATIN.match(word)]
    if hebrew or russian:
        if len([word for word in latin if word.islower()]) > 2 * (hebrew + russian):
            return "en"
        if hebrew == russian:
            return kept if kept in ("he", "ru") else "he"
        return "he" if hebrew > russian else "ru"
    if not latin:
        return kept or default
    if kept in (None, "en") or _speaks_english(latin):
        return "en"
    return kept


def _speaks_english(words: list[str]) -> bool:
    """More than a name, and more than the one word everybody knows."""
    plain = any(_ENGLISH.fullmatch(word) for word in words)
    return (len(words) > 1 and plain) or len([word for word in words if word.islower()]) > 3
