"""Passages: never across sections, never too long, and exactly what the document says."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from circumspect.knowledge.passages import ENOUGH_WORDS, MOST_WORDS, cut, sentences
from circumspect.knowledge.read_document import read_document

BLOCKS = st.sampled_from(
    ["# A\n\n", "## B\n\n", "Short one. ", "One, two, three. " * 30, "word " * 450, "\n\n", "\n", "- item of a list\n",
     "| a | b |\n", "Это предложение. И ещё одно! ", "משפט אחד. משפט שני? ", "1.5 and v2.0 e.g. this. "]
)  # fmt: skip


@settings(max_examples=150)
@given(st.lists(BLOCKS, max_size=15))
def test_passages_hold_every_word_once_and_are_of_one_section(blocks):
    document = read_document(("start " + "".join(blocks)).encode(), "a.md")
    pieces = list(cut(document))
    for piece in pieces:
        text = document.quote(piece.span)
        assert piece.section.own.covers(piece.span)
        assert text == text.strip() != ""
        assert len(re.findall(r"\w+", text)) <= MOST_WORDS
    assert [piece.span.start for piece in pieces] == sorted(piece.span.start for piece in pieces)
    covered = " ".join(document.quote(piece.span) for piece in pieces).split()
    bare = [s for s in document.sections() if s not in [piece.section for piece in pieces]]
    everything = document.text.split()
    missing = sum(len(document.quote(section.own).split()) for section in bare)
    assert len(covered) >= len(everything) - missing - 1
    for section in bare:
        assert set(re.findall(r"\w+", document.quote(section.own))) <= set(re.findall(r"\w+", section.title))


def test_a_long_section_is_cut_at_the_end_of_a_sentence():
    text = "# A\n\n" + " ".join(f"This is the sentence with number {n} in it." for n in range(80))
    document = read_document(text.encode(), "a.md")
    pieces = [document.quote(piece.span) for piece in cut(document)]
    assert len(pieces) > 2
    assert all(piece.endswith(".") for piece in pieces)
    assert all(len(piece.split()) >= ENOUGH_WORDS / 2 for piece in pieces[:-1])


def test_sentences_are_spans_of_their_text():
    text = "Costs $1.50 today. Really? «Да.» Rows:\n| a | 1.2 |\nמשפט."
    found = [text[span.start : span.end] for span in sentences(text)]
    assert found == ["Costs $1.50 today.", "Really?", "«Да.»", "Rows:", "| a | 1.2 |", "משפט."]
