"""One conversation, open in two windows: typed words answer the question that stood in front of whoever typed them."""

import pytest

from circumspect.models.scripted import says
from circumspect.reasons import ReasonCode

PROCEED = '{"decision": "PROCEED", "reasoning": ""}'


def propose(order_id):
    return says("", tool="cancel_order", params={"order_id": order_id})


@pytest.fixture
async def asked(shop):
    """Window one was asked about 12345, then window two about 12346."""
    chat = shop(replies=[propose("12345"), PROCEED, propose("12346"), PROCEED, "Done.", "Done."])
    one = await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    two = await chat.user("cancel order 12346").is_asked_to_confirm(order_id="12346")
    return chat, one, two


async def test_a_yes_in_the_first_window_does_not_run_what_the_second_was_asked(asked):
    chat, one, _ = asked
    again = await chat.user("yes", seen=one.turn).is_asked("12346", reason=ReasonCode.PENDING_INTENT_MISMATCH)
    await chat.user("yes", seen=again.turn).runs("cancel_order", order_id="12346")


async def test_a_yes_that_names_another_question_runs_nothing(asked):
    chat, one, _ = asked
    await chat.user("yes", answers=one.pending.id).is_asked(reason=ReasonCode.PENDING_INTENT_MISMATCH)


@pytest.mark.parametrize("named", ["seen", "answers", None])
async def test_a_yes_to_the_question_that_waits_runs_it(asked, named):
    chat, _, two = asked
    told = {"seen": {"seen": two.turn}, "answers": {"answers": two.pending.id}, None: {}}[named]
    await chat.user("yes", **told).runs("cancel_order", order_id="12346")


async def test_a_yes_in_a_window_that_has_seen_nothing_of_ours_runs_nothing(asked):
    chat, _, two = asked
    await chat.user("yes", answers=two.pending.id, seen="turn_unknown").is_asked()
