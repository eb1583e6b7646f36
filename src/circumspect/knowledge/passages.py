"""Document -> Pieces: what search finds and quotes. A section's own text, cut at paragraph or sentence ends.

A piece never crosses into another section, and its span is exact: `document.quote(piece.span)` is its text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from circumspect.knowledge.tree import DocumentSection, KnowledgeDocument, TextSpan
from circumspect.language.sentences import find_ends

MOST_WORDS = 200
ENOUGH_WORDS = 120

_WORD = re.compile(r"\w+")
_GOES_ON = re.compile(r"[ \t]*(?![-*+•–>|#]|\d+[.)]\s|[a-z]\)\s)\S")
_PARAGRAPH = re.compile(r"\n[ \t]*\n+")


@dataclass(frozen=True, slots=True)
class DocumentPiece:
    section: DocumentSection
    span: TextSpan


def cut(document: KnowledgeDocument) -> Iterator[DocumentPiece]:
    """Every piece of the document, in reading order. A heading with nothing below it is no piece."""
    for section in document.sections():
        text = document.quote(section.own)
        if len(_WORD.findall(text)) <= len(_WORD.findall(section.title)) and section.id:
            continue
        for span in _pack_units(text, section.own.start):
            yield DocumentPiece(section, span)


def sentences(text: str, offset: int = 0) -> Iterator[TextSpan]:
    """The sentences, table rows and list items of a text, without the white space around them. A line that is only
    wrapped ends nothing."""
    start = 0
    for first, last in (*find_ends(text, "quoted"), (len(text), len(text))):
        if text[first:last] == "\n" and _is_wrapped(text, start, first):
            continue
        # Quotation marks behind a full stop belong to the sentence.
        if span := _strip_span(text, start, first + len(text[first:last].rstrip()), offset):
            yield span
        start = last


def _is_wrapped(text: str, start: int, end: int) -> bool:
    """Whether the line that ends here goes on in the next one: prose does, a row, a heading or a lead-in does not."""
    line = text[max(start, text.rfind("\n", 0, end) + 1) : end].strip()
    return (
        bool(line)
        and not line.startswith(("|", "#"))
        and line[-1] not in ".!?…:|"
        and bool(_GOES_ON.match(text, end + 1))
    )


def _pack_units(text: str, offset: int) -> Iterator[TextSpan]:
    """Units are gathered until there are enough words; one that would make too many begins the next piece."""
    held: TextSpan | None = None
    words = 0
    for unit in _units(text, offset):
        count = _count(text, unit, offset)
        if held is not None and (words >= ENOUGH_WORDS or words + count > MOST_WORDS):
            yield held
            held, words = None, 0
        held = unit if held is None else TextSpan(held.start, unit.end)
        words += count
    if held is not None:
        yield held


def _units(text: str, offset: int) -> Iterator[TextSpan]:
    """Paragraphs; a long one by sentence; a sentence that is longer still, by words."""
    start = 0
    for mark in (*_PARAGRAPH.finditer(text), None):
        end = len(text) if mark is None else mark.start()
        paragraph = _strip_span(text, start, end, offset)
        start = end if mark is None else mark.end()
        if paragraph is None:
            continue
        if _count(text, paragraph, offset) <= MOST_WORDS:
            yield paragraph
            continue
        for sentence in sentences(text[paragraph.start - offset : paragraph.end - offset], paragraph.start):
            yield from _by_words(text, sentence, offset)


def _by_words(text: str, span: TextSpan, offset: int) -> Iterator[TextSpan]:
    words = list(_WORD.finditer(text, span.start - offset, span.end - offset))
    if len(words) <= MOST_WORDS:
        yield span
        return
    edges = [
        span.start,
        *(words[index].start() + offset for index in range(MOST_WORDS, len(words), MOST_WORDS)),
        span.end,
    ]
    for first, last in itertools.pairwise(edges):
        if found := _strip_span(text, first - offset, last - offset, offset):
            yield found


def _strip_span(text: str, start: int, end: int, offset: int) -> TextSpan | None:
    inside = text[start:end]
    kept = inside.strip()
    if not kept:
        return None
    first = start + len(inside) - len(inside.lstrip())
    return TextSpan(offset + first, offset + first + len(kept))


def _count(text: str, span: TextSpan, offset: int) -> int:
    return len(_WORD.findall(text, span.start - offset, span.end - offset))
