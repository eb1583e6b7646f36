"""Sections nest, follow each other, leave nothing out, and point at exactly what they say."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from circumspect.knowledge.read_document import read_document
from circumspect.knowledge.tree import DocumentSection, KnowledgeDocument, SectionHeading, TextSpan, grow

LINES = st.sampled_from(
    ["# One", "## Two", "### Three", "###### Six", "Setext", "===", "---", "```", "# in code?", "> # quoted", "- # item",
     "plain words here.", "", "", "    # indented", "<!-- gone -->", "<!--", "-->", "<div>", "</div>", "| a | b |",
     "| - | - |", "שלום # עולם", "## כותרת", "# Заголовок `код`", "\t# tab", "#", "1. # x", "* * *", "~~~"]
)  # fmt: skip


def holds(document: KnowledgeDocument) -> None:
    sections = list(document.sections())
    assert sections[0] is document.root
    assert document.root.span == TextSpan(0, len(document.text))
    assert len({section.id for section in sections}) == len(sections)
    for section in sections:
        assert 0 <= section.span.start <= section.span.end <= len(document.text)
        assert section.own.start == section.span.start
        edge = section.own.end
        for number, child in enumerate(section.children, 1):
            assert child.span.start == edge, "children follow each other, with nothing between them"
            assert child.level == section.level + 1
            assert child.path == (*section.path, child.title)
            assert child.id == (f"{section.id}.{number}" if section.id else str(number))
            edge = child.span.end
        assert edge == section.span.end, "own text and children are the whole section"
        assert document.section(section.id) is section
    owned = "".join(document.quote(section.own) for section in sections)
    assert owned == document.text, "in reading order, the sections' own texts are the document"
    for offset in range(len(document.text)):
        deepest = document.section_at(offset)
        assert offset in deepest.own


@settings(max_examples=300)
@given(st.lists(LINES, max_size=25))
def test_any_markdown_makes_a_tree_that_holds(lines):
    text = "\n".join(["start", *lines])
    document = read_document(text.encode(), "a.md")
    holds(document)
    for section in document.sections():
        # The title's words stand at the section's beginning, among its markup.
        rest = document.quote(section.own)
        for word in section.title.split() if section.id else ():
            assert word in rest.split("\n\n")[0]


@settings(max_examples=100)
@given(st.text(max_size=300).filter(lambda text: any(letter.isalpha() for letter in text)))
def test_any_text_in_any_format_makes_a_tree_that_holds(text):
    data = text.encode("utf-8", "ignore")
    for name in ("a.txt", "a.md", "a.html"):
        try:
            holds(read_document(data, name))
        except Exception as refused:
            assert type(refused).__name__ == "DocumentRefused"  # noqa: PT017


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(1, 6)), max_size=12, unique_by=lambda pair: pair[0]))
def test_headings_of_any_levels_make_a_tree_that_holds(marks):
    text = "x" * 100
    headings = [SectionHeading(start, level, f"t{start}") for start, level in marks]
    root = grow(text, "t", headings)
    document = KnowledgeDocument("d", "t", text, root, (), "text/plain", "")
    holds(document)
    assert {section.span.start for section in document.sections() if section.id} == {start for start, _ in marks}


def test_levels_may_skip():
    root = grow("abcdef", "t", [SectionHeading(0, 1, "a"), SectionHeading(2, 4, "b"), SectionHeading(4, 2, "c")])
    assert [(section.id, section.title) for section in root.walk()] == [
        ("", "t"),
        ("1", "a"),
        ("1.1", "b"),
        ("1.2", "c"),
    ]


def test_pages_are_found_by_offset():
    pages = (TextSpan(0, 10), TextSpan(10, 10), TextSpan(10, 30))
    root = grow("x" * 30, "t", [SectionHeading(12, 1, "a")], pages)
    document = KnowledgeDocument("d", "t", "x" * 30, root, pages, "application/pdf", "")
    assert [document.page_of(offset) for offset in (0, 9, 10, 29)] == [1, 1, 3, 3]
    child: DocumentSection = root.children[0]
    assert child.page == 3
