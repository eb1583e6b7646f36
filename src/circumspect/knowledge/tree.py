"""The words of the knowledge part: a document is one text and a tree of sections that points into it.

All offsets are characters of `Document.text`, half-open. `text` is what was read, not the file's bytes, and never
changes after reading: what `quote` returns for a span is what a citation shows, character for character. The root
section has the id "" and covers the whole text; what stands before the first heading is its `own`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextSpan:
    """Characters [start, end) of a document's text."""

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start

    def __contains__(self, offset: int) -> bool:
        return self.start <= offset < self.end

    def covers(self, other: TextSpan) -> bool:
        return self.start <= other.start and other.end <= self.end


@dataclass(frozen=True, slots=True)
class DocumentSection:
    """`span` is the section with everything below it, `own` its heading and text before the first child."""

    id: str
    title: str
    path: tuple[str, ...]
    level: int
    span: TextSpan
    own: TextSpan
    page: int | None
    children: tuple[DocumentSection, ...]

    def walk(self) -> Iterator[DocumentSection]:
        """This section and all below it, in reading order."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class KnowledgeDocument:
    """`pages` is empty for formats without pages; otherwise the spans follow each other and cover the text.

    `hash` is of the file's bytes: the same file read again is the same document.
    """

    id: str
    title: str
    text: str
    root: DocumentSection
    pages: tuple[TextSpan, ...]
    media_type: str
    hash: str

    def section(self, section_id: str) -> DocumentSection | None:
        return next((section for section in self.sections() if section.id == section_id), None)

    def sections(self) -> Iterator[DocumentSection]:
        """Every section, the root first, in reading order."""
        return self.root.walk()

    def section_at(self, offset: int) -> DocumentSection:
        """The deepest section around an offset; the root for offsets outside the text."""
        here = self.root
        while below := next((child for child in here.children if offset in child.span), None):
            here = below
        return here

    def page_of(self, offset: int) -> int | None:
        """The page, counted from 1."""
        return page_of(self.pages, offset)

    def quote(self, span: TextSpan) -> str:
        return self.text[span.start : span.end]


@dataclass(frozen=True, slots=True)
class SectionHeading:
    """Where a section begins: what a reader of some format hands to `grow`. `level` counts from 1."""

    start: int
    level: int
    title: str


def page_of(pages: tuple[TextSpan, ...], offset: int) -> int | None:
    if not pages:
        return None
    return max(1, bisect_right(pages, offset, key=lambda page: page.start))


def grow(
    text: str, title: str, headings: Iterable[SectionHeading], pages: tuple[TextSpan, ...] = ()
) -> DocumentSection:
    """The tree of a text from its headings in reading order. Levels may skip: an h4 right under an h1 is its child."""
    marks = sorted(headings, key=lambda heading: heading.start)
    starts = [mark.start for mark in marks]
    ends = _find_ends(marks, len(text))

    def below(first: int, last: int, level: int, parent: str, path: tuple[str, ...]) -> tuple[DocumentSection, ...]:
        """The sections of `marks[first:last]`; whatever a section's end leaves out is the next one's."""
        found: list[DocumentSection] = []
        index = first
        while index < last:
            mark, end = marks[index], ends[index]
            after = bisect_left(starts, end, index + 1, last)
            own_id = f"{parent}.{len(found) + 1}" if parent else str(len(found) + 1)
            own_path = (*path, mark.title)
            children = below(index + 1, after, level + 1, own_id, own_path)
            own = TextSpan(mark.start, children[0].span.start if children else end)
            page = page_of(pages, mark.start)
            found.append(
                DocumentSection(own_id, mark.title, own_path, level, TextSpan(mark.start, end), own, page, children)
            )
            index = after
        return tuple(found)

    children = below(0, len(marks), 1, "", ())
    own = TextSpan(0, children[0].span.start if children else len(text))
    return DocumentSection("", title, (), 0, TextSpan(0, len(text)), own, 1 if pages else None, children)


def _find_ends(marks: Sequence[SectionHeading], length: int) -> list[int]:
    """Where each section ends: at the next heading that is not below it. One pass, however many there are."""
    ends = [length] * len(marks)
    still_open: list[int] = []
    for index, mark in enumerate(marks):
        while still_open and marks[still_open[-1]].level >= mark.level:
            ends[still_open.pop()] = mark.start
        still_open.append(index)
    return ends
