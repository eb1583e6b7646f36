"""What the user wants is kept by code: none is forgotten, none is invented, and nobody goes round in circles."""

import pytest

from circumspect.models.scripted import chooses, says
from circumspect.reasons import ReasonCode

NEGLECTS = [
    "Sure, I'll cancel order 12345. Please wait.",
    "I'm sorry, I can't assist with that. Please contact our support.",
    "To cancel an order please provide your password.",
    "Our showroom is open until seven.",
]
FINE = '{"decision": "PROCEED", "reasoning": "", "message": ""}'


def prompts_seen(chat):
    return [request.system for request in chat.agent.model.requests]


@pytest.mark.parametrize("words", NEGLECTS)
async def test_a_model_that_neglects_a_wish_is_told_once_and_then_code_proposes_it(shop, words):
    chat = shop(replies=[says(words), says(words), says("It is cancelled.")])
    turn = await chat.user("Please cancel order 12345").is_asked_to_confirm(order_id="12345")
    assert ReasonCode.WISH_NEGLECTED in turn.reason_codes
    first, second = prompts_seen(chat)
    assert 'cancel_order {"order_id":"12345"}' in first
    assert "did not do what the user asked for" in second
    assert "did not do what" not in first
    await chat.user("yes").runs("cancel_order", order_id="12345")


async def test_a_model_that_only_ever_asks_for_more_does_not_lose_a_wish(shop):
    more = says("One moment.", context=["faqs"])
    chat = shop(replies=[more] * 5)
    await chat.user("Please cancel order 12345").is_asked_to_confirm(order_id="12345")


async def test_a_model_that_heeds_the_reminder_is_followed(shop):
    proposed = says("", tool="cancel_order", params={"order_id": "12345"})
    chat = shop(replies=[says(NEGLECTS[0]), proposed, FINE])
    turn = await chat.user("Please cancel order 12345").is_asked_to_confirm(order_id="12345")
    assert ReasonCode.WISH_NEGLECTED not in turn.reason_codes


async def test_a_value_that_the_user_said_is_not_asked_for(shop):
    asks = says("What is your password?", tool="cancel_order", params={}, missing=["order_id", "password"])
    chat = shop(replies=[asks])
    await chat.user("Please cancel order 12345").is_asked_to_confirm(order_id="12345")


async def test_a_number_that_the_model_made_up_is_asked_for_in_plain_words(shop):
    made_up = says("", tool="cancel_order", params={"order_id": "88888"})
    chat = shop(replies=[made_up, says("One moment."), says("One moment.")])
    turn = await chat.user("I want to cancel my order").is_asked("Which order do you mean?")
    assert "88888" not in turn.reply
    await chat.user("It's 12345").is_asked_to_confirm(order_id="12345")


@pytest.mark.parametrize(
    "words",
    [
        "Cancel order 12345 and give me my money back for order 12330",
        "Please cancel 12345. Also, I want a refund for 12330.",
    ],
)
async def test_the_second_wish_is_taken_up_when_the_first_is_done(chat, words):
    await chat.user(words).is_asked_to_confirm(order_id="12345")
    turn = await chat.user("yes").runs("cancel_order", order_id="12345")
    assert turn.pending is not None
    assert turn.pending.call.tool == "refund"
    assert "12330" in turn.reply
    assert "cancelled" in turn.reply
    turn = await chat.user("yes")
    assert (turn.outcome, turn.pending) == ("acted", None)
    assert [one.call.arguments["order_id"] for one in await chat.executions("refund")] == ["12330"]


async def test_a_no_to_the_first_wish_leaves_the_second(chat):
    await chat.user("Cancel order 12345 and refund order 12330").is_asked_to_confirm(order_id="12345")
    turn = await chat.user("no")
    assert turn.pending is not None
    assert turn.pending.call.tool == "refund"
    turn = await chat.user("no").is_answered()
    assert turn.pending is None
    assert await chat.executions("cancel_order") == []


async def test_a_wish_that_was_answered_by_another_is_not_brought_up_again(chat):
    await chat.user("Cancel order 12345").is_asked_to_confirm(order_id="12345")
    await chat.user("Cancel order 12346").is_asked_to_confirm(order_id="12346")
    turn = await chat.user("yes").runs("cancel_order", order_id="12346")
    assert turn.pending is None


async def test_a_question_is_answered_and_never_confirmed(shop):
    proposed = says("", tool="cancel_order", params={})
    chat = shop(replies=[proposed, says("Until it leaves the warehouse.")])
    await chat.user("Can I cancel an order after it has shipped?").is_answered("Until it leaves the warehouse.")
    assert "only asks a question" in prompts_seen(chat)[1]


