"""The conversation that must work word for word in spirit, in three languages, and the wrong kinds of yes."""

import pytest

from circumspect.reasons import ReasonCode

WORDS = {
    "shop": ("Cancel my order", "Order 12345", "Yes, cancel it", "Sorry, I meant 99999"),
    "shop-he": ("אני רוצה לבטל את ההזמנה שלי", "הזמנה 12345", "כן, תבטל", "סליחה, התכוונתי ל-99999"),
    "shop-ru": ("Отмените мой заказ", "Заказ 12345", "Да, отменяйте", "Извините, я имел в виду 99999"),
}


@pytest.mark.parametrize("tenant", WORDS)
async def test_three_turns_ask_for_the_number_then_for_a_yes_then_run_once(shop, tenant):
    chat, (wish, number, yes, _) = shop(tenant), WORDS[tenant]
    await chat.user(wish).is_asked(reason=ReasonCode.MISSING_PARAM)
    await chat.user(number).is_asked_to_confirm(order_id="12345")
    turn = await chat.user(yes).runs("cancel_order", order_id="12345")
    assert turn.outcome == "acted"
    assert len(turn.usage.calls) == 1
    assert [one.state for one in await chat.executions("cancel_order")] == ["succeeded"]


@pytest.mark.parametrize("tenant", WORDS)
async def test_a_yes_after_six_minutes_asks_again(shop, tenant):
    chat, (_, _, yes, _) = shop(tenant), WORDS[tenant]
    await chat.user(f"{WORDS[tenant][0]} 12345").is_asked_to_confirm(order_id="12345")
    chat.wait(minutes=6)
    await chat.user(yes).is_asked(reason=ReasonCode.PENDING_INTENT_EXPIRED)
    await chat.user(yes).runs("cancel_order", order_id="12345")


@pytest.mark.parametrize("tenant", WORDS)
async def test_a_yes_with_no_question_asks_what_it_is_for(shop, tenant):
    await shop(tenant).user(WORDS[tenant][2]).is_asked(reason=ReasonCode.PENDING_INTENT_MISSING)


@pytest.mark.parametrize("tenant", WORDS)
async def test_a_yes_after_the_arguments_changed_is_for_the_new_ones_only(shop, tenant):
    chat, (wish, _, yes, change) = shop(tenant), WORDS[tenant]
    await chat.user(f"{wish} 12345").is_asked_to_confirm(order_id="12345")
    await chat.user(change).is_asked_to_confirm(order_id="99999")
    turn = await chat.user(yes)
    assert [one.call.arguments["order_id"] for one in await chat.executions("cancel_order")] == ["99999"]
    assert ReasonCode.CONFIRMED_BY_USER in turn.reason_codes


async def test_a_yes_that_names_another_order_does_not_run(chat):
    await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    await chat.user("yes but order 12346").is_asked()


async def test_a_yes_after_another_question_was_answered_asks_again(chat):
    await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    await chat.user("what are your opening hours?").is_answered()
    await chat.user("yes").is_asked(reason=ReasonCode.PENDING_INTENT_MISMATCH)
    await chat.user("yes").runs("cancel_order", order_id="12345")


async def test_a_second_yes_runs_nothing(chat):
    await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    await chat.user("yes").runs("cancel_order", order_id="12345")
    await chat.user("yes")
    assert len(await chat.executions("cancel_order")) == 1


async def test_a_no_drops_the_question_and_a_later_yes_finds_nothing(chat):
    await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    turn = await chat.user("no, keep it").is_answered()
    assert ReasonCode.DENIED_BY_USER in turn.reason_codes
    assert len(turn.usage.calls) == 0
    await chat.user("yes").is_asked(reason=ReasonCode.PENDING_INTENT_MISSING)


async def test_a_yes_to_another_action_does_not_run_the_pending_one(chat):
    await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    await chat.user("yes, refund it")
    assert await chat.executions("cancel_order") == []
