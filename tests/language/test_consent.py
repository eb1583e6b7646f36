"""Did the user agree? Read from words."""

from __future__ import annotations

import pytest

from circumspect.language.consent import asks, asks_to_confirm, consent


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "Yes, please go ahead. Thank you!",
        "That's correct, no problem at all.",
        "Sure! Book it.",
        "Confirm. And I also want to return the shoes.",
        "Yes. Can you tell me the total afterwards?",
        "Thank you for the details. Yes, please proceed with the refund.",
        "It is no longer needed, so yes, please cancel it.",
        "да",
        "Да, конечно, подтверждаю.",
        "כן",
        "Oui, merci !",
    ],
)
def test_these_agree(text: str) -> None:
    assert consent(text) == "yes"


@pytest.mark.parametrize(
    "text",
    [
        "Yes, but change the date first.",
        "Yes if it is free.",
        "Actually, use the other card and then go ahead.",
        "I would like the green one.",
        "Please use my gift card.",
        "I don't have it here. Can you look it up? Yes, that one.",
        "Is that correct?",
        "Да, но другой заказ.",
        "כן, אבל לא את זה.",
        "",
        "…",
    ],
)
def test_these_leave_it_open(text: str) -> None:
    assert consent(text) == "unclear"


@pytest.mark.parametrize("text", ["no", "No, thanks.", "Stop.", "Don't do that.", "нет", "לא", "never mind"])
def test_these_refuse(text: str) -> None:
    assert consent(text) == "no"


def test_what_waits_for_an_answer_is_told_from_what_does_not() -> None:
    assert asks("Which one would you like?")
    assert asks("Please confirm the address.")
    assert not asks("I have found your order. One moment.")
    assert asks_to_confirm("I will cancel order A1. Is that correct?")
    assert not asks_to_confirm("What is your name?")
