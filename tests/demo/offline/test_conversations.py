"""Whole conversations with the offline model, in three languages, as people write."""

from __future__ import annotations

import pytest
from tests.demo.offline.talk import SHOPS, TOOLS, Talk, spec

from circumspect.values import Language

CANCELLING = {
    "en": ("Cancel my order", "Order 12345", "sorry, I meant 99999"),
    "he": ("תבטלו לי את ההזמנה בבקשה", "הזמנה 12345", "סליחה, התכוונתי ל-99999"),
    "ru": ("Отмените мой заказ, пожалуйста", "Заказ 12345", "извините, я имел в виду 99999"),
}
LETTERS = {"en": "abc", "he": "אבגדהו", "ru": "абвгде"}


def is_in(language: Language, text: str) -> bool:
    return any(letter in text.lower() for letter in LETTERS[language])


@pytest.mark.parametrize("language", ["en", "he", "ru"])
async def test_cancelling_asks_for_the_number_then_proposes_it_then_takes_the_correction(language: Language) -> None:
    talk = Talk(language)
    first, second, third = CANCELLING[language]

    asked = await talk.user(first)
    assert (asked.tool, asked.arguments, asked.missing) == ("cancel_order", {}, ("order_id",))
    assert "?" in asked.text
    assert is_in(language, asked.text)

    proposed = await talk.user(second)
    assert (proposed.tool, proposed.arguments, proposed.missing) == ("cancel_order", {"order_id": "12345"}, ())
    assert proposed.destructive
    assert proposed.confirm
    assert "12345" in proposed.text

    corrected = await talk.user(third)
    assert (corrected.tool, corrected.arguments) == ("cancel_order", {"order_id": "99999"})
    assert "12345" not in corrected.text


@pytest.mark.parametrize("language", ["en", "he", "ru"])
async def test_a_correction_still_counts_when_the_system_asked_the_question_in_its_own_words(
    language: Language,
) -> None:
    talk = Talk(language)
    first, second, third = CANCELLING[language]
    await talk.user(first)
    await talk.user(second)
    talk.assistant(
        "Just to confirm: you want me to cancel order 12345? This cannot be undone. Please answer yes or no."
    )
    assert (await talk.user(third)).arguments == {"order_id": "99999"}


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "12345"),
        ("en", "it's 12345"),
        ("en", "The order number is 12345."),
        ("he", "12345"),
        ("he", "מספר ההזמנה הוא 12345"),
        ("ru", "12345"),
        ("ru", "номер заказа – 12345"),
    ],
)
async def test_a_number_completes_the_pending_wish(language: Language, text: str) -> None:
    talk = Talk(language)
    await talk.user(CANCELLING[language][0])
    assert (await talk.user(text)).arguments == {"order_id": "12345"}


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "Where is my order 12345?"),
        ("en", "What's the status of order number 12345"),
        ("en", "track my package 12345 please"),
        ("he", "איפה הזמנה 12345 שלי?"),
        ("he", "מה מצב ההזמנה 12345?"),
        ("he", "מתי תגיע החבילה שלי? הזמנה 12345"),
        ("ru", "Где мой заказ 12345?"),
        ("ru", "Какой статус у заказа №12345?"),
        ("ru", "Когда придёт моя посылка? Заказ 12345"),
    ],
)
async def test_the_status_of_an_order_is_looked_up(language: Language, text: str) -> None:
    answer = await Talk(language).user(text)
    assert (answer.tool, answer.arguments) == ("get_order_status", {"order_id": "12345"})
    assert answer.confidence >= 8
    assert not answer.destructive


@pytest.mark.parametrize(
    ("language", "text", "product"),
    [
        ("en", "Is the blue ceramic mug in stock?", "blue ceramic mug"),
        ("en", 'Do you have "Kettle No. 5"?', "Kettle No. 5"),
        ("en", "how many bread knives are left?", "bread knives"),
        ("en", "Can you check if the cast iron skillet 26 cm is available?", "cast iron skillet 26 cm"),
        ("he", "יש לכם ספל קרמיקה כחול במלאי?", "ספל קרמיקה כחול"),
        ("he", "האם סכין לחם זמין?", "סכין לחם"),
        ("ru", "Есть ли в наличии синяя кружка?", "синяя кружка"),
        ("ru", "У вас есть нож для хлеба?", "нож для хлеба"),
    ],
)
async def test_stock_is_checked_for_the_product_as_it_was_named(language: Language, text: str, product: str) -> None:
    answer = await Talk(language).user(text)
    assert (answer.tool, answer.arguments) == ("check_inventory", {"product": product})


