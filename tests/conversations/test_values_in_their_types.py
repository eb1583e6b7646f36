"""What only the model could mend is mended, or goes back to the model; the user is asked for what only they know."""

from __future__ import annotations

import pytest
from tests.seed.looking import opinion

from circumspect.journal import RulingEvent, find_events
from circumspect.models.scripted import says
from circumspect.reasons import ReasonCode


def refund(**params: object) -> str:
    return says("One moment.", tool="refund", params=params, confidence=10)


async def test_a_number_for_a_text_and_a_text_for_a_number_are_the_same_value(shop):
    chat = shop(replies=[refund(order_id=12330, amount="10", reason=None), opinion("PROCEED")])
    turn = await chat.user("Refund 10 of order 12330").is_asked_to_confirm(order_id="12330", amount=10)
    assert ReasonCode.INVALID_PARAM not in turn.reason_codes
    (ruling,) = find_events(turn.entries, RulingEvent)
    assert len(ruling.mendings) == 3


async def test_nobody_is_asked_to_mend_a_type_that_only_the_model_can(shop):
    proposals = [refund(order_id="12330", amount=amount) for amount in ("half", 10)]
    chat = shop(replies=[*proposals, opinion("PROCEED")])
    await chat.user("Refund 10 of order 12330").is_asked_to_confirm(order_id="12330", amount=10)


@pytest.mark.parametrize("wish", ["Отмените заказ №12345", "Отмените заказ № 12345", "cancel order #12345"])
async def test_the_sign_of_a_number_is_no_part_of_it(shop, wish):
    proposal = says("One moment.", tool="cancel_order", params={"order_id": "12345"}, confidence=10)
    turn = await shop(replies=[proposal, opinion("PROCEED")]).user(wish).is_asked_to_confirm(order_id="12345")
    assert ReasonCode.UNGROUNDED_PARAM not in turn.reason_codes
