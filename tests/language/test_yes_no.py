"""G18: a yes is a yes only if all of it is. The cases are in `answers.txt`."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.language.answer_cases import cases

from circumspect.language import yes_no
from circumspect.language.folding import fold_words
from circumspect.language.pack import pack
from circumspect.language.phrases import words
from circumspect.language.yes_no import classify
from circumspect.values import LANGUAGES

CASES = cases()
YES = [case for case in CASES if case.answer == "confirm" and not case.values]
NO = [case for case in CASES if case.answer == "deny" and not case.values]
BLOCKERS = [word for language in LANGUAGES for word in pack(language).phrases["blocker"]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.language}-{case.answer}-{case.text}")
def test_every_answer_is_read_as_it_is_meant(case):
    assert classify(case.text, values=case.values) == case.answer


def test_there_are_enough_cases_in_each_language():
    assert all(count >= 80 for count in Counter(case.language for case in CASES).values())
    assert {case.language for case in CASES} == set(LANGUAGES)


@pytest.mark.parametrize("language", [None, *LANGUAGES])
def test_the_language_of_the_conversation_does_not_matter(language):
    assert [classify(text, language) for text in ("yes", "כן", "да")] == ["confirm"] * 3
    assert [classify(text, language) for text in ("no", "לא", "нет")] == ["deny"] * 3


def test_a_yes_that_repeats_the_pending_values_is_a_yes():
    pending = ("refund", "12345", "20.5", "Dana Levi")
    assert classify("Yes, refund order #12345, $20.50, Dana Levi.", values=pending) == "confirm"
    assert classify("Yes, refund order #12345, $20.05, Dana Levi.", values=pending) == "other"
    assert classify("Yes, refund order #12345, $20.50, Dana.", values=pending) == "other"


def test_a_part_of_a_value_is_not_the_value():
    assert classify("yes, 12", values=("12 Main Street",)) == "other"
    assert classify("yes, 12 main street", values=("12 Main Street",)) == "confirm"


def test_a_value_cannot_make_a_no_a_yes_or_take_a_doubt_away():
    for word in ("no", "not", "but", "if", "only", "לא", "אבל", "нет", "но"):
        assert classify(f"yes {word}", values=(word,)) == "other"


def test_going_ahead_with_a_thing_is_no_yes_to_doing_away_with_it():
    for text in ("go ahead with my order", "please proceed with the order", "confirm my booking", "תמשיך עם ההזמנה"):
        assert classify(text) == "other"
        assert classify(text, values=("cancel_order", "12345")) == "other"


def test_an_unfinished_message_is_no_answer():
    for text in ("yes and", "yes, I would like to", "yes, cancel my", "כן, את", "да, и"):
        assert classify(text) == "other"


@settings(max_examples=1000)
@given(st.text(max_size=60))
def test_any_text_has_an_answer(text):
    assert classify(text) in ("confirm", "deny", "other")


@settings(max_examples=1000)
@given(st.sampled_from(YES), st.integers(0, 10**9), st.booleans())
def test_a_yes_with_any_number_in_it_is_unclear(case, number, before):
    text = f"{number} {case.text}" if before else f"{case.text} {number}"
    assert classify(text) == "other"


@settings(max_examples=1000)
@given(st.sampled_from(YES), st.sampled_from(BLOCKERS), st.booleans())
def test_a_yes_with_a_condition_or_an_addition_is_unclear(case, word, before):
    assert classify(f"{word}, {case.text}" if before else f"{case.text}, {word}") == "other"


@settings(max_examples=1000)
@given(st.sampled_from(YES), st.sampled_from(NO))
def test_a_yes_and_a_no_together_are_never_a_yes(yes, no):
    assert classify(f"{yes.text}. {no.text}") != "confirm"
    assert classify(f"{no.text}. {yes.text}") != "confirm"


@settings(max_examples=1000)
@given(st.sampled_from(YES), st.sampled_from(["«{}»", '"{}"', "“{}”", "'{}'", "> {}", "{}?", "he said {}"]))
def test_a_yes_that_is_quoted_or_asked_is_unclear(case, frame):
    assert classify(frame.format(case.text)) == "other"


@settings(max_examples=1000)
@given(
    st.sampled_from(YES),
    st.text("abcdefghijklmnopqrstuvwxyzאבגדהוזחטיכלמנסעפצקרשתабвгдежзиклмнопрст", min_size=4, max_size=9),
)
def test_a_yes_with_a_word_nobody_knows_is_unclear(case, word):
    known = {
        part
        for language in LANGUAGES
        for lines in pack(language).phrases.values()
        for line in lines
        for part in line.split()
    }
    if not any(word.startswith(part) or part in word for part in known):
        assert classify(f"{case.text} {word}") == "other"


@pytest.mark.parametrize("language", LANGUAGES)
def test_phrases_are_written_the_way_messages_are_read(language):
    for heading, lines in pack(language).phrases.items():
        for line in lines:
            plain = " ".join(line.split(" = ")[-1].replace("...", " ").replace("*", "").split())
            assert " ".join(words(fold_words(plain))) == plain, f"[{heading}] {line}"


def test_no_phrase_means_two_things():
    plain = [
        (phrase, heading)
        for language in LANGUAGES
        for heading, phrases in pack(language).phrases.items()
        if heading not in ("same", "dangling", "harmless", "not last")
        and not heading.startswith(("act ", "thing ", "destructive_"))
        for phrase in phrases
    ]
    kinds: dict[str, set[str]] = {}
    for phrase, heading in plain:
        kinds.setdefault(phrase, set()).add(heading)
    assert {phrase: found for phrase, found in kinds.items() if len(found) > 1} == {}


def test_every_language_has_every_list():
    needed = set(pack("en").phrases) - {"same"}
    for language in LANGUAGES:
        assert needed <= set(pack(language).phrases), language


QUESTION_RU = (
    "Подтвердите, пожалуйста: вернуть деньги за заказ 12345? Это действие нельзя отменить. Ответьте «да» или «нет»."
)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Да, за 12345", "confirm"),
        ("Да, за заказ 12345", "confirm"),
        ("Да, прошу", "confirm"),
        ("Да, будьте добры", "confirm"),
        ("Да, только 12345", "confirm"),
        ("Yes, only 12345", "confirm"),
        ("כן, רק 12345", "confirm"),
        ("Ja, nur 12345", "confirm"),
        ("Да, только 12344", "other"),
        ("Да, только не 12345", "other"),
        ("Да, нельзя", "other"),
        ("Yes, only", "other"),
        ("Yes, only tomorrow", "other"),
        ("only 12345", "other"),
    ],
)
def test_a_yes_may_repeat_what_was_asked_and_nothing_else(text: str, answer: str) -> None:
    assert classify(text, values=["refund", "12345"], asked=QUESTION_RU) == answer


def test_a_yes_may_name_all_that_the_call_has() -> None:
    asked = "Just to confirm: shall I send order 12345 to this address: “3 Palmach Street, Jerusalem”?"
    values = ["update_address", "12345", "3 Palmach Street, Jerusalem"]
    assert classify("Yes, order 12345 to 3 Palmach Street, Jerusalem", values=values, asked=asked) == "confirm"
    assert classify("Yes, order 12344 to 3 Palmach Street, Jerusalem", values=values, asked=asked) == "other"
    assert classify("Yes, only 12345", values=["cancel_order", "12345", "too late"]) == "confirm"


def test_only_one_of_several_values_is_no_yes_to_all() -> None:
    assert classify("yes, only 12345", values=["transfer", "12345", "50"], asked="Send 50 to 12345?") == "other"


@pytest.mark.parametrize(
    ("wished", "text", "answer"),
    [
        ("call it off", "yep, call it off", "confirm"),
        ("kill", "YES. Kill it.", "confirm"),
        ("kill", "yes, kill the other one", "other"),
        ("kill", "no, don't kill it", "deny"),
        ("kill", "yes, don't kill it", "other"),
        ("kill", "no, kill it", "other"),
        ("", "yep, call it off", "other"),
    ],
)
def test_what_the_user_asked_for_may_be_repeated_in_their_own_words(wished, text, answer):
    asked_for = [wished] if wished else []
    assert classify(text, values=["cancel_order", "12345"], wished=asked_for) == answer


def test_what_was_said_before_is_not_read_again_for_every_ruling(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    monkeypatch.setattr(yes_no, "_hear", lambda *given: read.append(given))
    for _ in range(2):
        assert classify("hm, perhaps once more then", values={"cancel_order"}) == "other"
        assert classify("hm, perhaps once more then", values={"refund"}) == "other"
    assert len(read) == 2, "once for each call that it may be about"
    yes_no._classify.cache_clear()
