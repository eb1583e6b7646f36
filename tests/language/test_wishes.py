"""G13: words that wish something gone, and words that only sound like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect.language.wishes import asks_outright, implies_destruction, is_order

WISHES = [
    ("I don't want this order anymore", "do not want this order anymore"),
    ("i dont want it", "do not want it"),
    ("I don’t want it", "do not want it"),
    ("I do not want my subscription any longer", "do not want my subscription"),
    ("I no longer need the chair", "no longer need"),
    ("I don't want to keep it", "do not want to keep"),
    ("Can we get rid of this booking?", "get rid of"),
    ("please remove the second item", "remove"),
    ("Undo that", "undo"),
    ("I want a refund", "refund"),
    ("I want my money back", "money back"),
    ("I changed my mind about the chair", "changed my mind"),
    ("I ordered it by mistake", "ordered it by mistake"),
    ("I'd rather cancel", "would rather cancel"),
    ("I'm thinking of cancelling", "thinking of cancelling"),
    ("I want it cancelled", "want it cancelled"),
    ("GET RID OF IT", "get rid of"),
    ("לא רוצה את ההזמנה", "לא רוצה"),
    ("אני כבר לא רוצה את זה", "לא רוצה"),
    ("לא רוצה להשאיר את זה", "לא רוצה להשאיר"),
    ("תבטל את ההזמנה", "תבטל"),
    ("תסיר אותי מהרשימה", "תסיר"),
    ("בטל", "בטל"),
    ("מחק את החשבון שלי", "מחק"),
    ("החזר כספי בבקשה", "החזר כספי"),
    ("אני רוצה החזר", "החזר"),
    ("התחרטתי", "התחרטתי"),
    ("לא צריכה את ההזמנה יותר", "לא צריכה את ההזמנה יותר"),
    ("לֹא רוֹצֶה", "לא רוצה"),
    ("не хочу этот заказ", "не хочу"),
    ("Мне больше не нужен этот заказ", "больше не нужен"),
    ("отмените заказ", "отмените"),
    ("Хочу отменить бронь", "отменить"),
    ("удалите мой аккаунт", "удалите"),
    ("уберите товар", "уберите"),
    ("верните деньги", "верните"),
    ("Хочу возврат", "возврат"),
    ("Я передумала", "передумала"),
    ("заказала это по ошибке", "заказала это по ошибке"),
]
HARMLESS = [
    "",
    "Where is my order?",
    "I want to know when it arrives",
    "I want to know if I can get a refund",
    "I'd like to know about refunds",
    "I don't want to wait",
    "I don't want to cancel",
    "I don't want to miss the delivery",
    "I don't want it to be late",
    "I don't want it cancelled",
    "I don't want a refund",
    "don't remove it",
    "Please do not remove anything",
    "never remove it",
    "What is your refund policy?",
    "How do refunds work?",
    "How long does a refund take?",
    "Where is my refund?",
    "My refund has arrived",
    "Did you refund me?",
    "cancel culture",
    "noise cancelling headphones",
    "Is the battery removable?",
    "hair removal cream",
    "I want this order",
    "I need it tomorrow",
    "לא רוצה לחכות",
    "אני לא רוצה לבטל",
    "אל תבטל",
    "לא לבטל",
    "בלי להסיר כלום, תודה",
    "מה מדיניות ההחזר?",
    "איך אפשר לבטל?",
    "אני רוצה לדעת מתי זה מגיע",
    "המבטל",
    "החזרה",
    "איפה ההזמנה שלי",
    "не хочу ждать",
    "Я не хочу отменять",
    "не отменяйте",
    "не надо отменять",
    "Как отменить заказ?",
    "Какие условия возврата?",
    "Можно ли вернуть товар?",
    "Хочу узнать, где заказ",
    "Где мой заказ?",
]
ORDERS = [
    ("cancel my order", "cancel"),
    ("Please cancel order 12345", "cancel"),
    ("Hi, please delete my account", "delete"),
    ("I want to cancel my booking", "cancel"),
    ("I'd like to cancel it", "cancel"),
    ("Can you cancel it please?", "cancel"),
    ("refund me", "refund"),
    ("Hello. Cancel it!", "cancel"),
    ("תבטל את ההזמנה", "תבטל"),
    ("בבקשה תמחקו את החשבון", "תמחקו"),
    ("отмените заказ", "отмените"),
    ("Пожалуйста, удалите аккаунт", "удалите"),
]
NO_ORDERS = [
    "I don't want this order anymore",
    "don't cancel it",
    "please do not cancel it",
    "I don't want to cancel",
    "How do I cancel?",
    "What happens if I cancel?",
    "cancel culture",
    "Did you cancel it?",
    "the cancel button does not work",
    "אל תבטל",
    "לא רוצה",
    "не отменяйте",
    "как отменить",
    "не хочу",
]


@pytest.mark.parametrize(("text", "phrase"), WISHES)
def test_a_wish_to_have_something_gone_is_found(text, phrase):
    assert implies_destruction(text) == phrase


@pytest.mark.parametrize("text", HARMLESS)
def test_words_that_only_sound_like_it_are_let_be(text):
    assert implies_destruction(text) is None


@pytest.mark.parametrize(("text", "phrase"), ORDERS)
def test_a_plain_order_is_found(text, phrase):
    assert asks_outright(text) == phrase


@pytest.mark.parametrize("text", NO_ORDERS)
def test_what_is_not_ordered_is_not_found(text):
    assert asks_outright(text) is None


@pytest.mark.parametrize("text", ["cancel my order", "Please delete my account"])
def test_a_plain_order_in_english_is_no_mere_wish(text):
    assert implies_destruction(text) is None


def test_a_wish_after_a_harmless_clause_is_found():
    assert implies_destruction("I don't want to wait, I want a refund") == "refund"


@given(st.text(max_size=200))
def test_any_text_is_searched(text):
    implies_destruction(text)
    asks_outright(text)


@pytest.mark.parametrize("text", ["do not want " * 20_000, "not remove " * 20_000, "and " * 50_000 + "cancel"])
def test_a_hostile_message_is_searched_in_reasonable_time(text):
    implies_destruction(text)
    asks_outright(text)


@pytest.mark.parametrize(
    "text",
    [
        "תמחק את הקובץ alt.txt",
        "שלום, תמחקי בבקשה את alt.txt",
        "הסר את הקובץ alt.txt",
        "Удали файл alt.txt",
        "Привет! Удалите, пожалуйста, alt.txt",
    ],
)
def test_an_imperative_at_the_head_of_its_sentence_is_an_order(text: str) -> None:
    assert is_order(text)


@pytest.mark.parametrize(
    "text",
    [
        "היא תמחק את הקובץ alt.txt",
        "השרת מחק את הקובץ alt.txt",
        "הבוס אמר לי: תמחק את הקובץ alt.txt",
        "תמחק את הקובץ alt.txt?",
        "אל תמחק את הקובץ alt.txt",
        "התחרטתי, תמחק את alt.txt",
        "Коллега сказал: удали alt.txt",
        "Хочу удалить alt.txt",
        "Не удаляй alt.txt",
        "Get rid of alt.txt",
        "Remove order 12345",
        "I don't want alt.txt any more",
        "Ich will alt.txt nicht mehr",
    ],
)
def test_what_stands_behind_anything_else_may_be_none(text: str) -> None:
    assert not is_order(text)
