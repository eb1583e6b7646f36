"""Replies that say something was done."""

from __future__ import annotations

from typing import Any

import pytest

from circumspect.language.pack import pack
from circumspect.policy.grounding.claims import (
    claims_in,
    find_unsupported_claims,
)
from circumspect.values import PastCall, ToolCall, ToolSpec
from circumspect.web.page_claims import find_unsupported_on_page


def ran(tool: str, result: Any = "done", *, ok: bool = True, **arguments: Any) -> PastCall:
    return PastCall(ToolCall(tool, arguments), result, ok, True, 0)


@pytest.mark.parametrize(
    "reply",
    [
        "I have refunded you.",
        "I've cancelled your order and you will get an e-mail.",
        "Done! I cancelled the order.",
        "Your order has been successfully cancelled.",
        "Great news: your flight is now booked.",
        "You have been refunded the amount of $18.",
        "Я отменил ваш заказ.",
        "Ваш заказ отменён.",
        "Деньги возвращены на карту.",
        "ביטלתי את ההזמנה שלך.",
        "ההזמנה שלך בוטלה.",
        "The payment was declined, so I have refunded your card.",
    ],
)
def test_a_claim_without_a_call_is_found(reply: str) -> None:
    assert find_unsupported_claims(reply, None, [])


@pytest.mark.parametrize(
    "reply",
    [
        "I can cancel the order for you.",
        "I will refund you once you confirm.",
        "Would you like me to cancel it?",
        "Has your order been cancelled?",
        "Once the order has been cancelled, you will be refunded.",
        "If it has been shipped, it cannot be cancelled.",
        "Your order has not been cancelled yet.",
        "I'm unable to tell whether it has been refunded.",
        "After your return has been processed we will write to you.",
        "Your order was cancelled on May 3.",
        "I have found your order.",
        "I've updated the summary of your request.",
        'Please reply "I have cancelled it" when you are done.',
        "It should have been refunded by your bank.",
        "Если заказ отменён, деньги вернутся.",
        "Заказ не отменён.",
        "אם ההזמנה בוטלה, הכסף יוחזר.",
        "",
    ],
)
def test_offers_questions_conditions_and_reports_are_no_claims(reply: str) -> None:
    assert claims_in(reply) == ()


def test_a_call_of_that_kind_backs_the_claim() -> None:
    assert not find_unsupported_claims("Your order has been cancelled.", "en", [ran("cancel_order", order_id="A1")])
    assert not find_unsupported_claims("A refund has been issued.", "en", [ran("cancel_order", order_id="A1")])


def test_a_call_of_another_kind_or_one_that_failed_does_not() -> None:
    claim = "Your order has been cancelled."
    assert find_unsupported_claims(claim, "en", [ran("get_order", {"status": "open"})])
    assert find_unsupported_claims(claim, "en", [ran("update_address")])
    assert find_unsupported_claims(claim, "en", [ran("cancel_order", "Error: no", ok=False)])


def test_a_claim_about_another_record_is_not_backed() -> None:
    done = [ran("cancel_order", {"order_id": "A10077"}, order_id="A10077")]
    assert not find_unsupported_claims("Order A10077 has been cancelled.", "en", done)
    assert find_unsupported_claims("Order B20088 has been cancelled.", "en", done)


def test_reporting_a_status_that_a_lookup_returned_is_fine() -> None:
    assert not find_unsupported_claims(
        "Your order has been cancelled.", "en", [ran("get_order", {"status": "cancelled"})]
    )


def test_a_tool_that_only_reads_backs_nothing_whatever_it_is_called() -> None:
    specs = {"cancel_preview": ToolSpec("cancel_preview", effect="read")}
    assert find_unsupported_claims("Your order has been cancelled.", "en", [ran("cancel_preview")], specs)


def test_no_verb_is_overlooked_by_the_first_glance() -> None:
    words = pack("en").claims
    verbs = [verb.replace("l?", "l").replace("-?", "-") for verbs in words.done.values() for verb in verbs]
    assert [verb for verb in verbs if not any(mark in verb for mark in words.marks)] == []
    for verb in verbs:
        for reply in (
            f"I have {verb} it.",
            f"We {verb} your order.",
            f"It has been {verb}.",
            f"Successfully {verb} it.",
        ):
            assert claims_in(reply), reply


# --- on a web page --------------------------------------------------------------------------------------------------

SENT = [
    "I've signed in with the demo account.", "You are now logged in.", "The settings have been saved.", "I logged you in.",
    "Я вошёл в систему.", "Настройки сохранены.", "התחברתי למערכת.", "ההגדרות נשמרו, אישרתי אותן.", "I have added the patient.",
]  # fmt: skip
FILLED = ["I have filled in the form.", "I entered your name.", "Форма заполнена.", "מילאתי את הטופס."]


@pytest.mark.parametrize("reply", SENT)
def test_what_only_sending_brings_about_is_not_believed_after_less(reply: str) -> None:
    assert find_unsupported_on_page(reply, None, [ran("click"), ran("type"), ran("submit", ok=False)])
    assert not find_unsupported_on_page(reply, None, [ran("click"), ran("submit")])


@pytest.mark.parametrize("reply", FILLED)
def test_filling_in_is_believed_when_something_was(reply: str) -> None:
    assert find_unsupported_on_page(reply, None, [ran("navigate"), ran("type", ok=False)])
    assert not find_unsupported_on_page(reply, None, [ran("type")])


@pytest.mark.parametrize(
    "reply",
    [
        "I can sign in once you tell me the password.", "I have found three visits.", "Shall I say that I have signed in?",
        "If you have signed in, look below.", "I have confirmed that the visit is due.", "The visit was saved on Monday.",
        "I have not signed in.", "Вы не вошли в систему.", "The page says “You are now logged in”.",
    ],
)  # fmt: skip
def test_what_is_read_or_offered_on_a_page_is_no_claim(reply: str) -> None:
    assert not find_unsupported_on_page(reply, None, [])


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("Your visit has been confirmed.", "Visit on Monday: Confirmed"),
        ("You are now logged in.", "Logged in as demo"),
        ("Визит подтверждён.", "Статус: подтверждено"),
        ("הביקור אושר.", "סטטוס: אושר"),
    ],
)
def test_what_the_page_says_of_others_is_a_report(reply: str, shown: str) -> None:
    assert find_unsupported_on_page(reply, None, [])
    assert not find_unsupported_on_page(reply, None, [], shown=shown)


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("I have confirmed your visit.", "Visit on Monday: Confirmed"),
        ("I have logged you in.", "Logged in as demo"),
        ("Я подтвердил визит.", "Клиент подтвердил визит"),
        ("אישרתי את הביקור.", "אישרתי"),
        ("Your order has been cancelled.", "Another order: cancelled"),
    ],
)
def test_what_we_say_of_ourselves_is_none_whatever_the_page_says(reply: str, shown: str) -> None:
    assert find_unsupported_on_page(reply, None, [], shown=shown)