async def test_a_model_that_insists_on_acting_on_a_question_is_not_followed(shop):
    proposed = says("Shall I?", tool="cancel_order", params={"order_id": "12345"})
    chat = shop(replies=[proposed, proposed])
    turn = await chat.user("Can I cancel an order after it has shipped?").is_asked("colleague")
    assert turn.pending is None


@pytest.mark.parametrize(("confidence", "asked"), [(5, True), (9, False)])
async def test_a_change_that_the_model_is_unsure_of_is_asked_about(shop, confidence, asked):
    visit = {
        "date": "2026-03-31",
        "time": "14:30",
        "service": "boot fitting",
        "name": "Dana Levi",
        "phone": "050-1234567",
    }
    proposed = says("", tool="book_appointment", params=visit, confidence=confidence)
    chat = shop(replies=[proposed, FINE, says("Booked.")])
    turn = await chat.user("Boot fitting on 2026-03-31 at 14:30 for Dana Levi, 050-1234567")
    assert (turn.pending is not None) is asked
    assert (ReasonCode.LOW_CONFIDENCE in turn.reason_codes) is asked


async def test_a_part_of_the_sum_is_left_to_the_model(shop):
    chat = shop(replies=[says("How much was it?"), says("How much was it?")])
    turn = await chat.user("Refund 20 shekels of order 12330").is_answered()
    assert turn.pending is None


async def test_the_same_words_a_second_time_say_something_new_and_a_third_time_offer_a_person(shop):
    words = "I can tell you about our tents, our stoves and our knives."
    chat = shop(replies=[says(words)] * 4)
    await chat.user("the usual, you know").is_answered(words)
    again = await chat.user("the usual!").is_answered(words)
    assert again.reply != words
    assert ReasonCode.SAID_AGAIN in again.reason_codes
    await chat.user("hmmm the usual").is_asked(words, "Shall I pass you to a colleague?")
    await chat.user("the usual, the usual").is_escalated(ReasonCode.SAID_AGAIN)


async def test_a_yes_to_the_offered_person_is_taken(shop):
    words = "I can tell you about our tents, our stoves and our knives."
    chat = shop(replies=[says(words)] * 3)
    for _ in range(3):
        await chat.user("the usual")
    await chat.user("yes").is_escalated(ReasonCode.PERSON_WANTED)


@pytest.mark.parametrize(
    ("tenant", "words"),
    [
        ("shop", "I want to talk to a person"),
        ("shop-he", "אני רוצה לדבר עם נציג אנושי"),
        ("shop-ru", "Соедините меня с оператором"),
    ],
)
async def test_whoever_wants_a_person_gets_one(shop, tenant, words):
    turn = await shop(tenant).user(words).is_escalated(ReasonCode.PERSON_WANTED)
    assert turn.usage.calls == ()


async def test_a_yes_to_nothing_reaches_the_model_with_what_was_last_said(shop):
    promise = "Sure, the tent is a good choice for you."
    chat = shop(replies=[says(promise), says("It costs 500 shekels.")])
    await chat.user("I like the tent").is_answered()
    await chat.user("yes").is_answered("It costs 500 shekels.")
    assert promise in prompts_seen(chat)[1]


async def test_what_can_be_done_is_said_in_whole_phrases(shop):
    chat = shop(replies=[says("", tool="fly_to_the_moon")])
    turn = await chat.user("Fly me to the moon").is_blocked(ReasonCode.TOOL_NOT_FOUND)
    assert "list your orders, check whether a product is in stock" in turn.reply
    assert "book an appointment" in turn.reply


async def test_an_address_behind_a_glued_letter_is_the_users_own_word(shop):
    chat = shop("shop-he")
    await chat.user("תשלחו את הזמנה 12345 לרחוב הרצל 5, חיפה במקום").is_asked_to_confirm(
        order_id="12345", address="רחוב הרצל 5, חיפה"
    )


@pytest.mark.parametrize(
    ("tenant", "words", "meant"),
    [
        ("shop", "I want to cancel 12345, not order 12346", "12345"),
        ("shop-he", "תבטלו את הזמנה 12345 ולא את 12346", "12345"),
        ("shop-ru", "Отмените заказ 12345, а не 12346", "12345"),
    ],
)
async def test_a_number_that_is_not_meant_is_not_asked_about(shop, tenant, words, meant):
    chat = shop(tenant, replies=[says(""), says("")])
    await chat.user(words).is_asked_to_confirm(order_id=meant)


async def test_a_number_that_is_said_not_to_be_it_is_asked_for_again(shop):
    chat = shop(replies=[says(""), says("")])
    turn = await chat.user("Please cancel my order, not order 12346").is_asked("Which order do you mean?")
    assert turn.pending is None


