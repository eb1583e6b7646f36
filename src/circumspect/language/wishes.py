"""Do the user's words ask for something to be done away with? Text -> the phrase that says so, or None.

`implies_destruction` finds a wish that is not quite an order: "I don't want this order anymore", "get rid of it".
`asks_outright` finds the order itself: "cancel my order". A phrase that is denied ("don't cancel it") or only talked
about ("your refund policy") is neither.

The one choice that may surprise: in Hebrew and Russian the lists overlap. There one form is both the polite order and
the idle wish, so the careful reading holds, and both functions find it. `is_order` tells the two apart where that is
certain: an imperative at the head of its sentence.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from circumspect.language.folding import fold_words
from circumspect.language.pack import LanguagePack, join_patterns, join_words, pack, packs
from circumspect.language.phrases import words
from circumspect.language.sentences import split_sentences
from circumspect.language.word_lists import compile_gap
from circumspect.values import Language

_FILE = re.compile(r"(?<=\w)\.(?=[^\W_]{1,5}(?![\w.]))")
"""The dot in "notes.txt", which ends no clause."""
_LONGEST = 20_000
_WORD = r"[^|\s]"
_BEFORE = 40


def implies_destruction(text: str) -> str | None:
    """The first phrase that wishes something gone."""
    if (phrase := _first("destructive_wish", text)) or (named := _FILE.sub("_", text[:_LONGEST])) == text:
        return phrase
    return _first("destructive_wish", named)


def asks_outright(text: str) -> str | None:
    """The first phrase that orders it: an imperative at the beginning of a clause, or after "please" or "I want to"."""
    return _first("destructive_command", text)


@lru_cache(maxsize=64)
def is_order(text: str) -> bool:
    """What `implies_destruction` finds is an imperative with nothing before it in its sentence but what is no word of
    its own: a greeting, "please". Behind anything else it may be what somebody else did or said."""
    phrase = implies_destruction(text)
    if phrase is None:
        return False
    # Only where commands have a form of their own: elsewhere "remove" is a wish as well as an order.
    languages = [one for one in packs() if not one.wishes.ordered and phrase in one.phrases["destructive_command"]]
    for sentence in split_sentences(text[:_LONGEST]):
        said = f" {' '.join(words(fold_words(sentence)))} "
        if not sentence.endswith("?") and any(_heads(one.code, phrase).match(said) for one in languages):
            return True
    return False


@lru_cache(maxsize=256)
def _heads(language: Language, phrase: str) -> re.Pattern[str]:
    before = join_patterns(map(re.escape, sorted(pack(language).phrases["filler"], key=len, reverse=True)))
    return re.compile(rf" (?:(?:{before}|\|) ){{0,6}}{re.escape(phrase)} ")


@lru_cache(maxsize=64)
def _first(heading: str, text: str) -> str | None:
    """The same words are asked about with every call that they led to."""
    said = f" {' '.join(words(fold_words(text[:_LONGEST])))} "
    hits = [(hit, one) for one in packs() for hit in _pattern(heading, one.code).finditer(said)]
    if not hits:
        return None
    harmless = [hit.span() for one in packs() for hit in _pattern("harmless", one.code).finditer(said)]
    for hit, one in sorted(hits, key=lambda found: found[0].start()):
        start, end = hit.span()
        if any(first <= start and end <= last and last - first > end - start for first, last in harmless):
            continue
        if _denied().search(said, max(0, start - _BEFORE), start) or not _in_place(heading, said, start, one):
            continue
        return hit[0].strip()
    return None


def _in_place(heading: str, said: str, start: int, language: LanguagePack) -> bool:
    """Where a language has no form of its own for an order, the place in the clause tells it from mere mention."""
    begins = _begins(language.code) if heading == "destructive_command" else None
    return begins is None or begins.search(said, 0, start) is not None


@cache
def _begins(language: Language) -> re.Pattern[str] | None:
    openings = pack(language).wishes.ordered
    return re.compile(rf"(?:\A|[|]) (?:{join_patterns(openings)} )*\Z") if openings else None


@cache
def _denied() -> re.Pattern[str]:
    denial, gap = join_words(one.wishes.denied for one in packs()), join_words(one.wishes.denied_gap for one in packs())
    return re.compile(rf" {denial}(?: {gap})? \Z")


@cache
def _pattern(heading: str, language: Language) -> re.Pattern[str]:
    gap = compile_gap(pack(language).wishes.denied_inside)
    phrases = sorted(set(pack(language).phrases[heading]), key=len, reverse=True)
    ways = (_regex(phrase, gap) for phrase in phrases)
    return re.compile(rf"(?<= ){join_patterns(ways)}(?= )")


def _regex(phrase: str, gap: str) -> str:
    """`...` stands for up to four words, at the end for the rest of the clause; `*` for any part of a word."""
    whole = phrase.removesuffix(" ...")
    parts = " ".join(re.escape(part).replace(r"\*", f"{_WORD}*") for part in whole.split())
    return parts.replace(r"\.\.\. ", gap) + ("" if whole == phrase else r"[^|]*(?<! )")