@pytest.mark.parametrize(
    ("language", "first", "then"),
    [("en", "Is the mug in stock?", "and the kettle?"), ("ru", "Есть кружка в наличии?", "а kettle?")],
)
async def test_a_question_may_go_on_with_another_product(language: Language, first: str, then: str) -> None:
    talk = Talk(language)
    await talk.user(first)
    assert (await talk.user(then)).arguments == {"product": "kettle"}


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "I want a refund of $50 for order 12345"),
        ("en", "refund 50 for order 12345"),
        ("en", "Please give me my money back for order 12345, 50 dollars"),
        ("he", 'אני רוצה החזר של 50 ש"ח על הזמנה 12345'),
        ("he", "תחזירו לי 50 ₪ על הזמנה 12345, אני רוצה החזר כספי"),
        ("ru", "Верните 50 рублей за заказ 12345"),
        ("ru", "Хочу вернуть деньги за заказ 12345, 50 ₽"),
    ],
)
async def test_a_refund_takes_the_amount_after_a_look_at_the_schema(language: Language, text: str) -> None:
    answer = await Talk(language).user(text)
    assert (answer.tool, answer.arguments) == ("refund", {"order_id": "12345", "amount": 50})
    assert answer.asked_for == ("tool_schema:refund",)
    assert answer.confirm


async def test_a_refund_without_an_amount_needs_no_schema() -> None:
    answer = await Talk().user("refund order 12345")
    assert (answer.arguments, answer.asked_for) == ({"order_id": "12345"}, ())


BOOKING = {
    "en": (
        "I'd like to book an appointment",
        "knife sharpening please",
        "tomorrow at 11:00",
        "Dana Levi",
        "052-555-0101",
    ),
    "he": ("אני רוצה לקבוע תור", "השחזת סכינים", "מחר ב-11:00", "דנה לוי", "052-555-0101"),
    "ru": ("Хочу записаться на приём", "заточка ножей", "завтра в 11:00", "Дана Леви", "052-555-0101"),
}


@pytest.mark.parametrize("mode", ["adaptive", "standard"])
@pytest.mark.parametrize("language", ["en", "he", "ru"])
async def test_an_appointment_is_put_together_over_several_turns(language: Language, mode: str) -> None:
    talk = Talk(language, mode)  # type: ignore[arg-type]
    *turns, last = BOOKING[language]
    for text in turns:
        answer = await talk.user(text)
        assert answer.missing or answer.tool is None
        assert "?" in answer.text
    answer = await talk.user(last)
    assert answer.tool == "book_appointment"
    assert answer.arguments == {
        "service": "knife sharpening",
        "date": "2026-03-05",
        "time": "11:00",
        "name": turns[-1],
        "phone": "052-555-0101",
    }


@pytest.mark.parametrize(
    ("language", "text", "name"),
    [
        ("en", "Book me a haircut on 5 May at 3pm, my name is Dana Levi, phone +1 555 010 2030", "Dana Levi"),
        ("he", "לקבוע לי תור לתספורת ב-5 במאי בשעה 15:00, קוראים לי דנה לוי, טלפון +1 555 010 2030", "דנה לוי"),
        ("ru", "Запишите меня на стрижку 5 мая в 15:00, меня зовут Дана Леви, телефон +1 555 010 2030", "Дана Леви"),
    ],
)
async def test_an_appointment_can_be_told_in_one_breath(language: Language, text: str, name: str) -> None:
    answer = await Talk(language).user(text)
    assert answer.arguments == {
        "service": "haircut",
        "date": "2026-05-05",
        "time": "15:00",
        "name": name,
        "phone": "+1 555 010 2030",
    }


