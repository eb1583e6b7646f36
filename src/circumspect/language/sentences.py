"""Where a text's sentences end: text -> its sentences.

One splitter for every reader. They differ in what they must not miss, so each names the ends it goes by. The full stop
of an abbreviation ("z. B.") or of a day ("12. März") is no end, except to the reader of orders in somebody else's text:
there the next order must not hide behind one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Literal

from circumspect.language.pack import join_patterns, packs

_STOPS = ".!?;…"
SentenceEnd = Literal["plain", "closed", "quoted", "anywhere", "further", "requested"]
_ENDS: dict[SentenceEnd, re.Pattern[str]] = {
    # A mark and white space, or a new line.
    "plain": re.compile(r"\s(?:(?<=[.!?…]\s)\s*|(?<=\n)\n*)"),
    # The same behind quotation marks and brackets, and where text from a page lost the blank before a capital.
    "closed": re.compile(r"(?<=[.!?…])['\")\]]*\s+|\n+|(?<=\.)(?=[A-Z])"),
    # Behind quotation marks, before something to read: a list's "1." goes with what it numbers.
    "quoted": re.compile(r"(?<=[.!?…])[\"'”»)]*\s+(?=[\w\"'“«(])|\n"),
    # Every mark: people leave out blanks in a hurry, and a demand in one sentence must not hide in the next.
    "anywhere": re.compile(r"(?<=[.!?\n])(?![.!?\n])"),
    # Every mark that more text follows, semicolons too: how many things a message speaks of.
    "further": re.compile(r"[.!?;\n]{1,4}\s{1,8}(?=\w)"),
    # A mark and white space, or a new line: what is asked for in one sentence has its values there.
    "requested": re.compile(r"\s(?:(?<=[.!?…;]\s)\s*|(?<=\n)\n*)"),
}
"""Those that are asked for most begin with a sign that few places have: there `re` passes over the others quickly."""
_FIRST = re.compile(r"\w+(\W)")
"""A word and the sign behind it: "z." of "z. B."."""


def split_sentences(text: str, ends: SentenceEnd = "plain") -> list[str]:
    """The sentences, without the white space around them."""
    at, found = 0, []
    for start, end in find_ends(text, ends):
        found.append(text[at:start])
        at = end
    return [piece.strip() for piece in (*found, text[at:]) if piece.strip()]


def find_ends(text: str, ends: SentenceEnd = "plain", start: int = 0) -> Iterator[tuple[int, int]]:
    """Where what stands between two sentences begins and ends, from `start` on."""
    inner = frozenset[int]() if ends == "closed" else _find_inner_stops(text)
    for mark in _ENDS[ends].finditer(text, start):
        if mark.end() - len(mark[0].lstrip(_STOPS)) not in inner:
            yield mark.span()


def _find_inner_stops(text: str) -> frozenset[int]:
    """The places behind full stops that end nothing: of an abbreviation, and of a day before its month ("12. März")."""
    hits = _stopped().finditer(text) if "." in text and _first_stop().search(text) else ()
    return frozenset(at + 1 for hit in hits for at in range(hit.start(), hit.end()) if text[at] == ".")


@cache
def _list_abbreviations() -> tuple[str, ...]:
    return tuple(line for one in packs() for line in one.about.abbreviations)


@cache
def _before_month() -> str:
    months = (name for one in packs() for line in one.values.months for name in line.split())
    return rf"(?=\s?(?i:{join_patterns(months)})(?!\w))"


@cache
def _first_stop() -> re.Pattern[str]:
    """Found wherever `_stopped` is: the sign behind the first word of an abbreviation, and of a day. It is looked for
    from the sign back, since texts have few of these and many words."""
    heads = sorted({_FIRST.match(line)[0] for line in _list_abbreviations()})  # type: ignore[index]
    # What is looked back at has a length of its own.
    lengths = {len(head): [re.escape(one) for one in heads if len(one) == len(head)] for head in heads}
    behind = [rf"(?<=(?<!\w){join_patterns(same)})" for same in lengths.values()]
    behind.append(rf"(?<=\d\.){_before_month()}")
    signs = re.escape("".join({*(head[-1] for head in heads), "."}))
    return re.compile(rf"[{signs}]{join_patterns(behind)}")


@cache
def _stopped() -> re.Pattern[str]:
    listed = sorted(map(re.escape, _list_abbreviations()), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{join_patterns(listed)}|\d{{1,2}}\.{_before_month()})")
