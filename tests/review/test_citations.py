"""Quotes: found however they are copied, corrected to the document's own text, refused when they are not there."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.review.conftest import POLICY, RULE, document

from circumspect.knowledge.tree import TextSpan
from circumspect.review.citations import cite, searchable
from circumspect.review.shelf import Shelf

SHELF = {"handbook.md": searchable(document())}
TRICKY = (
    "The “member” shall – in writing – ask the infor-\nmation desk\nwithin 5 days. It’s a ﬁnal\u00a0limit.\n\n"
    "It is a final limit.\n\nA long-term plan is **not** a plan. Straße 12 is near."
)


def found(claim: str, text: str = TRICKY) -> str | None:
    one = document(text, "tricky.txt")
    citation = cite(claim, {"tricky.txt": searchable(one)})
    if citation is None:
        return None
    assert one.text[citation.start : citation.end] == citation.quote
    return citation.quote


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ('The "member" shall - in writing - ask', "The “member” shall – in writing – ask"),
        ("ask the information desk within 5 days", "ask the infor-\nmation desk\nwithin 5 days"),
        ("ASK THE INFORMATION DESK", "ask the infor-\nmation desk"),
        ("“…it's a final limit.”", "It’s a ﬁnal\u00a0limit."),
        ("A longterm plan is not a plan", "A long-term plan is **not** a plan"),
        ("a long-\nterm plan", "A long-term plan"),
        ("strasse 12 is near", "Straße 12 is near"),
    ],
)
def test_a_quote_is_found_however_it_was_copied(claim: str, quote: str) -> None:
    assert found(claim) == quote


@pytest.mark.parametrize(
    "claim",
    [
        "within 6 days of the request",
        "ask the information desk within 50 days",
        "ask the information … within 5 days",
        "the",
        "",
        '"…"',
        "in writ",
        "mation desk within 5 day",
    ],
)
def test_what_is_not_there_or_says_too_little_is_no_quote(claim: str) -> None:
    assert found(claim) is None


def test_a_citation_says_where_it_stands() -> None:
    citation = cite(RULE, SHELF, document="handbook.md")
    assert citation is not None
    assert citation.path == ("Claims handbook", "1 Time limits", "1.1 Claims for a trip")
    assert POLICY[citation.start : citation.end] == citation.quote == RULE


def test_a_quote_of_another_document_is_not_one_of_the_named_one() -> None:
    shelf = {**SHELF, "other.md": searchable(document("# Other\n\nNothing of the kind is said here.\n", "other.md"))}
    assert cite(RULE, shelf, document="other.md") is None
    assert cite(RULE, shelf, document="") is not None
    assert cite(RULE, shelf, document="no-such.md") is not None


def test_of_two_places_the_named_section_and_then_the_nearest_counts() -> None:
    text = "# A\n\nThe same words stand here.\n\n# B\n\nThe same words stand here.\n"
    one = {"two.md": searchable(document(text, "two.md"))}
    second = cite("The same words stand here.", one, section="2")
    assert second is not None
    assert second.start == text.rindex("The same")
    near = cite("The same words stand here.", one, start=len(text))
    assert near is not None
    assert near.start == text.rindex("The same")


@settings(max_examples=300)
@given(st.text(max_size=80) | st.integers(0, len(POLICY)).flatmap(lambda a: st.just(POLICY[a : a + 60])))
def test_no_quote_is_ever_returned_that_is_not_in_the_document(claim: str) -> None:
    citation = cite(claim, SHELF)
    if citation is not None:
        assert SHELF["handbook.md"].document.text[citation.start : citation.end] == citation.quote
        assert 0 <= citation.start < citation.end <= len(POLICY)


@settings(max_examples=150)
@given(st.data())
def test_every_stretch_of_whole_words_is_found_again(data: st.DataObject) -> None:
    words = POLICY.split()
    first = data.draw(st.integers(0, len(words) - 4))
    claim = " ".join(words[first : first + 4]).strip("#").strip()
    if sum(letter.isalnum() for letter in claim) >= 8:
        assert cite(claim, SHELF) is not None


def test_search_finds_by_words_and_tightens_to_sentences() -> None:
    shelf = Shelf([document()])
    hit = shelf.search("when must a claim for a trip be submitted")[0]
    assert hit.section.title.startswith("1.1")
    found = shelf.find("handbook.md#s1.2")
    assert found is not None
    spans = shelf.tighten(found[1], found[0], "hotel bill night")
    assert [found[0].quote(span) for span in spans][-1].startswith("A hotel bill is required")
    assert shelf.search("") == ()
    assert shelf.search('"quote" OR (NEAR') is not None
    assert shelf.find("9.9") is None


def test_a_number_means_the_one_that_is_printed_and_never_a_place_in_the_outline() -> None:
    shelf = Shelf([document()])
    found = [shelf.find(name) for name in ("handbook.md#1.2", "handbook.md#s1.2", "handbook.md#s1.1.2")]
    assert [one[1].title for one in found if one] == [
        "1.2 Claims for a purchase",
        "2 Hotels",
        "1.2 Claims for a purchase",
    ]
    assert shelf.find("handbook.md#1.1.1") is None


def test_a_page_that_is_claimed_picks_the_place_and_a_wrong_one_is_corrected() -> None:
    text = "The limit is 30 days.\n\nMore.\n\nThe limit is 30 days.\n"
    second = text.rindex("The")
    one = replace(document(text, "a.txt"), pages=(TextSpan(0, second), TextSpan(second, len(text))))
    pages = [cite("The limit is 30 days.", Shelf([one]).searchable, page=page) for page in (None, 2, 7)]
    assert [found.page for found in pages if found] == [1, 2, 1]
