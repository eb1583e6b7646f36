"""What people read is plain: no machine's words, no riddle, and every value that they gave is heard."""

import json

import pytest

from circumspect.models.scripted import says
from circumspect.policy.load import load
from circumspect.reasons import ReasonCode
from circumspect.values import LANGUAGES
from circumspect.wording import ask_for

FINE = '{"decision": "PROCEED", "reasoning": "", "message": ""}'


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


MADE_UP = [
    ("shop", "Please list my orders", "list_orders", {"email": "unknown"}, "Which e-mail address is it?"),
    ("shop-he", "תראו לי את ההזמנות שלי", "list_orders", {"email": "unknown"}, "מהי כתובת האימייל?"),
    ("shop-ru", "Покажите мои заказы", "list_orders", {"email": "unknown"}, "Какой у вас адрес эл. почты?"),
    ("shop", "Is it in stock?", "check_inventory", {"product": "x"}, "Which product do you mean?"),
    ("shop", "Where is my order?", "get_order_status", {"order_id": "N/A"}, "Which order do you mean?"),
    ("shop-ru", "Где мой заказ?", "get_order_status", {"order_id": "N/A"}, "Какой заказ вы имеете в виду?"),
]


@pytest.mark.parametrize(("tenant", "words", "tool", "params", "question"), MADE_UP)
async def test_what_the_model_made_up_is_asked_for_and_nobody_is_told_to_check_it(
    shop, tenant, words, tool, params, question
):
    chat = shop(tenant, replies=[says("", tool=tool, params=params)] * 3)
    turn = await chat.user(words).is_asked(question)
    assert turn.reply.startswith(question)


async def test_a_choice_that_the_model_made_up_is_asked_for_with_what_there_is_to_choose_from(shop):
    visit = {"date": "2026-04-02", "time": "10:00", "service": "shoes", "name": "Anna", "phone": "0501234567"}
    chat = shop(replies=[says("", tool="book_appointment", params=visit)])
    words = "Book me in on 2026-04-02 at 10:00. Anna, 0501234567"
    await chat.user(words).is_asked("Which service would you like?", "boot fitting")


async def test_a_value_of_the_users_own_is_shown_to_them_with_what_is_wrong(shop):
    chat = shop(replies=[says("", tool="cancel_order", params={"order_id": "123"})])
    turn = await chat.user("Please cancel order 123").is_asked("order number 123")
    assert "not right yet" not in turn.reply


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "parameter",
    ["order_number", "orderId", "customer_email", "phone_number", "delivery_address", "qty", "reason", "sku", "day",
     "full_name", "reservation_id", "appointment_id", "customer_id", "product_name", "service_type", "refund_amount"],
)  # fmt: skip
def test_there_is_a_whole_question_for_every_common_value_whatever_a_tool_calls_it(parameter, language):
    assert ask_for(parameter, language).rstrip(".").count("?") == 1


async def test_a_no_to_the_offered_person_is_a_no_and_the_talk_goes_on(shop):
    words = "I can tell you about our tents, our stoves and our knives."
    cancel = says("", tool="cancel_order", params={"order_id": "12345"})
    chat = shop(replies=[says(words)] * 3 + [cancel, FINE])
    for _ in range(3):
        last = await chat.user("the usual")
    assert "Shall I pass you to a colleague?" in last.reply
    await chat.user("no").is_asked("What can I do for you?")
    await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")


async def test_a_no_that_says_what_is_wanted_instead_is_more_than_a_no(shop):
    words = "I can tell you about our tents, our stoves and our knives."
    cancel = says("", tool="cancel_order", params={"order_id": "12345"})
    chat = shop(replies=[says(words)] * 3 + [cancel, FINE])
    for _ in range(3):
        await chat.user("the usual")
    await chat.user("No, please cancel order 12345").is_asked_to_confirm(order_id="12345")


@pytest.mark.parametrize(
    ("tenant", "said", "read"),
    [
        ("shop", "I can run `cancel_order(order_id)` for you.", "I can run cancel an order for you."),
        ("shop", "Please tell me your order_id.", "Please tell me your order number."),
        ("shop-ru", "Я умею cancel_order.", "Я умею отменить заказ."),
        ("shop-he", "אני יכול get_order_status.", "אני יכול לבדוק הזמנה."),
    ],
)
async def test_nobody_reads_the_names_that_machines_use(shop, tenant, said, read):
    chat = shop(tenant, replies=[says(said)])
    assert (await chat.user("?!")).reply == read


