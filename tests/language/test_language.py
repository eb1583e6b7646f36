"""The letters of a message decide its language; names, numbers and one stray word keep the conversation's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect.language.detection import detect

ENGLISH = [
    "Hi",
    "yes",
    "Where is my order?",
    "cancel my order please",
    "I don't want this anymore",
    "What are your opening hours?",
    "thanks!",
    "My order is W-12345",
    "refund",
    "Can I return an iPhone 15?",
    "I'd like to book an appointment for tomorrow",
    "no",
    "Please cancel the order for דנה כהן, thanks for helping me",
    "café or résumé",
    "THE ORDER IS LATE",
    "ok 👍",
]
HEBREW = [
    "שלום",
    "כן",
    "לא",
    "איפה ההזמנה שלי?",
    "תבטל את ההזמנה 12345",
    "אני רוצה להחזיר iPhone 15 Pro Max",
    "ההזמנה של Dana Levi",
    "כֵּן בְּבַקָּשָׁה",
    "מה שעות הפתיחה?",
    'ארה"ב',
    "צ'ק",
    "אפשר refund בבקשה?",
    "המייל שלי dana@example.com",
    "כן 👍",
    "תבטל order",
    "רוצה לקנות Samsung Galaxy S24 Ultra",
]
RUSSIAN = [
    "Привет",
    "да",
    "нет",
    "Где мой заказ?",
    "Отмените заказ 12345",
    "Хочу вернуть iPhone 15 Pro Max",
    "Заказ на имя Dana Levi",
    "Какие у вас часы работы?",
    "моя почта dana@example.com",
    "ещё раз",
    "ДА!!!",
    "Можно refund?",
    "да 👍",
    "отмените order",
    "Ёлка",
    "Хочу купить Samsung Galaxy S24 Ultra",
]
TELLING_NOTHING = [
    "",
    "   ",
    "12345",
    "👍",
    "?!",
    "dana@example.com",
    "https://example.com/order",
    "#W1234567",
    "order_12345",
    "050-1234567",
    "25.12.2025",
    "₪ 120",
]
NAMES = [
    "ok",
    "iPhone",
    "iPhone 15 Pro Max",
    "Dana Levi",
    "Visa",
    "Google Pixel 8",
    "W12345",
    "Samsung",
    "cancel",
    "google pixel",
]
A_CHANGE = ["cancel my order", "I want to speak English", "thank you", "yes please", "Where is it?", "hello there"]


@pytest.mark.parametrize("kept", [None, "en", "he", "ru"])
@pytest.mark.parametrize("text", HEBREW)
def test_hebrew_letters_mean_hebrew(text, kept):
    assert detect(text, kept, "en") == "he"


@pytest.mark.parametrize("kept", [None, "en", "he", "ru"])
@pytest.mark.parametrize("text", RUSSIAN)
def test_cyrillic_letters_mean_russian(text, kept):
    assert detect(text, kept, "en") == "ru"


@pytest.mark.parametrize("kept", [None, "en"])
@pytest.mark.parametrize("text", ENGLISH)
def test_latin_letters_mean_english(text, kept):
    assert detect(text, kept, "he") == "en"


@pytest.mark.parametrize("text", TELLING_NOTHING)
def test_without_letters_the_conversation_keeps_its_language(text):
    assert detect(text, "he", "en") == "he"
    assert detect(text, "ru", "en") == "ru"
    assert detect(text, None, "ru") == "ru"


@pytest.mark.parametrize("text", NAMES)
def test_a_name_or_one_latin_word_keeps_the_language(text):
    assert detect(text, "he", "en") == "he"
    assert detect(text, "ru", "en") == "ru"


@pytest.mark.parametrize("text", A_CHANGE)
def test_a_sentence_in_english_changes_the_language(text):
    assert detect(text, "he", "he") == "en"
    assert detect(text, "ru", "he") == "en"


def test_of_hebrew_and_russian_the_larger_part_decides():
    assert detect("как сказать שלום", "he", "en") == "ru"
    assert detect("מה זה привет", "ru", "en") == "he"
    assert detect("да כן", "ru", "en") == "ru"
    assert detect("да כן", None, "en") == "he"


@pytest.mark.parametrize("text", ["مرحبا", "γεια σου", "你好"])
def test_other_scripts_keep_the_language(text):
    assert detect(text, "ru", "en") == "ru"
    assert detect(text, None, "he") == "he"


@given(st.text(), st.sampled_from([None, "en", "he", "ru"]), st.sampled_from(["en", "he", "ru"]))
def test_any_text_has_a_language(text, kept, default):
    assert detect(text, kept, default) in ("en", "he", "ru")
