"""PDF -> Parsed: a page's words to lines in reading order, lines to paragraphs and headings, with a span per page.

Reading order is geometry, not the file's order: columns are read one after the other, a ruled table's row is one line
with its cells apart, running headers and footers are left out, and Hebrew, which a PDF holds as it is painted, is
turned back into the order it is read in. Scans have no words to place, and are refused.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pdfplumber
from pdfminer.pdfdocument import PDFPasswordIncorrect
from pdfplumber.utils.exceptions import PdfminerException

from circumspect.knowledge.columns import RIGHT_TO_LEFT_SIGN, LayoutLine, Word, in_reading_order, lines_of
from circumspect.knowledge.parsed import CONTENTS, DocumentRefused, Parsed, clean, numbering
from circumspect.knowledge.tree import SectionHeading, TextSpan
from circumspect.language.pack import join_words, packs

MAX_PAGES = 2_000
_BOLD = re.compile(r"bold|black|heavy|semib|demi", re.IGNORECASE)
_BULLET = re.compile(r"[•▪◦‣●○■–—*-]\s|\(?(?:[^\W\d_]|[ivx]{1,4}|\d{1,3})[.)]\s|\d{1,3}(?:\.\d{1,3})+\s", re.IGNORECASE)
_ENDS = re.compile(r"[.!?:;…]['\"”»)]*$")
_UNDECODED = re.compile(r"\(cid:\d+\)")


@dataclass(frozen=True, slots=True)
class _Page:
    lines: tuple[LayoutLine, ...]
    height: float
    pictured: bool


def read_pdf(data: bytes, name: str) -> Parsed:
    try:
        with pdfplumber.open(io.BytesIO(data)) as file:
            if len(file.pages) > MAX_PAGES:
                raise DocumentRefused(
                    f"{name} has {len(file.pages)} pages, and {MAX_PAGES} is the limit.", fix="Split it into parts."
                )
            pages = [_page(page) for page in file.pages]
            title = str((file.metadata or {}).get("Title") or "")
    except PdfminerException as error:
        if any(isinstance(cause, PDFPasswordIncorrect) for cause in error.args):
            raise DocumentRefused(
                f"{name} is encrypted.", fix="Save it without a password, and add it again."
            ) from None
        raise DocumentRefused(f"{name} is damaged and cannot be read as a PDF.", fix="Export it again.") from error
    except DocumentRefused:
        raise
    except Exception as error:  # pdfminer meets broken files with whatever exception they lead to
        raise DocumentRefused(f"{name} is damaged and cannot be read as a PDF.", fix="Export it again.") from error
    _check_text(pages, name)
    pages = _without_running(pages)
    return _assemble(pages, clean(title).strip())


def _check_text(pages: Sequence[_Page], name: str) -> None:
    bare = [number for number, page in enumerate(pages, 1) if sum(len(line.text) for line in page.lines) < 20]
    scanned = [number for number in bare if pages[number - 1].pictured]
    if pages and (len(bare) == len(pages) or len(scanned) > len(pages) / 5):
        which = (
            "" if len(bare) == len(pages) else f" on {len(scanned)} of its {len(pages)} pages (page {scanned[0]} first)"
        )
        raise DocumentRefused(
            f"{name} has no text layer{which}: it looks like a scan.",
            fix="Run OCR over it (for example `ocrmypdf in.pdf out.pdf`), and add the result.",
        )
    text = " ".join(line.text for page in pages for line in page.lines)
    if sum(len(sign) for sign in _UNDECODED.findall(text)) > len(text) / 4:
        raise DocumentRefused(
            f"The letters of {name} cannot be decoded: its fonts do not say what they mean.",
            fix="Run OCR over it (for example `ocrmypdf --force-ocr in.pdf out.pdf`), or export it again.",
        )


def _page(page: Any) -> _Page:
    """Any, because pdfplumber says nothing about its types."""
    words = [
        Word(w["text"], w["x0"], w["x1"], w["top"], w["bottom"], float(w["size"]), bool(_BOLD.search(w["fontname"])))
        for w in page.extract_words(extra_attrs=["size", "fontname"], x_tolerance_ratio=0.2)
    ]
    tables = [table for table in page.find_tables() if len(table.rows) > 1 and len(table.rows[0].cells) > 1]
    rows = [line for table in tables for line in _rows(table, words)]
    words = [word for word in words if not any(_inside(word, table.bbox) for table in tables)]
    area = float(page.width * page.height) or 1.0
    pictured = sum(float(image["width"] * image["height"]) for image in page.images) > area / 3
    lines = in_reading_order(lines_of(words), rows)
    # The page is closed as soon as it is read; pdfplumber keeps every character of it otherwise.
    page.close()
    return _Page(tuple(lines), float(page.height), pictured)


def _inside(word: Word, box: Sequence[float]) -> bool:
    across, down = (word.x0 + word.x1) / 2, (word.top + word.bottom) / 2
    return box[0] <= across <= box[2] and box[1] <= down <= box[3]


def _rows(table: Any, words: Sequence[Word]) -> Iterable[LayoutLine]:
    """A row is a line. Its cells are made of the page's words, so that Hebrew comes out right in them too."""
    words = [word for word in words if _inside(word, table.bbox)]
    for row in table.rows:
        boxes = [box for box in row.cells if box is not None]
        texts = [" ".join(line.text for line in lines_of([w for w in words if _inside(w, box)])) for box in boxes]
        if any(texts):
            backwards = sum(len(RIGHT_TO_LEFT_SIGN.findall(text)) for text in texts)
            if backwards * 2 > sum(letter.isalpha() for text in texts for letter in text):
                texts.reverse()
            x0, top, x1, bottom = row.bbox
            yield LayoutLine(" | ".join(texts), x0, x1, top, bottom, 0.0, bold=False, row=True)


