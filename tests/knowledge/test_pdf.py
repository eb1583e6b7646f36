"""PDF: the order a person reads in, page numbers, tables by row, and no guessing where there is no text."""

from __future__ import annotations

import io

import pytest
from PIL import Image
from reportlab.lib.utils import ImageReader
from tests.knowledge.pdfs import HEIGHT, SENTENCES, WIDTH, flowing, grid, painted, paragraph, wide_font
from tests.knowledge.test_tree import holds

from circumspect.knowledge.parsed import DocumentRefused
from circumspect.knowledge.read_document import read_document

ALL = " ".join(SENTENCES)


def flat(text: str) -> str:
    return " ".join(text.split())


def running(canvas, number):
    canvas.setFont("Helvetica", 8)
    canvas.drawString(60, HEIGHT - 40, "Meridian Mutual: General Conditions 2026")
    canvas.drawString(280, 30, f"Page {number} of 9")


def story(paragraphs=8):
    return [
        paragraph("General Conditions of Travel Cover", "Title"),
        paragraph("These conditions are part of your contract."),
        paragraph("1. Scope", "Heading2"),
        *[paragraph(f"Item {n}. {ALL}") for n in range(paragraphs)],
        paragraph("1.1 Waiting periods", "Heading3"),
        paragraph("The table shows when cover begins."),
        grid([["Service", "Waiting period"], ["Dental care, crowns and bridges", "30 days"], ["Eye care", "14 days"]]),
        paragraph("2. Claims", "Heading2"),
        *[paragraph(f"Claim {n}. {ALL}") for n in range(paragraphs)],
    ]


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_columns_are_read_one_after_the_other(columns):
    document = read_document(flowing(story(), columns=columns, running=running), "conditions.pdf")
    holds(document)
    text = flat(document.text)
    places = [text.find(f"Item {n}. {ALL}") for n in range(8)] + [text.find(f"Claim {n}. {ALL}") for n in range(8)]
    assert -1 not in places, "every paragraph is whole"
    assert places == sorted(places)
    assert [(section.id, section.title) for section in document.sections()][1:] == [
        ("1", "General Conditions of Travel Cover"),
        ("1.1", "1. Scope"),
        ("1.1.1", "1.1 Waiting periods"),
        ("1.2", "2. Claims"),
    ]
    assert "Dental care, crowns and bridges | 30 days\nEye care | 14 days" in document.text
    assert document.title == "General Conditions of Travel Cover"


def test_headers_and_footers_are_left_out_and_pages_are_counted():
    document = read_document(flowing(story(16), running=running), "conditions.pdf")
    assert len(document.pages) >= 3
    assert "Meridian" not in document.text
    assert "Page" not in document.text
    assert document.page_of(0) == 1
    claims = document.section("1.2")
    assert claims is not None
    assert claims.page is not None
    assert claims.page > 1
    assert document.pages[claims.page - 1].covers(document.pages[document.page_of(claims.span.start) - 1])
    assert "".join(document.quote(page) for page in document.pages) == document.text


def test_a_word_cut_at_the_end_of_a_line_is_made_whole():
    def page(canvas):
        canvas.setFont("Helvetica", 11)
        for number, line in enumerate(("The policy covers medical treat-", "ment abroad for a 30-", "day trip.")):
            canvas.drawString(60, 700 - 13 * number, line)

    assert (
        read_document(painted(page), "a.pdf").text == "The policy covers medical treatment abroad for a 30- day trip."
    )


def test_a_table_without_rules_stays_row_by_row():
    rows = [("Service", "Fee"), *((f"Visit of kind {n}", f"${n}0") for n in range(1, 9))]

    def page(canvas):
        canvas.setFont("Helvetica", 11)
        for number, (name, fee) in enumerate(rows):
            canvas.drawString(60, 700 - 14 * number, name)
            canvas.drawString(330, 700 - 14 * number, fee)

    text = read_document(painted(page), "a.pdf").text
    assert text.split("\n") == [f"{name} | {fee}" for name, fee in rows]


def test_bold_lines_head_sections_where_sizes_do_not_differ():
    def page(canvas):
        height = 760
        for head in ("Eligibility", "Exclusions"):
            canvas.setFont("Helvetica-Bold", 11)
            canvas.drawString(60, height, head)
            canvas.setFont("Helvetica", 11)
            for sentence in SENTENCES:
                height -= 14
                canvas.drawString(60, height, sentence)
            height -= 30

    document = read_document(painted(page), "a.pdf")
    assert [section.title for section in document.sections()][1:] == ["Eligibility", "Exclusions"]
    assert flat(document.quote(document.section("2").own)) == f"Exclusions {ALL}"


def test_hebrew_is_turned_back_into_the_order_it_is_read_in():
    font = wide_font()
    painted_as = ["םימי 14 ךותב רצומ ריזחהל רשפא", ".(תופסות אלל) 25₪ וא ALPHA קד 30-ב לופיט"]

    def page(canvas):
        canvas.setFont(font, 11)
        for number, line in enumerate(painted_as):
            canvas.drawRightString(WIDTH - 60, 700 - 40 * number, line)

    text = read_document(painted(page), "a.pdf").text
    assert text.split("\n\n")[0] == "אפשר להחזיר מוצר בתוך 14 ימים"
    assert text.split("\n\n")[1] == "טיפול ב-30 דק ALPHA או 25₪ (ללא תוספות)."


def scan(canvas):
    picture = Image.new("L", (200, 300), 200)
    out = io.BytesIO()
    picture.save(out, "PNG")
    canvas.drawImage(ImageReader(io.BytesIO(out.getvalue())), 0, 0, WIDTH, HEIGHT)


def words(canvas):
    canvas.drawString(60, 700, ALL)


def test_a_scan_is_refused_and_ocr_is_named():
    with pytest.raises(DocumentRefused, match="no text layer: it looks like a scan") as refused:
        read_document(painted(scan, scan), "policy.pdf")
    assert "OCR" in refused.value.fix


def test_a_file_that_is_partly_a_scan_is_refused_too():
    with pytest.raises(DocumentRefused, match="on 1 of its 2 pages \\(page 2 first\\)"):
        read_document(painted(words, scan), "policy.pdf")


def test_a_picture_for_a_cover_does_no_harm():
    document = read_document(painted(scan, *[words] * 5), "policy.pdf")
    assert len(document.pages) == 6
    assert document.page_of(0) == 2


def test_an_encrypted_file_is_refused():
    with pytest.raises(DocumentRefused, match="encrypted") as refused:
        read_document(painted(words, password="secret"), "policy.pdf")
    assert "password" in refused.value.fix
