"""Build the PDF of examples/review from its Markdown source: `python -m scripts.build_review_samples [--check]`.

Comes in: `examples/review/sources/*.md`. Goes out: `examples/review/policies/*.pdf`, the same bytes every time for the
same reportlab, with running heads, page numbers, a table of contents, ruled tables and a part set in two columns: what
a reader of documents meets in practice. `--check` writes nothing and fails when a PDF is not what its source
builds.

Sources live outside `policies/`, because everything in that folder is read as a policy of its own.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    KeepTogether,
    ListFlowable,
    ListItem,
    NextPageTemplate,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
    TableStyle,
)
from reportlab.platypus.tableofcontents import TableOfContents

REVIEW = Path(__file__).parent.parent / "examples" / "review"
HEAD = "Harrowmere Health Plan  |  Policy PA-2207, edition 7"
FOOT = "Effective 1 March 2026"
WIDTH, HEIGHT = A4
MARGIN = 25 * mm
BODY = ParagraphStyle("body", fontName="Helvetica", fontSize=10.5, leading=15.5, spaceAfter=7)
NARROW = ParagraphStyle("narrow", parent=BODY, fontSize=9.5, leading=13, spaceAfter=5)
CAPTION = ParagraphStyle("caption", parent=BODY, fontName="Helvetica-Oblique", fontSize=9.5)
CELL = ParagraphStyle("cell", parent=BODY, fontSize=9.5, leading=12, spaceAfter=0)
HEADINGS = {
    "h1": ParagraphStyle("h1", parent=BODY, fontName="Helvetica-Bold", fontSize=24, leading=30, spaceAfter=24),
    "contents": ParagraphStyle("contents", parent=BODY, fontName="Helvetica-Bold", fontSize=15, leading=20),
    "h2": ParagraphStyle(
        "h2", parent=BODY, fontName="Helvetica-Bold", fontSize=15, leading=20, spaceBefore=14, keepWithNext=1
    ),
    "h3": ParagraphStyle(
        "h3", parent=BODY, fontName="Helvetica-Bold", fontSize=11.5, leading=16, spaceBefore=9, keepWithNext=1
    ),
    "h4": ParagraphStyle(
        "h4", parent=BODY, fontName="Helvetica-BoldOblique", fontSize=10.5, leading=15, spaceBefore=6, keepWithNext=1
    ),
}
CONTENTS = [
    ParagraphStyle("toc1", parent=BODY, fontName="Helvetica-Bold", fontSize=10, leading=15, spaceAfter=0),
    ParagraphStyle("toc2", parent=BODY, fontSize=9, leading=11.5, leftIndent=6 * mm, spaceAfter=0),
]
RULED = TableStyle(
    [
        ("GRID", (0, 0), (-1, -1), 0.5, colors.grey),
        ("BACKGROUND", (0, 0), (-1, 0), colors.whitesmoke),
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("TOPPADDING", (0, 0), (-1, -1), 4),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 5),
    ]
)


class PolicyPages(BaseDocTemplate):
    """A4 pages in one or two columns; headings report themselves to the table of contents."""

    def __init__(self, out: io.BytesIO, title: str) -> None:
        super().__init__(out, pagesize=A4, title=title, author="Harrowmere Health Plan", invariant=1)
        text, column = WIDTH - 2 * MARGIN, (WIDTH - 2 * MARGIN - 8 * mm) / 2
        tall = HEIGHT - 2 * MARGIN
        self.addPageTemplates(
            [
                PageTemplate("cover", [Frame(MARGIN, MARGIN, text, tall - 50 * mm, 0, 0, 0, 0)]),
                PageTemplate("one", [Frame(MARGIN, MARGIN, text, tall, 0, 0, 0, 0)], onPage=running_heads),
                PageTemplate(
                    "two",
                    [Frame(x, MARGIN, column, tall, 0, 0, 0, 0) for x in (MARGIN, WIDTH - MARGIN - column)],
                    onPage=running_heads,
                ),
            ]
        )

    def afterFlowable(self, flowable: Flowable) -> None:  # noqa: N802
        if isinstance(flowable, Paragraph) and flowable.style.name in ("h2", "h3"):
            self.notify("TOCEntry", (int(flowable.style.name == "h3"), flowable.getPlainText(), self.page))


def running_heads(canvas: Canvas, pages: PolicyPages) -> None:
    canvas.saveState()
    canvas.setFont("Helvetica", 8)
    canvas.drawString(MARGIN, HEIGHT - 15 * mm, HEAD)
    canvas.line(MARGIN, HEIGHT - 17 * mm, WIDTH - MARGIN, HEIGHT - 17 * mm)
    canvas.drawString(MARGIN, 14 * mm, FOOT)
    canvas.drawRightString(WIDTH - MARGIN, 14 * mm, f"Page {pages.page}")
    canvas.restoreState()


def flowables(tokens: list[Token]) -> Iterator[Flowable]:
    """The Markdown tokens as flowables: headings, paragraphs, bullet lists, tables, and our own page commands."""
    body, at = BODY, 0
    caption: list[Flowable] = []
    while at < len(tokens):
        token = tokens[at]
        match token.type:
            case "heading_open":
                yield Paragraph(escape(tokens[at + 1].content), HEADINGS[token.tag])
            case "paragraph_open":
                text = tokens[at + 1].content
                if text.startswith("Table ") and ": " in text:
                    caption = [Paragraph(escape(text), CAPTION)]
                else:
                    yield Paragraph(escape(text), body)
            case "html_block":
                match token.content.strip():
                    case "<!-- contents -->":
                        yield from (NextPageTemplate("one"), PageBreak(), Paragraph("Contents", HEADINGS["contents"]))
                        yield TableOfContents(levelStyles=CONTENTS, dotsMinLevel=0)
                    case "<!-- page -->":
                        body = BODY
                        yield from (NextPageTemplate("one"), PageBreak())
                    case "<!-- page in two columns -->":
                        body = NARROW
                        yield from (NextPageTemplate("two"), PageBreak())
                    case other:
                        raise SystemExit(f"Unknown page command {other!r} in the source; flowables() lists the known.")
            case "bullet_list_open":
                end = _closing(tokens, at)
                items = [ListItem(Paragraph(escape(t.content), body)) for t in tokens[at:end] if t.type == "inline"]
                yield ListFlowable(items, bulletType="bullet", start="–", leftIndent=6 * mm)
                at = end
            case "table_open":
                end = _closing(tokens, at)
                yield KeepTogether([*caption, _table(tokens[at:end]), Spacer(1, 5 * mm)])
                caption = []
                at = end
        at += 1


def _closing(tokens: list[Token], opened: int) -> int:
    closing = tokens[opened].type.replace("_open", "_close")
    return next(at for at in range(opened, len(tokens)) if tokens[at].type == closing)


def _table(tokens: list[Token]) -> Table:
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(token.content)
    longest = [min(50, max(9, *(len(row[column]) for row in rows))) + 3 for column in range(len(rows[0]))]
    widths = [(WIDTH - 2 * MARGIN) * length / sum(longest) for length in longest]
    head = ParagraphStyle("head", parent=CELL, fontName="Helvetica-Bold")
    cells = [[Paragraph(escape(cell), head if row is rows[0] else CELL) for cell in row] for row in rows]
    return Table(cells, widths, style=RULED, repeatRows=1)


def built(source: Path) -> bytes:
    tokens = MarkdownIt("commonmark").enable("table").parse(source.read_text("utf-8"))
    title = next(tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open")
    out = io.BytesIO()
    PolicyPages(out, title).multiBuild(list(flowables(tokens)))
    return out.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the PDFs of examples/review from their sources.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a PDF is not what is built")
    check = parser.parse_args().check
    for source in sorted((REVIEW / "sources").glob("*.md")):
        pdf = REVIEW / "policies" / f"{source.stem}.pdf"
        fresh = built(source)
        if not check:
            pdf.write_bytes(fresh)
            sys.stdout.write(f"{pdf.name}: {len(fresh) / 1000:.0f} kB\n")
        elif not pdf.exists() or pdf.read_bytes() != fresh:
            raise SystemExit(f"{pdf.name} is not what its source builds. Run: python -m scripts.build_review_samples")


if __name__ == "__main__":
    main()
