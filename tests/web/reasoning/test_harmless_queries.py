"""What a search engine gets to see: words of our own lists and the name of the site, and nothing of anybody's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.web.reasoning.thinking import DOWN, LOGIN, Shelf, analysis, complete, judgement, reasoned

from circumspect.errors import ModelUnavailable
from circumspect.web.reasoning.search_queries import keep_harmless_words

PAGE = "https://demo.openemr.io/interface/login"
PRIVATE = [
    "Add patient Jaswanth Kumar with HIV, born 12 April 1980",
    "Register Ann Levi, ann.levi@mail.example, phone 054-123 45 67, depression",
    "Book a visit for my son at Herzl 12, Haifa, he has epilepsy",
    "IBAN DE89 3704 0044 0532 0130 00 does not work",
    "הוסף את דנה כהן, סוכרת, רחוב הרצל 12",
    "Добавь пациента Ивана Петрова, диабет, ул. Ленина 5",
    "Lege Frau Fischer an, Brustkrebs, Hauptstraße 7",
    "ann[at]levi(dot)example says the payment failed",
    "passport X1234567, card 4111 1111 1111 1111",
]
SECRETS = {
    "jaswanth", "kumar", "hiv", "1980", "12", "ann", "levi", "mail", "054", "123", "depression", "herzl", "haifa",
    "epilepsy", "de89", "3704", "0130", "דנה", "כהן", "סוכרת", "הרצל", "ивана", "петрова", "диабет", "ленина", "frau",
    "fischer", "brustkrebs", "hauptstraße", "hauptstrasse", "7", "5", "x1234567", "4111", "april", "iban",
}  # fmt: skip


@pytest.mark.parametrize("said", PRIVATE)
@pytest.mark.parametrize("broken", [ModelUnavailable("down"), "not json", '{"source": 7}'])
async def test_without_an_analysis_nothing_leaves_the_house_and_the_user_is_told(said: str, broken: object) -> None:
    thinking = await reasoned(said, analyse=broken, fast=_down(), verify=complete(), shelf=Shelf(remote=True))
    assert thinking.shelf is not None
    assert thinking.shelf.queries == []
    assert thinking.asked
    assert "search engine" in thinking.reasoned.question
    assert "PRIVATE_NOT_SEARCHED" in thinking.codes


@pytest.mark.parametrize("said", PRIVATE)
async def test_a_model_that_repeats_the_user_sends_none_of_what_is_theirs(said: str) -> None:
    """In the first query and in every one that is made of it."""
    again = judgement(False, 0.4, should_retry=True, refined_query=f"error {said}")
    thinking = await reasoned(
        said, analyse=analysis("WEB_SEARCH", 0.9, search_query=f"how to add patient {said}"), evaluate=again,
        verify=complete(), shelf=Shelf(remote=True),
    )  # fmt: skip
    assert thinking.shelf is not None
    assert thinking.shelf.queries, "what is left is still searched for"
    for query in thinking.shelf.queries:
        assert not SECRETS & set(query.lower().split()), query


@pytest.mark.parametrize("source", ["WEB_SEARCH", "PAGE"])
async def test_a_query_of_nothing_but_private_words_becomes_a_question(source: str) -> None:
    thinking = await reasoned(
        "Jaswanth has HIV", analyse=analysis(source, 0.8, search_query="Jaswanth HIV treatment"), evaluate=judgement(),
        verify=complete(), shelf=Shelf(remote=True),
    )  # fmt: skip
    assert thinking.shelf is not None
    assert thinking.shelf.queries == []
    assert thinking.asked


async def test_the_house_may_look_its_own_words_up_in_its_own_documents() -> None:
    thinking = await reasoned("Rooms for Ann Levi", analyse="?", fast=_down(), verify=complete(), shelf=Shelf())
    assert thinking.shelf is not None
    assert thinking.shelf.queries == ["Rooms for Ann Levi"]


async def test_a_search_that_fails_is_no_withheld_one() -> None:
    thinking = await reasoned(
        analyse=analysis("WEB_SEARCH", 0.9), verify=complete(), shelf=Shelf([DOWN], remote=True), page=LOGIN
    )
    assert not thinking.asked


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("How to register new patient in OpenEMR 7.0 with required fields", "How to register new patient in OpenEMR with required fields"),
        ("OpenEMR billing module error 505 logs", "OpenEMR billing module error 505 logs"),
        ("refund for order 4711 of Ann Levi", "refund for order of"),
        ("error 4111111111111111 payment failed", "error payment failed"),
        ("resetting passwords for customers", "resetting passwords for customers"),
        ("как добавить пациента Петрова", "как добавить пациента"),
        ("ann.levi@clinic.example", ""),
        ("Jaswanth", ""),
        ("to the of", ""),
    ],
)  # fmt: skip
def test_words_of_our_lists_and_the_site_are_sent_and_no_others(written: str, sent: str) -> None:
    assert keep_harmless_words(written, PAGE, "") == sent


def test_a_name_that_is_a_word_stays_at_home() -> None:
    said = "Please add the customer Bill Price to the invoice"
    assert keep_harmless_words("add customer bill price invoice", PAGE, said) == "add customer invoice"


@given(st.text(max_size=80))
def test_no_word_is_sent_that_was_not_in_the_query(query: str) -> None:
    sent = keep_harmless_words(query, "", "")
    assert keep_harmless_words(sent, "", "") == sent
    assert "@" not in sent


def _down() -> object:
    from circumspect.models.scripted import ScriptedModel

    return ScriptedModel(lambda _: ModelUnavailable("down"), name="fast")