@pytest.mark.parametrize(
    ("language", "text", "quoted"),
    [
        ("en", "What is your return policy?", "within 30 days"),
        ("en", "Can I return a kettle?", "within 30 days"),
        ("he", "מה מדיניות ההחזרות שלכם?", "עד 30 יום"),
        ("ru", "Какие у вас условия возврата?", "в течение 30 дней"),
    ],
)
async def test_a_question_about_returns_fetches_the_policy_and_quotes_it(
    language: Language, text: str, quoted: str
) -> None:
    answer = await Talk(language).user(text)
    assert answer.asked_for[0] == "policies.returns"
    assert quoted in answer.text
    assert answer.tool is None
    assert answer.confidence >= 6


@pytest.mark.parametrize(
    ("language", "text", "quoted", "left_out"),
    [
        ("en", "How much is express shipping?", "$12", "$5"),
        ("he", "כמה עולה משלוח מהיר?", '40 ש"ח', "3 ימים"),
        ("ru", "Сколько стоит срочная доставка?", "400 рублей", "3 дня"),
    ],
)
async def test_only_the_sentence_that_answers_is_quoted(
    language: Language, text: str, quoted: str, left_out: str
) -> None:
    answer = await Talk(language).user(text)
    assert quoted in answer.text
    assert left_out not in answer.text


@pytest.mark.parametrize(
    ("language", "text", "quoted"),
    [
        ("en", "do you wrap gifts", "gift wrapping is free"),
        ("en", "Can I pay in instalments?", "three payments"),
        ("he", "אפשר לשלם בתשלומים?", "שלושה תשלומים"),
        ("ru", "Можно ли платить в рассрочку?", "тремя платежами"),
    ],
)
async def test_a_frequent_question_is_answered_from_the_list(language: Language, text: str, quoted: str) -> None:
    answer = await Talk(language).user(text)
    assert answer.asked_for == ("faqs",)
    assert quoted in answer.text


@pytest.mark.parametrize("mode", ["adaptive", "standard"])
@pytest.mark.parametrize(
    ("language", "text", "line"),
    [
        ("en", "What are your opening hours?", "hours"),
        ("en", "when do you open tomorrow?", "hours"),
        ("en", "what's your phone number?", "phone"),
        ("en", "What is your e-mail address?", "email"),
        ("he", "מתי אתם פתוחים?", "hours"),
        ("he", "מה הטלפון שלכם?", "phone"),
        ("ru", "До скольки вы работаете?", "hours"),
        ("ru", "Какой у вас номер телефона?", "phone"),
    ],
)
async def test_hours_and_contacts_come_from_the_business_block(
    language: Language, mode: str, text: str, line: str
) -> None:
    answer = await Talk(language, mode).user(text)  # type: ignore[arg-type]
    assert getattr(SHOPS[language], line) in answer.text
    assert (answer.tool, answer.asked_for) == (None, ())


@pytest.mark.parametrize(
    ("language", "greeting", "thanks", "goodbye"),
    [
        ("en", "Hi there!", "Thanks a lot!", "bye"),
        ("he", "שלום", "תודה רבה", "להתראות"),
        ("ru", "Здравствуйте!", "Спасибо большое", "До свидания"),
    ],
)
async def test_small_talk_is_answered_plainly(language: Language, greeting: str, thanks: str, goodbye: str) -> None:
    talk = Talk(language)
    hello = await talk.user(greeting)
    assert SHOPS[language].name in hello.text
    answers = [hello, await talk.user(thanks), await talk.user(goodbye)]
    assert all(answer.tool is None and not answer.asked_for and answer.confidence >= 8 for answer in answers)
    assert len({answer.text for answer in answers}) == 3


async def test_a_greeting_before_a_wish_does_not_hide_it() -> None:
    assert (await Talk("ru").user("Здравствуйте! Хочу отменить заказ №12345")).tool == "cancel_order"


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "What is the capital of France?"),
        ("en", "Who won the match yesterday?"),
        ("he", "מה בירת צרפת?"),
        ("ru", "Какая столица у Франции?"),
    ],
)
async def test_what_it_does_not_know_it_does_not_know(language: Language, text: str) -> None:
    answer = await Talk(language).user(text)
    assert (answer.tool, answer.confidence) == (None, 3)
    assert is_in(language, answer.text)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "I don't want order 12345 anymore"),
        ("en", "I changed my mind about order 12345"),
        ("he", "אני כבר לא רוצה את הזמנה 12345"),
        ("ru", "Мне больше не нужен заказ 12345"),
    ],
)
async def test_a_hint_is_not_a_wish_in_so_many_words(language: Language, text: str) -> None:
    answer = await Talk(language).user(text)
    assert (answer.tool, answer.arguments) == ("cancel_order", {"order_id": "12345"})
    assert answer.confirm
    assert answer.confidence < 7


