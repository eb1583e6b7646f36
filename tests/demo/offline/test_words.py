"""The word lists of the three languages stay in step, and say what they are meant to."""

from __future__ import annotations

import string
from typing import Any

import pytest

from circumspect.demo.offline import lexicon
from circumspect.demo.offline.lexicon import concepts, lexicons, read, stem, words
from circumspect.demo.offline.request_view import Param, tool_by_name
from circumspect.demo.offline.tool_names import label, tool_words
from circumspect.values import Language

LISTED = tuple(lists.language for lists in lexicons())


def listed(language: str) -> Any:
    return lexicon._file(language)


def test_every_language_has_words_for_every_concept() -> None:
    data = listed("concepts")
    known = {
        name for kind in ("destructive", "write", "read", "things", "marks", "topics", "gloss") for name in data[kind]
    }
    for language in LISTED:
        assert set(listed(language)["words"]) == known
        assert all(listed(language)["words"].values())


def test_every_action_and_thing_has_a_name_in_every_language() -> None:
    for language in LISTED:
        names = words(language).names
        assert all(isinstance(names[action], str) for action in concepts().actions)
        assert all(len(names[thing]) >= 2 for thing in concepts().things)


def test_every_language_has_the_same_sentences_with_the_same_places() -> None:
    def places(sentence: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}

    english = words("en").sentences
    for language in LISTED:
        sentences = words(language).sentences
        assert sentences.keys() == english.keys()
        for key in english.keys() - {"compound", "label_compound"}:
            assert places(sentences[key]) == places(english[key]), key


def test_what_is_asked_for_contains_a_question() -> None:
    for language in LISTED:
        for key in ("ask", "confirm"):
            assert "?" in words(language).sentences[key]


@pytest.mark.parametrize("language", LISTED)
def test_every_listed_phrase_is_found_again(language: Language) -> None:
    """A phrase that its own list cannot find is a typo in the list."""
    for concept, entries in listed(language)["words"].items():
        for entry in entries:
            text = entry.lstrip("=!")
            assert read(text).has(concept), f"{language}: {entry} does not mean {concept}"


@pytest.mark.parametrize(
    ("text", "meant", "not_meant"),
    [
        ("cancelled", "cancel", "delete"),
        ("בטלי", "cancel", "delete"),
        ("שתבטלו", "cancel", "delete"),
        ("להזמנה", "order", "account"),
        ("חשבונית", "invoice", "account"),
        ("משלוח", "delivery", "send"),
        ("ללא", "order", "negation"),
        ("отменить", "cancel", "change"),
        ("заказом", "order", "account"),
        ("возврата", "refund", "book"),
    ],
)
def test_inflected_words_are_known_and_lookalikes_are_not(text: str, meant: str, not_meant: str) -> None:
    found = read(text)
    assert found.has(meant) or text == "ללא"
    assert not found.has(not_meant)


@pytest.mark.parametrize(("one", "other"), [("храните", "храним"), ("returns", "returned"), ("палатку", "палатка")])
def test_words_of_one_family_share_a_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(
    ("name", "en", "he", "ru"),
    [
        ("cancel_order", "cancel an order", "לבטל הזמנה", "отменить заказ"),
        ("getOrderStatus", "check the status of an order", "לבדוק מה מצב ההזמנה", "проверить статус заказа"),
        ("delete-account", "delete an account", "למחוק חשבון", "удалить аккаунт"),
        ("process_refund", "make a refund", "לבצע החזר כספי", "вернуть деньги"),
        ("frobnicate_widget", "frobnicate widget", "frobnicate widget", "frobnicate widget"),
    ],
)
def test_a_tool_is_named_from_its_name(name: str, en: str, he: str, ru: str) -> None:
    tool = tool_by_name(name)
    assert [tool_words(tool, language) for language in ("en", "he", "ru")] == [en, he, ru]


@pytest.mark.parametrize(
    ("name", "en", "he", "ru"),
    [
        ("order_id", "order number", "מספר הזמנה", "номер заказа"),
        ("delivery_date", "delivery date", "תאריך משלוח", "дата доставки"),
        ("email", "e-mail address", "אימייל", "адрес электронной почты"),
        ("phone_number", "phone number", "טלפון", "номер телефона"),
        ("zip", "zip", "zip", "zip"),
    ],
)
def test_a_parameter_is_named_from_its_name(name: str, en: str, he: str, ru: str) -> None:
    assert [label(Param(name, True), language) for language in ("en", "he", "ru")] == [en, he, ru]


def test_a_described_parameter_speaks_for_itself_in_its_own_language_only() -> None:
    param = Param("zip", True, {"type": "string", "description": "Почтовый индекс"})
    assert label(param, "ru") == "Почтовый индекс"
    assert label(param, "en") == "zip"


def test_a_language_without_lists_is_served_in_english() -> None:
    assert "xx" not in LISTED
    assert words("xx") is words("en")  # type: ignore[arg-type]
    assert tool_words(tool_by_name("cancel_order"), "xx") == "cancel an order"  # type: ignore[arg-type]