@cache
def _page_number() -> re.Pattern[str]:
    page, of = join_words(one.documents.page for one in packs()), join_words(one.documents.page_of for one in packs())
    return re.compile(rf"[\s|–—-]*+{page}?\s*+#\s*+(?:(?:{of}|/)\s*+#)?[\s|–—-]*+", re.IGNORECASE)


def _without_running(pages: list[_Page]) -> list[_Page]:
    """Lines at the edge, set apart from the text, that many pages repeat, digits aside; and page numbers."""

    def shape(line: LayoutLine) -> str:
        return re.sub(r"\d+", "#", line.text).strip()

    edges = [_at_edge(page) for page in pages]
    seen = Counter(text for edge in edges for text in {shape(line) for line in edge})
    often = max(2, len(pages) * 2 // 5)

    def running(line: LayoutLine) -> bool:
        numbered = len(pages) > 1 and _page_number().fullmatch(shape(line)) is not None
        return numbered or seen[shape(line)] >= often

    return [
        replace(page, lines=tuple(line for line in page.lines if line not in edge or not running(line)))
        for page, edge in zip(pages, edges, strict=True)
    ]


def _at_edge(page: _Page) -> set[LayoutLine]:
    """Up to three lines above the first wide gap, or below the last one."""
    found: set[LayoutLine] = set()
    for top in (True, False):
        lines = sorted(page.lines, key=lambda line: line.top, reverse=not top)
        block: list[LayoutLine] = []
        for line in lines:
            outside = line.bottom < page.height * 0.15 if top else line.top > page.height * 0.85
            gap = 0.0
            if block:
                gap = line.top - block[-1].bottom if top else block[-1].top - line.bottom
            if gap > 0.9 * line.height or not outside:
                if gap > 0.9 * line.height and len(block) <= 3:
                    found.update(block)
                break
            block.append(line)
        else:
            found.update(block if len(block) <= 3 else ())
    return found


# --- paragraphs and headings ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Block:
    """A paragraph, a heading (`level` > 0), or a row of a table."""

    text: str
    page: int
    level: int = 0
    tight: bool = False


def _assemble(pages: Sequence[_Page], title: str) -> Parsed:
    blocks = _blocks(pages)
    pieces: list[str] = []
    headings: list[SectionHeading] = []
    starts = [0] * len(pages)
    length = page = 0
    before: _Block | None = None
    for block in blocks:
        if before is not None:
            carried = block.page > before.page and not (before.level or block.level or _ENDS.search(before.text))
            continues = block.tight or carried
            pieces.append("\n" if continues else "\n\n")
            length += len(pieces[-1])
        while page < block.page:
            page += 1
            starts[page] = length
        if block.level:
            headings.append(SectionHeading(length, block.level, block.text))
        pieces.append(block.text)
        length += len(block.text)
        before = block
    starts[page + 1 :] = [length] * (len(pages) - page - 1)
    spans = tuple(TextSpan(start, end) for start, end in zip(starts, [*starts[1:], length], strict=True))
    first = [heading for heading in headings if spans and heading.start < spans[0].end and heading.level == 1]
    return Parsed("".join(pieces), tuple(headings), spans, first[0].title if first else title)


def _blocks(pages: Sequence[_Page]) -> list[_Block]:
    levels = _Levels(pages)
    found: list[_Block] = []
    for number, page in enumerate(pages):
        before: LayoutLine | None = None
        level = 0
        for line in page.lines:
            text = clean(line.text).strip()
            if not text:
                continue
            adjacent = before is not None and -line.height < line.top - before.bottom < 0.7 * line.height
            if before is not None and line.top < before.top and not _ENDS.search(before.text):
                adjacent = True  # the sentence goes on at the top of the next column
            own = levels.of(line, alone=not adjacent)
            same = before is not None and found and abs(line.size - before.size) < 0.3 and line.bold == before.bold
            if line.row:
                found.append(_Block(text, number, tight=before is not None and before.row))
            elif own and same and level and adjacent and not numbering(text) and len(found[-1].text) < 120:
                found[-1] = replace(found[-1], text=f"{found[-1].text} {text}")
                before = line
                continue
            elif own:
                found.append(_Block(text, number, level=own))
            elif (
                before is None
                or before.row
                or level
                or not adjacent
                or line.gapped
                or before.gapped
                or _BULLET.match(text)
            ):
                tight = adjacent and not level and before is not None and not before.row
                found.append(_Block(text, number, tight=tight))
            else:
                found[-1] = replace(found[-1], text=_join_lines(found[-1].text, text))
            before, level = line, own
    return found


def _join_lines(text: str, more: str) -> str:
    if re.search(r"[^\W\d_]-$", text) and more[0].islower():
        return text[:-1] + more
    return f"{text} {more}"


class _Levels:
    """What makes a heading in this document: letters larger than the body's, a bold line of its own, its numbering."""

    def __init__(self, pages: Sequence[_Page]) -> None:
        lines = [line for page in pages for line in page.lines if not line.row]
        weights: Counter[float] = Counter()
        for line in lines:
            weights[_half(line.size)] += len(line.text)
        self._body = weights.most_common(1)[0][0] if weights else 10.0
        bold = sum(len(line.text) for line in lines if line.bold)
        self._bold_tells = bold * 3 < sum(len(line.text) for line in lines)
        sizes = {_half(line.size) for line in lines if self._larger(line) and len(line.text) < 200}
        self._ranks = {size: rank for rank, size in enumerate(sorted(sizes, reverse=True), 1)}
        tops = [
            self._rank_by_size(line)
            for line in lines
            if numbering(line.text) == 1 and (self._larger(line) or self._bold(line))
        ]
        self._numbered_from = min(tops, default=len(self._ranks) + 1)

    def of(self, line: LayoutLine, *, alone: bool) -> int:
        text = line.text.strip()
        if line.row or line.gapped or len(text) > 150 or CONTENTS.search(text) or not re.search(r"[^\W\d_]", text):
            return 0
        depth = numbering(text)
        if self._larger(line) or (self._bold(line) and (depth or not text.endswith((".", ",", ";")))):
            return self._numbered_from + depth - 1 if depth else self._rank_by_size(line)
        return self._numbered_from + depth - 1 if depth and alone and len(text) < 80 and "  " not in text else 0

    def _rank_by_size(self, line: LayoutLine) -> int:
        return self._ranks.get(_half(line.size), len(self._ranks) + 1)

    def _larger(self, line: LayoutLine) -> bool:
        return line.size >= self._body * 1.1

    def _bold(self, line: LayoutLine) -> bool:
        return line.bold and self._bold_tells and line.size >= self._body * 0.95


def _half(size: float) -> float:
    return round(size * 2) / 2