@pytest.mark.parametrize(
    ("language", "hint", "yes"),
    [
        ("en", "I don't want order 12345 anymore", "yes"),
        ("he", "אני כבר לא רוצה את הזמנה 12345", "כן"),
        ("ru", "Мне больше не нужен заказ 12345", "да"),
    ],
)
async def test_without_a_confirmation_step_a_hint_is_asked_about_before_it_is_proposed(
    language: Language, hint: str, yes: str
) -> None:
    talk = Talk(language, "standard")
    assert (await talk.user(hint)).tool is None
    answer = await talk.user(yes)
    assert (answer.tool, answer.arguments) == ("cancel_order", {"order_id": "12345"})


async def test_a_yes_to_nothing_proposes_nothing() -> None:
    talk = Talk(mode="standard")
    await talk.user("Cancel order 12345")
    talk.assistant("The order has been cancelled.")
    await talk.user("Thanks")
    assert (await talk.user("ok")).tool is None


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "Change something about my order"),
        ("he", "אני רוצה לשנות משהו בהזמנה"),
        ("ru", "Хочу что-то изменить в заказе"),
    ],
)
async def test_an_unclear_request_is_asked_about(language: Language, text: str) -> None:
    answer = await Talk(language).user(text)
    assert answer.tool is None
    assert answer.confidence <= 4
    assert "?" in answer.text


@pytest.mark.parametrize(
    ("language", "text", "offered"),
    [
        ("en", "Please upgrade my subscription", "cancel an order"),
        ("en", "Cancel my subscription", "cancel an order"),
        ("en", "Delete my order", "delete an account"),
        ("he", "תבטלו לי את המנוי", "לבטל הזמנה"),
        ("ru", "Отмените мою подписку", "отменить заказ"),
    ],
)
async def test_what_no_tool_does_is_declined_with_what_can_be_done(language: Language, text: str, offered: str) -> None:
    answer = await Talk(language).user(text)
    assert (answer.tool, answer.confidence) == (None, 3)
    assert offered in answer.text


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "I don't want to cancel my order"),
        ("en", "please don't cancel order 12345"),
        ("he", "אל תבטלו את ההזמנה"),
        ("ru", "Не отменяйте заказ"),
    ],
)
async def test_a_wish_that_is_denied_is_not_proposed(language: Language, text: str) -> None:
    assert (await Talk(language).user(text)).tool is None


async def test_it_points_back_to_the_order_that_was_talked_about() -> None:
    talk = Talk()
    await talk.user("Where is order 12345?")
    talk.assistant("Order 12345 is being prepared.")
    answer = await talk.user("then cancel it")
    assert (answer.tool, answer.arguments) == ("cancel_order", {"order_id": "12345"})
    assert answer.confidence < 8


async def test_another_order_is_not_the_one_that_was_talked_about() -> None:
    talk = Talk()
    await talk.user("Where is order 12345?")
    talk.assistant("Order 12345 is being prepared.")
    assert (await talk.user("Cancel my other order")).missing == ("order_id",)


async def test_two_numbers_for_one_place_are_a_question() -> None:
    answer = await Talk().user("Cancel orders 11111 and 22222")
    assert (answer.arguments, answer.missing) == ({}, ("order_id",))
    assert "11111" in answer.text
    assert "22222" in answer.text


@pytest.mark.parametrize(
    "text", ["no, 99999", "not 12345 but 99999", "99999, not 12345", "I meant 99999 instead of 12345"]
)
async def test_a_number_that_is_ruled_out_is_not_taken(text: str) -> None:
    talk = Talk()
    await talk.user("cancel order 12345")
    assert (await talk.user(text)).arguments == {"order_id": "99999"}