async def test_such_a_name_is_not_said_aloud_either(shop):
    heard = []

    class Listener:
        text = staticmethod(heard.append)
        entry = None

    chat = shop(replies=["Hello there. I can use cancel_order for you. Shall I?"], mode="standard")
    turn = await chat.user("hi", listener=Listener())
    assert turn.reply == "Hello there. I can use cancel an order for you. Shall I?"
    assert "".join(heard) == "Hello there."


UNSURE = "I am not quite sure of this."


async def test_an_answer_that_the_model_is_not_sure_of_says_so(shop):
    chat = shop(replies=[says("We close at seven on Fridays.", confidence=4)])
    turn = await chat.user("When do you close on Fridays?").is_answered("We close at seven", UNSURE)
    assert ReasonCode.LOW_CONFIDENCE in turn.reason_codes
    assert any("not sure of its answer" in one.content for one in turn.entries)


@pytest.mark.parametrize(
    ("words", "confidence"),
    [
        ("We close at seven on Fridays.", 6),
        ("I am sorry, I do not know that.", 2),
        ("Do you mean this Friday?", 2),
        ("К сожалению, я этого не знаю.", 2),
    ],
)
async def test_an_answer_that_is_sure_or_a_question_or_says_so_itself_is_left_alone(shop, words, confidence):
    chat = shop("shop-ru" if words.startswith("К") else "shop", replies=[says(words, confidence=confidence)] * 2)
    question = "Когда вы закрываетесь?" if words.startswith("К") else "When do you close on Fridays?"
    turn = await chat.user(question).is_answered()
    assert turn.reply == words
    assert ReasonCode.LOW_CONFIDENCE not in turn.reason_codes


async def test_a_change_that_the_model_is_not_sure_of_is_asked_about(shop):
    visit = {
        "date": "2026-04-02", "time": "10:00", "service": "boot fitting", "name": "Anna", "phone": "0501234567"
    }  # fmt: skip
    words = "Book boot fitting on 2026-04-02 at 10:00 for Anna, 0501234567"
    unsure = says("", tool="book_appointment", params=visit, confidence=5)
    turn = await shop(replies=[unsure, FINE]).user(words).is_asked_to_confirm(time="10:00")
    assert ReasonCode.LOW_CONFIDENCE in turn.reason_codes


def asks(message, reasoning="It is not clear which one is meant."):
    return json.dumps({"decision": "ASK_USER", "reasoning": reasoning, "message": message}, ensure_ascii=False)


CANCEL = says("", tool="cancel_order", params={"order_id": "12345"})


@pytest.mark.parametrize(
    ("tenant", "words", "question"),
    [
        ("shop", "Please cancel 12345", "Which of your two orders do you mean?"),
        ("shop-he", "תבטלו את 12345", "לאיזו מההזמנות הכוונה?"),
        ("shop-ru", "Отмените 12345", "Какой из двух заказов вы имеете в виду?"),
    ],
)
async def test_the_question_of_a_second_opinion_reaches_the_user(shop, tenant, words, question):
    chat = shop(tenant, replies=[CANCEL, asks(question)])
    turn = await chat.user(words).is_asked_to_confirm(order_id="12345")
    assert question in turn.reply
    assert turn.pending.question == turn.reply
    named = {"shop": "English", "shop-he": "Hebrew", "shop-ru": "Russian"}[tenant]
    assert f"User's language: {named}" in chat.agent.model.requests[-1].messages[0].text


@pytest.mark.parametrize(
    ("tenant", "words", "message"),
    [
        ("shop", "Please cancel 12345", "Are you sure that you want to cancel order 12345?"),
        ("shop", "Please cancel 12345", "What is your card number and CVV?"),
        ("shop", "Please cancel 12345", "I have refunded order 12330. What else can I do?"),
        ("shop-ru", "Отмените 12345", "Which of your two orders do you mean?"),
        ("shop", "Please cancel 12345", ""),
    ],
)
async def test_a_question_that_is_asked_anyway_or_not_fit_for_the_user_does_not(shop, tenant, words, message):
    plain = await shop(tenant, replies=[CANCEL, FINE], database="sqlite://").user(words)
    turn = await shop(tenant, replies=[CANCEL, asks(message)]).user(words).is_asked_to_confirm(order_id="12345")
    assert turn.reply == plain.reply


