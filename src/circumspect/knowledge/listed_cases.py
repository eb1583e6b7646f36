"""A sentence that answers -> the parts of it that are said of the values in question.

"Members pay 8 euros and guests 12 euros": what leads up to the first of several values is said of them all, unless a
value has words of the same sort of its own; what stands behind a value is said of that one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from circumspect.knowledge.answering import Answering
from circumspect.knowledge.stated_facts import without_facts
from circumspect.knowledge.stated_values import StatedValue, StatedValueKind
from circumspect.language.pack import join_words, packs

_ASIDE = re.compile(r"[,;]\s")

Spans = tuple[tuple[int, int], ...]


def read_said_of(side: Answering, kind: StatedValueKind, tells: Callable[[str], bool]) -> str:
    """Its words, without values; `tells` whether words tell which case it is."""
    return " | ".join(_read(side, *span) for span in _list_spans(side, kind, lambda span: tells(_read(side, *span))))


def list_facts_of(side: Answering, kind: StatedValueKind, wanted: StatedValueKind) -> list[StatedValue]:
    """What of the wanted kind it states of the values in question."""

    def list_within(span: tuple[int, int]) -> list[StatedValue]:
        return [one for one in side.own_facts if one.kind == wanted and span[0] <= one.start < span[1]]

    spans = _list_spans(side, kind, lambda span: bool(list_within(span)))
    return [one for span in spans for one in list_within(span)]


def _read(side: Answering, start: int, end: int) -> str:
    inside = [one for one in side.own_facts if start <= one.start and one.end <= end]
    # Places are counted from the beginning of the text.
    return without_facts(side.evidence.quote[:end], inside)[start:]


def _list_spans(side: Answering, kind: StatedValueKind, tells: Callable[[tuple[int, int]], bool]) -> Spans:
    """From where to where; what is added behind the last value says nothing of it: "call 555 0199, day and night"."""
    text, kept = side.evidence.quote, sorted(one.value.start for one in side.list_said(kind))
    last = max((one.value.end for one in side.list_said(kind)), default=len(text))
    end = next((hit.start() for hit in _ASIDE.finditer(text, last)), len(text))
    alike = [one for one in side.own_facts if one.kind == kind] if kept else []
    before = [one for one in alike if one.end <= kept[0] and one.start not in kept] if kept else []
    between = [one for one in alike if kept[0] < one.start < kept[-1] and one.start not in kept] if kept else []
    behind = [one for one in alike if one.start >= last and one.start not in kept]
    if between or not (before or behind):
        return ((0, end),)
    if behind:
        end = min(end, _find_breaks(text, last, behind[0].start)[0])
    if not before:
        return ((0, end),)
    lead = (_find_breaks(text, before[-1].end, kept[0])[1], kept[0])
    head = () if tells(lead) else ((0, before[0].start),)
    return (*head, lead, (kept[0], end))


def _find_breaks(text: str, start: int, end: int) -> tuple[int, int]:
    """Between two values: where what belongs to the first ends, and where what belongs to the second begins."""
    marks = [*_breaks().finditer(text, start, end)]
    return (marks[0].start(), marks[-1].end()) if marks else (end, start)


@cache
def _breaks() -> re.Pattern[str]:
    return re.compile(rf"[,;()–—\n|]\s*|\s{join_words(one.documents.clause for one in packs())}(?=\s)", re.IGNORECASE)
