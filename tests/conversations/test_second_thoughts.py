"""What was asked, and then not wanted: a correction replaces the question, a no drops it, and no later yes brings it
back."""

import pytest

from circumspect.models.scripted import says
from circumspect.reasons import ReasonCode

PROCEED = '{"decision": "PROCEED", "reasoning": ""}'
WISH = {
    "shop": "cancel order 12345",
    "shop-he": "תבטל את הזמנה 12345",
    "shop-ru": "отмените заказ 12345",
    "shop-de": "bitte die Bestellung 12345 stornieren",
}
YES = {"shop": "yes, go ahead", "shop-he": "כן, תבטל", "shop-ru": "да, отменяйте", "shop-de": "ja, bitte"}
CORRECTIONS = [
    ("shop", "Wait, not that one, I meant order 12346"),
    ("shop", "no, 12346"),
    ("shop", "oops, wrong number: 12346"),
    ("shop-he", "רגע, לא זאת, התכוונתי להזמנה 12346"),
    ("shop-he", "סליחה, התכוונתי ל-12346"),
    ("shop-ru", "Подождите, не тот, я имел в виду заказ 12346"),
    ("shop-ru", "нет, 12346"),
    ("shop-de", "Moment, nicht diese, ich meinte Bestellung 12346"),
    ("shop-de", "12346 statt 12345"),
]


def cancel(order_id="12345"):
    return says("", tool="cancel_order", params={"order_id": order_id})


@pytest.fixture
def asked(shop):
    """A conversation in which 12345 was just asked about; `replies` is what the model says after that."""

    async def ask(tenant="shop", *replies):
        options = {"language": "de"} if tenant == "shop-de" else {}
        chat = shop(
            "shop" if tenant == "shop-de" else tenant,
            replies=[cancel(), PROCEED, *replies, "Done.", "Done."],
            **options,
        )
        await chat.user(WISH[tenant]).is_asked_to_confirm(order_id="12345")
        return chat

    return ask


@pytest.mark.parametrize(("tenant", "words"), CORRECTIONS)
async def test_a_correction_is_asked_about_with_no_model_and_a_yes_is_for_it(asked, tenant, words):
    chat = await asked(tenant)
    turn = await chat.user(words).is_asked_to_confirm(order_id="12346")
    assert turn.usage.calls == ()
    assert ReasonCode.PENDING_INTENT_WITHDRAWN in turn.reason_codes
    await chat.user(YES[tenant]).runs("cancel_order", order_id="12346")
    assert len(await chat.executions("cancel_order")) == 1


@pytest.mark.parametrize(
    "words",
    [
        "my daughter's order is 12346, that one please",
        "can you make it 12346?",
        "also 12346",
        "not order 12346",
        "I have second thoughts about all of this",
        "yes but not the refund",
        "yes if it is free",
        "no, wait, yes",
    ],
)
async def test_whatever_else_is_said_the_old_question_is_gone_for_good(asked, words):
    chat = await asked("shop", says("I see."), says("I see."), says("I see."))
    old = chat.turns[-1].pending
    turn = await chat.user(words)
    assert ReasonCode.PENDING_INTENT_WITHDRAWN in turn.reason_codes
    for yes in ("yes", "yes, go ahead"):
        await chat.user(yes)  # the model, or the user's own words, may have led to a question about another order
    late = await chat.agent.decide(old.id, "approve", by="user", conversation=chat.name)
    assert ReasonCode.PENDING_INTENT_MISSING in late.reason_codes
    assert [one for one in await chat.executions() if one.call.arguments.get("order_id") == "12345"] == []


@pytest.mark.parametrize("words", ["what are your opening hours?", "when do you open", "hmm", "thank you"])
async def test_words_that_change_nothing_leave_the_question_and_a_yes_is_asked_again(asked, words):
    chat = await asked("shop", says("From nine to five."))
    await chat.user(words)
    await chat.user("yes").is_asked(reason=ReasonCode.PENDING_INTENT_MISMATCH)
    await chat.user("yes").runs("cancel_order", order_id="12345")


@pytest.mark.parametrize(
    ("tenant", "words"),
    [
        ("shop", "wait no"),
        ("shop", "changed my mind"),
        ("shop", "nvm"),
        ("shop", "hold on"),
        ("shop", "actually don't"),
        ("shop", "👎"),
        ("shop-he", "בעצם לא"),
        ("shop-ru", "не хочу"),
        ("shop-de", "doch nicht"),
    ],
)
async def test_a_plain_no_drops_it_with_no_model(asked, tenant, words):
    chat = await asked(tenant)
    turn = await chat.user(words).is_answered()
    assert (ReasonCode.DENIED_BY_USER in turn.reason_codes, turn.usage.calls) == (True, ())
    await chat.user(YES[tenant])
    assert await chat.executions("cancel_order") == []


async def test_a_correction_that_the_policy_refuses_goes_to_the_model(asked):
    chat = await asked("shop", says("There is no such order."))
    turn = await chat.user("no, 1234a")
    assert "There is no such order." in turn.reply


async def test_a_model_that_fails_does_not_bring_the_old_question_back(asked):
    chat = await asked("shop", RuntimeError("away"), says("Hello again."))
    await chat.user("my daughter's order 12346")
    await chat.user("yes")
    assert await chat.executions("cancel_order") == []
