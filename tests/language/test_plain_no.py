"""How many ways of saying no are read as one: of those that the word lists were made with, and of those put away."""

from __future__ import annotations

from pathlib import Path

import pytest

from circumspect.language.second_thoughts import leaves_open
from circumspect.language.yes_no import classify
from circumspect.values import LANGUAGES

PENDING = ("cancel_order", "12345")
HEARD = {"plain_no.txt": 0.9, "plain_no_held_out.txt": 0.7}


def sayings(name: str, language: str) -> list[str]:
    text = Path(__file__).with_name(name).read_text("utf-8")
    block = text.partition(f"[{language}]\n")[2].partition("\n[")[0]
    return block.strip().split("\n")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", HEARD)
def test_most_are_heard_and_none_is_a_yes(name, language):
    answers = [classify(text, language, values=PENDING) for text in sayings(name, language)]
    assert len(answers) == 30
    assert "confirm" not in answers
    assert answers.count("deny") / len(answers) >= HEARD[name]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", HEARD)
def test_those_that_are_not_heard_withdraw_the_question_all_the_same(name, language):
    unheard = [text for text in sayings(name, language) if classify(text, language, values=PENDING) != "deny"]
    assert [text for text in unheard if leaves_open(text, language, PENDING)] == []


@pytest.mark.parametrize(
    "text",
    [
        "no, wait, yes",
        "yes but not the refund",
        "yes if it is free",
        "hmm yes",
        "actually yes",
        "wait, yes",
        "don't stop",
        "I don't want it",
        "да нет наверное",
        "подождите, да",
        "רגע, כן",
        "אולי כן",
        "Moment, ja",
        "eigentlich ja",
    ],
)
def test_what_is_neither_stays_neither(text):
    assert classify(text, values=PENDING) == "other"