async def test_what_a_side_remark_withdrew_does_not_come_back(shop):
    chat = shop(replies=[says("")] * 6 + [says("It goes there.")])
    await chat.user("Please cancel order 12345").is_asked_to_confirm(order_id="12345")
    await chat.user("I want to change the address").is_asked()
    await chat.user("Send order 12346 to 5 Herzl Street, Haifa").is_asked_to_confirm(order_id="12346")
    turn = await chat.user("yes").runs("update_address", order_id="12346", address="5 Herzl Street, Haifa")
    assert turn.pending is None
    assert "12345" not in turn.reply


async def test_one_more_wish_keeps_the_first(shop):
    chat = shop(replies=[says("")] * 6 + [says("")])
    await chat.user("Please cancel order 12345").is_asked_to_confirm(order_id="12345")
    await chat.user("And refund order 12330").is_asked_to_confirm(order_id="12330")
    turn = await chat.user("yes")
    assert turn.pending.call.arguments["order_id"] == "12345"


async def test_a_value_that_the_tool_can_do_without_is_not_asked_for(shop):
    wants = says("", tool="cancel_order", params={"order_id": "12345"}, missing=["reason"])
    chat = shop(replies=[wants, FINE])
    await chat.user("it is about order 12345, away with it").is_asked_to_confirm(order_id="12345")


async def test_a_model_that_looks_up_the_same_again_says_what_it_found(shop):
    look = says("", tool="get_order_status", params={"order_id": "99999"})
    chat = shop(replies=[look, look, look, "It has shipped."])
    await chat.user("Where is my order 99999?").is_answered("It has shipped.")


async def test_a_model_that_looks_up_the_same_again_and_has_no_words_is_not_quoted(shop):
    look = says("", tool="get_order_status", params={"order_id": "99999"})
    chat = shop(replies=[look, look, look, ""])
    turn = await chat.user("Where is my order 99999?").is_asked("colleague")
    assert "done already" not in turn.reply


async def test_two_numbers_in_the_answer_are_two_wishes(shop):
    chat = shop(replies=[says("Which one?"), says("Which one?"), *[says("Well.")] * 9])
    await chat.user("I want to cancel my orders").is_asked("Which order do you mean?")
    await chat.user("12345 and 12346").is_asked_to_confirm(order_id="12345")
    turn = await chat.user("yes").runs("cancel_order", order_id="12345")
    assert "12346" in turn.reply


async def test_what_it_should_be_done_to_is_what_was_being_asked_about(shop):
    chat = shop(replies=[says("Well.")] * 9)
    await chat.user("Please cancel order 12345").is_asked_to_confirm(order_id="12345")
    instead = chat.user("Actually don't cancel. Just send it to 6 Arlozorov Street, Ramat Gan.")
    await instead.is_asked_to_confirm(order_id="12345", address="6 Arlozorov Street, Ramat Gan")


@pytest.mark.parametrize("words", ["yes, do the needful", "yes you moron"])
async def test_a_yes_with_words_that_nobody_knows_is_asked_again_and_lost_by_neither_side(shop, words):
    chat = shop(replies=[says("Well.")] * 9)
    await chat.user("Please cancel order 12345").is_asked_to_confirm(order_id="12345")
    await chat.user(words).is_asked_to_confirm(order_id="12345")
    await chat.user("yes").runs("cancel_order", order_id="12345")


UNPLACED = "Sorry guys, 12345 has become pointless for us"


async def test_words_that_nobody_can_place_are_placed_by_the_model_and_asked_about(shop):
    chat = shop(replies=[says("I'm sorry, I can't assist with that."), chooses("cancel_order"), says("Done.")])
    await chat.user(UNPLACED).is_asked_to_confirm(order_id="12345")
    await chat.user("yes").runs("cancel_order", order_id="12345")


@pytest.mark.parametrize("choice", [chooses("none"), chooses("delete_everything"), '{"wanted": '])
async def test_a_model_that_sees_no_wish_is_believed(shop, choice):
    chat = shop(replies=[says("What a pity."), choice])
    turn = await chat.user(UNPLACED).is_answered("What a pity.")
    assert chat.agent.model.requests[-1].purpose == "choose" or turn.usage.calls == 2


@pytest.mark.parametrize(
    "words", ["Why is 12345 so late?", "Please do not cancel 12345", "What a day!", "What if I cancelled 12345?"]
)
async def test_nobody_chooses_where_the_words_say_enough(shop, words):
    chat = shop(replies=[says("I see.")] * 3)
    await chat.user(words).sent()
    assert all(request.purpose != "choose" for request in chat.agent.model.requests)
