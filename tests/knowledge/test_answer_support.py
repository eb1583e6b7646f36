"""Answers that are true sentences of the documents, and about something else than what was asked."""

from __future__ import annotations

import pytest

from circumspect.knowledge.answer_support import AtHand, find_unsupported
from circumspect.knowledge.asked_question import read_question
from circumspect.knowledge.stated_facts import list_facts
from circumspect.knowledge.stated_values import values

HOUSE = """Reading rooms

The main hall seats 80 people. A staircase leads from the cloakroom to floors 1 and 2. The print shop is in the courtyard.
Parcels are kept for 48 hours at the desk. A locker costs 2 euros. From May to September the garden closes at 8 pm,
otherwise at 4 pm. The desk opens at 7.30 am. Coats are handed back within 10 working days."""
HOTEL = "מלון הגן\n\nחדר זוגי עולה 120 אירו ללילה."
TWO_LANGUAGES = {1: HOTEL, 2: "Terms\n\n" + "These are the terms of everything that we offer to our guests. " * 4}


def is_said(question: str, answer: str, sources: dict[int, str] | None = None) -> bool:
    at_hand = AtHand(sources or {1: HOUSE}, asked=question, meant=question, looked_up=True)
    return find_unsupported(answer, at_hand) == ()


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many people does the main hall seat?", "The main hall seats 80 people. [1]"),
        ("When does the desk open in the morning?", "The desk opens at 7.30 am. [1]"),
        ("Until when is the garden open in July?", "From May to September the garden closes at 8 pm. [1]"),
        ("How soon are coats handed back?", "Coats are handed back within 10 working days. [1]"),
    ],
)
def test_what_answers_is_said(question: str, answer: str) -> None:
    assert is_said(question, answer)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        # The number of a floor counts nothing.
        ("How many coats fit into the cloakroom?", "A staircase leads from the cloakroom to floors 1 and 2. [1]"),
        # How many there are is no price.
        ("How many lockers are there?", "A locker costs 2 euros. [1]"),
        # Opening hours are no length of time.
        ("What are the opening hours of the desk?", "Parcels are kept for 48 hours at the desk. [1]"),
        # The print shop is in the documents, and elsewhere.
        ("When does the desk of the print shop open?", "The desk opens at 7.30 am. [1]"),
        # The thing that was asked about is in none of them.
        ("How much is a locker for a surfboard?", "A locker costs 2 euros. [1]"),
        ("Until when is the garden open in December?", "From May to September the garden closes at 8 pm. [1]"),
    ],
)
def test_what_is_about_something_else_is_not_said(question: str, answer: str) -> None:
    assert not is_said(question, answer)


def test_passages_of_another_language_beside_it_excuse_no_answer() -> None:
    """A pool was asked for; "and how much" is written together in Hebrew."""
    assert is_said("כמה עולה חדר זוגי?", "חדר זוגי עולה 120 אירו ללילה. [1]", TWO_LANGUAGES)
    assert not is_said("האם יש בריכה וכמה היא עולה?", "חדר זוגי עולה 120 אירו ללילה. [1]", TWO_LANGUAGES)


@pytest.mark.parametrize("text", ["decks 1 and 2", "marina 3", "mayor 4", "Markt 7", "сенатор 5", "марка 3"])
def test_what_only_begins_like_a_month_is_none(text: str) -> None:
    assert [one.kind for one in values(text) if one.kind == "date"] == []


@pytest.mark.parametrize("text", ["Sept 3", "3 Dec", "June 7th", "5 мая", "7 июня", "3 сентября", "4. März", "9 Jan"])
def test_months_are_read_by_their_names(text: str) -> None:
    assert [one.kind for one in values(text)] == ["date"]


def test_a_number_behind_the_name_of_a_place_is_its_name() -> None:
    assert [one.unit for one in list_facts("It goes to floors 3 and 5.")] == ["floor 3", "floor 5"]


def test_working_days_are_a_length_of_time() -> None:
    assert [one.kind for one in list_facts("within 10 working days")] == ["duration"]
    assert "duration" in read_question("How soon do I get it back?").kinds
