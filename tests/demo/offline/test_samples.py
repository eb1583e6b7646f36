"""The offline model with the tools and texts of the sample shops."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.demo.offline.talk import Talk

from circumspect.demo import samples
from circumspect.values import Language

SHOPS: dict[Language, str] = {"en": "shop", "he": "shop-he", "ru": "shop-ru"}


def talk_in(language: Language) -> Talk:
    sample = samples.load(SHOPS[language], directory=None, now=datetime(2026, 3, 4, 9, 0, tzinfo=UTC))
    return Talk(language, tools=tuple(sample.tools.specs().values()), business=sample.tenant.business)


@pytest.mark.parametrize(
    ("language", "text", "tool", "arguments"),
    [
        ("en", "Where is my order 12345?", "get_order_status", {"order_id": "12345"}),
        ("en", "Which orders does dana@example.com have?", "list_orders", {"email": "dana@example.com"}),
        ("en", "Is the enamel mug in stock?", "check_inventory", {"product": "enamel mug"}),
        ("en", "Do you have cast iron skillets?", "check_inventory", {"product": "cast iron skillets"}),
        (
            "en",
            "What is free for a boot fitting on Sunday?",
            "list_free_slots",
            {"date": "2026-03-08", "service": "boot fitting"},
        ),
        ("en", "How much is the french press?", "check_inventory", {"product": "french press"}),
        ("he", "כמה עולה ספל אמייל?", "check_inventory", {"product": "ספל אמייל"}),
        (
            "he",
            "אני רוצה לשנות כתובת בהזמנה 12345 לרחוב הרצל 5, חיפה",
            "update_address",
            {"order_id": "12345", "address": "רחוב הרצל 5, חיפה"},
        ),
        (
            "ru",
            "Измените адрес заказа 12345 на улица Герцля 5, Хайфа",
            "update_address",
            {"order_id": "12345", "address": "улица Герцля 5, Хайфа"},
        ),
        ("en", "Please cancel order 12345", "cancel_order", {"order_id": "12345"}),
        ("en", "Refund 49.90 for order 12345", "refund", {"order_id": "12345", "amount": 49.9}),
        ("he", "איפה ההזמנה שלי? מספר 12345", "get_order_status", {"order_id": "12345"}),
        ("he", "יש לכם ערסל במלאי?", "check_inventory", {"product": "ערסל"}),
        ("he", "אני רוצה לבטל את הזמנה 12345", "cancel_order", {"order_id": "12345"}),
        (
            "he",
            "אילו תורים פנויים יש ביום ראשון להשחזת סכינים?",
            "list_free_slots",
            {"date": "2026-03-08", "service": "knife sharpening"},
        ),
        ("ru", "Где мой заказ 12345?", "get_order_status", {"order_id": "12345"}),
        ("ru", "У вас есть гамак?", "check_inventory", {"product": "гамак"}),
        ("ru", "Отмените заказ 12345, пожалуйста", "cancel_order", {"order_id": "12345"}),
        ("ru", "Удалите мой аккаунт olga@example.com", "delete_account", {"email": "olga@example.com"}),
    ],
)
async def test_the_shops_tools_are_chosen_with_the_arguments_that_were_said(
    language: Language, text: str, tool: str, arguments: dict[str, object]
) -> None:
    answer = await talk_in(language).user(text)
    assert (answer.tool, answer.arguments, answer.missing) == (tool, arguments, ())


@pytest.mark.parametrize(
    ("language", "text", "quoted"),
    [
        ("en", "What is your return policy?", "within 30 days"),
        ("en", "Do you deliver abroad?", "only within Israel"),
        ("en", "How long can I still cancel my order?", "Until it leaves the warehouse"),
        ("en", "Can I pay in instalments?", "three interest-free"),
        ("en", "How do I look after cast iron?", "No dishwasher"),
        ("en", "How much is express shipping?", "₪49"),
        ("en", "Where are you located?", "27 HaNamal Street"),
        ("en", "Who are you?", "Noa Barak"),
        ("en", "Where do I find my order number?", "confirmation e-mail"),
        ("en", "Is there a warranty on cast iron?", "guaranteed for life"),
        ("en", "Can I get free shipping?", "free from ₪250"),
        ("en", "My parcel is damaged", "report damage within 7 days"),
        ("en", "What payment methods do you accept?", "PayPal"),
        ("ru", "Есть ли гарантия на чугун?", "пожизненная"),
        ("he", "יש אחריות על ברזל יצוק?", "לכל החיים"),
        ("he", "מה מדיניות ההחזרות שלכם?", "עד 30 יום"),
        ("he", "כמה עולה משלוח מהיר?", "49 ₪"),
        ("he", "עד מתי אפשר לבטל הזמנה?", "יוצאת מהמחסן"),
        ("he", "איפה אתם נמצאים?", "רחוב הנמל 27"),
        ("ru", "Какие у вас условия возврата?", "в течение 30 дней"),
        ("ru", "Вы доставляете за границу?", "только по Израилю"),
        ("ru", "Сколько стоит срочная доставка?", "49 ₪"),
        ("ru", "Где вы находитесь?", "ха-Намаль, 27"),
    ],
)
async def test_the_shops_own_texts_answer(language: Language, text: str, quoted: str) -> None:
    answer = await talk_in(language).user(text)
    assert quoted in answer.text
    assert answer.tool is None
    assert len(answer.asked_for) <= 2


async def test_choices_are_offered_in_the_language_of_the_shop() -> None:
    answer = await talk_in("ru").user("Хочу записаться на приём")
    assert "Заточка ножей" in answer.text
    assert "service" in answer.missing