async def test_the_reason_of_a_second_opinion_reaches_whoever_takes_over(shop):
    opinion = {"decision": "ESCALATE", "reasoning": "", "message": "Somebody else may be asking."}
    chat = shop(replies=[CANCEL, json.dumps(opinion)])
    await chat.user("Please cancel 12345").is_escalated(ReasonCode.CRITIQUE_ESCALATED)
    setup = await chat.agent.open()
    (row,) = await setup.ports.store.escalations(chat.agent.tenant.id)
    assert row.summary == "cancel order 12345\nSomebody else may be asking."


REFUND = says("", tool="refund", params={"order_id": "12330"})


@pytest.mark.parametrize(
    ("tenant", "words", "amount"),
    [
        ("shop", "Refund order 12330", "the whole amount, 1006.00 ILS"),
        ("shop-he", "אני רוצה החזר על הזמנה 12330", "1006.00 ILS"),
        ("shop-ru", "Верните деньги за заказ 12330", "1006.00 ILS"),
    ],
)
async def test_a_refund_is_confirmed_by_its_sum(shop, tenant, words, amount):
    chat = shop(tenant)
    turn = await chat.user(words).is_asked_to_confirm(order_id="12330")
    assert amount in turn.reply
    assert turn.pending.question == turn.reply
    assert await chat.executions() == []


async def test_what_was_paid_back_before_is_not_in_the_sum(shop):
    chat = shop()
    await chat.user("Refund 6 shekels of order 12330").is_asked_to_confirm(order_id="12330", amount=6)
    await chat.user("yes").runs("refund")
    turn = await chat.user("Now refund the rest of order 12330").is_asked_to_confirm(order_id="12330")
    assert "1000.00 ILS" in turn.reply


@pytest.mark.parametrize("policy", ["", "confirm: four_eyes, "])
async def test_where_nobody_can_tell_the_sum_it_is_the_whole_amount(shop, policy):
    rules = load(f"version: 1\ntools:\n  refund: {{{policy}effect: destructive}}\n")
    turn = await shop(replies=[REFUND, FINE], policy=rules).user("Refund order 12330")
    assert "(amount: the whole amount)" in turn.reply


async def test_a_colleague_who_approves_a_refund_reads_its_sum_too(shop):
    look = "{param: amount, call: get_order_status, args: {order_id: args.order_id}, value: string(result.total)}"
    rules = load(f"version: 1\ntools:\n  refund: {{effect: destructive, confirm: four_eyes, whole: {look}}}\n")
    chat = shop(replies=[REFUND, FINE], policy=rules)
    turn = await chat.user("Refund order 12330")
    assert "the whole amount, 1006" in turn.pending.question


async def test_a_tool_that_cannot_tell_the_sum_holds_nobody_up(shop):
    chat = shop(replies=[says("", tool="refund", params={"order_id": "77777"}), FINE])
    turn = await chat.user("Refund order 77777").is_asked_to_confirm(order_id="77777")
    assert "(amount: the whole amount)" in turn.reply


async def test_the_sum_is_not_told_to_whoever_may_not_look_it_up(shop):
    look = "{param: amount, call: get_order_status, args: {order_id: args.order_id}, value: string(result.total)}"
    rules = load(f"""
version: 1
tools:
  get_order_status: {{effect: read, requires: [list_orders]}}
  list_orders: {{effect: read}}
  refund: {{effect: destructive, whole: {look}}}
""")
    turn = await shop(replies=[REFUND, FINE], policy=rules).user("Refund order 12330").is_asked_to_confirm()
    assert "(amount: the whole amount)" in turn.reply
    assert ReasonCode.REQUIREMENT_NOT_MET not in turn.reason_codes


def systems(chat):
    return [request.system for request in chat.agent.model.requests if request.purpose == "draft"]


async def test_the_model_is_shown_the_question_that_is_still_open(shop):
    missing = says("", tool="get_order_status", params={}, missing=["order_id"])
    chat = shop(replies=[missing, says("We close at seven."), says("One moment."), says("You are welcome!")])
    await chat.user("Where is it?").is_asked("Which order do you mean?")
    await chat.user("When do you close?").is_answered("seven")
    await chat.user("It is the tent")
    await chat.user("Thanks a lot, all is clear")
    asked = 'was last asked: "Which order do you mean?"'
    assert [asked in system for system in systems(chat)] == [False, True, True, False]