async def test_tomorrow_means_nothing_when_nobody_says_what_today_is() -> None:
    talk = Talk(today="")
    answer = await talk.user("Book a haircut tomorrow at 11:00")
    assert "date" in answer.missing
    assert "date" not in answer.arguments
    assert "2026-03-31" in answer.text


@pytest.mark.parametrize("text", ["Book a haircut on 03/04/2026 at 11:00", "Book a haircut on 5 May at 5"])
async def test_a_date_or_time_that_could_be_two_is_asked_for_in_full(text: str) -> None:
    answer = await Talk().user(text)
    assert {"date", "time"} & {*answer.missing}


async def test_an_address_is_taken_as_it_was_written() -> None:
    talk = Talk()
    await talk.user("I moved, please change my delivery address")
    await talk.user("12345")
    answer = await talk.user("12 Mill Lane, Springfield")
    assert answer.arguments == {"order_id": "12345", "address": "12 Mill Lane, Springfield"}


async def test_an_address_in_the_same_breath_is_found() -> None:
    answer = await Talk().user("Change the address of order 12345 to 12 Mill Lane, Springfield")
    assert answer.arguments == {"order_id": "12345", "address": "12 Mill Lane, Springfield"}


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "Delete my account, anna@x.example"),
        ("he", "תמחקו את החשבון anna@x.example"),
        ("ru", "Удалите аккаунт anna@x.example"),
    ],
)
async def test_an_account_is_deleted_by_its_address(language: Language, text: str) -> None:
    answer = await Talk(language).user(text)
    assert (answer.tool, answer.arguments) == ("delete_account", {"email": "anna@x.example"})
    assert answer.destructive


async def test_an_unrelated_value_does_not_bring_an_old_wish_back() -> None:
    talk = Talk(mode="standard")
    await talk.user("Cancel order 12345")
    talk.assistant("The order has been cancelled.")
    assert (await talk.user("my e-mail is anna@x.example")).tool is None


async def test_the_same_verb_on_two_things_is_asked_about() -> None:
    talk = Talk(tools=(*TOOLS, spec("cancel_appointment", appointment_id={"type": "string"})))
    answer = await talk.user("cancel it please")
    assert answer.tool is None
    assert "?" in answer.text
    assert (await talk.user("the appointment, cancel the appointment 77")).arguments == {"appointment_id": "77"}


async def test_with_no_tools_at_all_it_still_talks() -> None:
    talk = Talk(tools=())
    assert (await talk.user("Cancel my order")).tool is None
    assert "within 30 days" in (await talk.user("What is your return policy?")).text


async def test_where_is_it_means_the_order_that_was_talked_about() -> None:
    talk = Talk()
    await talk.user("Cancel order 12345")
    await talk.user("no, don't cancel it")
    answer = await talk.user("where is it now?")
    assert (answer.tool, answer.arguments) == ("get_order_status", {"order_id": "12345"})


async def test_book_it_takes_over_what_was_just_looked_up() -> None:
    slots = spec("list_free_slots", date={"type": "string", "format": "date"})
    talk = Talk(tools=(*TOOLS, slots))
    assert (await talk.user("What appointments are free on Sunday?")).arguments == {"date": "2026-03-08"}
    talk.assistant("Free on Sunday: 10:00, 11:00.")
    answer = await talk.user("Book it at 11:00, a haircut for Tom Hartley, +1 555 010 2030")
    assert answer.arguments == {
        "service": "haircut",
        "date": "2026-03-08",
        "time": "11:00",
        "name": "Tom Hartley",
        "phone": "+1 555 010 2030",
    }


async def test_words_beside_a_date_are_not_taken_for_a_name() -> None:
    talk = Talk()
    await talk.user("I'd like to book a haircut")
    assert "name" in (await talk.user("next Sunday around 11:00")).missing


async def test_a_language_without_word_lists_is_answered_in_english() -> None:
    talk = Talk("xx", business=SHOPS["en"])
    asked = await talk.user("Order cancel, bitte: 12345")
    assert (asked.tool, asked.arguments) == ("cancel_order", {"order_id": "12345"})
    assert is_in("en", asked.text)
    assert (await talk.user("Was kostet der Versand nach Österreich?")).text
