"""What the model says is shown only as words, in the user's language, and to the point."""

import pytest
from tests.seed.looking import requests

from circumspect.models.scripted import says
from circumspect.reasons import ReasonCode

WELCOME = "You're welcome! If you have any other questions, feel free to ask."
FORM = '{"reply": "%s", "tool": "cancel_order", "arguments": {"order_id": "99999"}}'
PROPOSED = says("", tool="cancel_order", params={"order_id": "99999"})
FINE = '{"decision": "PROCEED", "reasoning": "", "message": ""}'


@pytest.mark.parametrize("mode", ["adaptive", "standard"])
async def test_a_draft_in_the_form_of_a_call_is_read_as_words(shop, mode):
    chat = shop(replies=[FORM % "We open at nine."], mode=mode)
    turn = await chat.user("When do you open?")
    assert turn.reply == "We open at nine."


async def test_the_words_for_what_happened_are_no_form(shop):
    chat = shop(replies=[PROPOSED, FINE, FORM % "ERROR: Order 99999 has shipped and cannot be cancelled."])
    await chat.user("Please cancel order 99999").is_asked_to_confirm(order_id="99999")
    turn = await chat.user("yes")
    assert turn.reply == "Order 99999 has shipped and cannot be cancelled."


async def test_what_is_in_the_form_is_held_to_the_ledger(shop):
    chat = shop(replies=[PROPOSED, FINE, FORM % "Order 99999 has been cancelled."])
    await chat.user("Please cancel order 99999")
    turn = await chat.user("yes")
    assert "has been cancelled" not in turn.reply


async def test_the_words_for_what_happened_are_in_the_users_language(shop):
    chat = shop("shop-he", replies=[PROPOSED, FINE, "The order with ID 99999 has shipped and cannot be cancelled."])
    await chat.user("בבקשה לבטל את הזמנה 99999").is_asked_to_confirm(order_id="99999")
    turn = await chat.user("כן")
    assert "cannot" not in turn.reply
    assert "99999" in turn.reply


@pytest.mark.parametrize(
    ("tenant", "asked", "strange"),
    [
        ("shop-he", "מה שעות הפתיחה?", "We are open every day from nine in the morning."),
        ("shop-ru", "Когда вы открыты?", "We are open every day from nine in the morning."),
        ("shop", "When do you open?", "Wir haben jeden Tag geöffnet und freuen uns auf Sie."),
        ("shop-he", "מה שעות הפתיחה?", "אני מتأكد שאנחנו פתוחים."),
    ],
)
async def test_another_language_is_drafted_once_more_and_then_our_words_are_said(shop, tenant, asked, strange):
    chat = shop(tenant, replies=[says(strange), says(strange)])
    turn = await chat.user(asked)
    assert turn.reply != strange
    assert ReasonCode.WRONG_LANGUAGE in turn.reason_codes
    assert "language of their messages" in chat.agent.model.requests[1].system


async def test_names_codes_and_quotations_are_in_no_language(shop):
    words = "יש במלאי Kestrel Ridge 2, קוד TNT-200. הכתובת היא “5 Herzl Street in Haifa”."
    chat = shop("shop-he", replies=[says(words)])
    await chat.user("יש לכם אוהלים?").is_answered(words)


@pytest.mark.parametrize(
    ("tenant", "thanks", "own"),
    [("shop", "Thanks, that's all.", "You are welcome"), ("shop-he", "תודה, זה הכול.", "בשמחה")],
)
async def test_thanks_ask_for_nothing_whatever_the_model_proposes(shop, tenant, thanks, own):
    proposed = says("Which one?", tool="cancel_order", params={"order_id": "a"})
    chat = shop(tenant, replies=[proposed, proposed])
    turn = await chat.user(thanks).is_answered(own)
    assert (turn.pending, ReasonCode.ONLY_ASKED in turn.reason_codes) == (None, True)


async def test_thanks_in_the_wrong_language_are_answered_in_the_right_one(shop):
    chat = shop("shop-ru", replies=[says(WELCOME), says(WELCOME)])
    await chat.user("Спасибо, это всё.").is_answered("Пожалуйста")


async def test_whoever_thanks_is_not_told_the_same_again(shop):
    words = "Please tell me the number of the order that you mean."
    chat = shop(replies=[says(words)] * 2)
    await chat.user("hmm, the parcel").is_answered(words)
    await chat.user("Thanks, that's all.").is_answered("You are welcome")


async def test_a_message_that_was_too_long_to_be_read_is_shown_to_no_model_later(shop):
    chat = shop(replies=[says("Hello.")])
    turn = await chat.agent.turn("endless " * 5_000, conversation="c")
    assert turn.reason_codes == (ReasonCode.MESSAGE_TOO_LONG,)
    assert (await chat.agent.turn("hello there", conversation="c")).reply == "Hello."
    [asked] = requests(chat)
    assert not any("endless" in message.text for message in asked.messages)
