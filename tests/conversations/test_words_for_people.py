"""What people read is plain: no machine's words, no riddle, and every value that they gave is heard."""

import pytest


@pytest.mark.parametrize(
    ("words", "address"),
    [
        ("Измените адрес заказа 12345 на ул. Ленина, 5", "ул. Ленина, 5"),
        ("Везите заказ 12345 на ул. Ленина 5", "ул. Ленина 5"),
        ("Отправьте заказ 12345 на Ленина 5, Хайфа", "Ленина 5, Хайфа"),
        ("Отправьте заказ 12345 на г. Хайфа, ул. Ленина, д. 5", "г. Хайфа, ул. Ленина, д. 5"),
        ("Поменяйте адрес доставки заказа 12345: ул. Герцля 10, Тель-Авив", "ул. Герцля 10, Тель-Авив"),
    ],
)
async def test_an_address_with_abbreviations_is_heard_to_its_end(shop, words, address):
    chat = shop("shop-ru")
    await chat.user(words).is_asked_to_confirm(order_id="12345", address=address)
    await chat.user("да").runs("update_address", address=address)


async def test_an_english_street_may_be_abbreviated_too(chat):
    await chat.user("Please send order 12345 to 5 Herzl St. Haifa").is_asked_to_confirm(
        order_id="12345", address="5 Herzl St. Haifa"
    )
