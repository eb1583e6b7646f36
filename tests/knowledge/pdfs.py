"""PDF files for the tests, made by reportlab as an office program would make them."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, Flowable, Frame, PageTemplate, Paragraph, Table, TableStyle

STYLES = getSampleStyleSheet()
WIDTH, HEIGHT = A4

SENTENCES = (
    "The insured must give notice of a claim in writing as soon as it is reasonably possible.",
    "Cover begins on the day that is written in the schedule and ends at midnight of the last day.",
    "A claim that is made after the period has ended is not paid unless the delay was excusable.",
    "We may ask for receipts, reports of the police and statements of witnesses before we pay.",
    "Payment is made by bank transfer to the account that was named in the application.",
    "Nothing in this part limits the rights that the law gives to consumers.",
)


def paragraph(text: str, style: str = "BodyText") -> Paragraph:
    return Paragraph(text, STYLES[style])


def grid(rows: Sequence[Sequence[str]]) -> Table:
    cells = [[Paragraph(cell, STYLES["BodyText"]) for cell in row] for row in rows]
    return Table(
        cells, colWidths=[70] * len(rows[0]), style=TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black)])
    )


def flowing(
    story: Sequence[Flowable], *, columns: int = 1, running: Callable[[Canvas, int], None] | None = None
) -> bytes:
    """The story in columns; `running` paints what every page repeats."""
    out = io.BytesIO()
    gap, margin = 24, 60
    width = (WIDTH - 2 * margin - gap * (columns - 1)) / columns
    frames = [Frame(margin + n * (width + gap), 80, width, HEIGHT - 160, 0, 0, 0, 0) for n in range(columns)]

    def paint(canvas: Canvas, template: BaseDocTemplate) -> None:
        if running:
            running(canvas, template.page)

    document = BaseDocTemplate(out, pagesize=A4)
    document.addPageTemplates([PageTemplate(frames=frames, onPage=paint)])
    document.build(list(story))
    return out.getvalue()


def painted(*pages: Callable[[Canvas], None], password: str | None = None) -> bytes:
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=A4, encrypt=StandardEncryption(password, canPrint=0) if password else None)
    for page in pages:
        page(canvas)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def wide_font() -> str:
    """The name of a font with Hebrew and Cyrillic letters."""
    for path in ("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "/Library/Fonts/Arial Unicode.ttf"):
        if Path(path).exists():
            pdfmetrics.registerFont(TTFont("wide", path))
            return "wide"
    pytest.skip("no font with Hebrew letters on this machine (DejaVu Sans)")
