"""Do the user's words ask for something to be done away with? Text -> the phrase that says so, or None.

`implies_destruction` finds a wish that is not quite an order: "I don't want this order anymore", "get rid of it".
`asks_outright` finds the order itself: "cancel my order". A phrase that is denied ("don't cancel it") or only talked
about ("your refund policy") is neither.

The one choice that may surprise: in Hebrew and Russian the lists overlap. "תבטל" is both the polite order and the idle
wish, so there the careful reading holds, and both functions find it.
"""

from __future__ import annotations

import re
from functools import cache

from circumspect.language.phrases import languages, lists, normalise_text, words

_LONGEST = 20_000
_WORD = r"[^|\s]"
_DENIED = re.compile(
    r" (?:not|never|without|no|אל|לא|בלי|не|без)"
    r"(?: (?:please|yet|just|want to|to|need to|have to|צריך|רוצה|надо|нужно))? \Z"
)
_ORDERED = re.compile(
    r"(?:\A|[|]) (?:(?:please|kindly|just|now|yes|ok|okay|hi|hello|so|and|then|you|can|could|would|will|i|we|want|need"
    r"|have|like|to|go ahead|help me|let us) )*\Z"
)
_BEFORE = 40


def implies_destruction(text: str) -> str | None:
    """The first phrase that wishes something gone."""
    return _first("destructive_wish", text)


def asks_outright(text: str) -> str | None:
    """The first phrase that orders it: an imperative at the beginning of a clause, or after "please" or "I want to"."""
    return _first("destructive_command", text)


def _first(heading: str, text: str) -> str | None:
    said = f" {' '.join(words(normalise_text(text[:_LONGEST])))} "
    hits = list(_pattern(heading).finditer(said))
    if not hits:
        return None
    harmless = [hit.span() for hit in _pattern("harmless").finditer(said)]
    for hit in hits:
        start, end = hit.span()
        if any(first <= start and end <= last and last - first > end - start for first, last in harmless):
            continue
        if _DENIED.search(said, max(0, start - _BEFORE), start) or (
            hit[0].isascii() and not _in_place(heading, said, start)
        ):
            continue
        return hit[0].strip()
    return None


def _in_place(heading: str, said: str, start: int) -> bool:
    """English has no form of its own for an order: the place in the clause tells it from mere mention."""
    return heading != "destructive_command" or _ORDERED.search(said, 0, start) is not None


@cache
def _pattern(heading: str) -> re.Pattern[str]:
    phrases = {phrase for language in languages() for phrase in lists(language).get(heading, ())}
    ways = (_regex(phrase) for phrase in sorted(phrases, key=len, reverse=True))
    return re.compile(rf"(?<= )(?:{'|'.join(ways)})(?= )")


def _regex(phrase: str) -> str:
    """`...` stands for up to four words, at the end for the rest of the clause; `*` for any part of a word."""
    whole = phrase.removesuffix(" ...")
    parts = " ".join(re.escape(part).replace(r"\*", f"{_WORD}*") for part in whole.split())
    return parts.replace(r"\.\.\. ", f"(?:{_WORD}+ ){{0,4}}") + ("" if whole == phrase else r"[^|]*(?<! )")
