"""Held is not prevented: what became of each call that was held, and the sums of a day, which say the same.

Each test plays a conversation; what it expects is looked up in the tables by queries of its own.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from circumspect.models.scripted import says

PROCEED = '{"decision": "PROCEED", "reasoning": "", "message": ""}'


@pytest.fixture
def ask(tmp_path: Path):
    def run(query: str) -> list[tuple]:
        with closing(sqlite3.connect(tmp_path / "circumspect.db")) as database:
            return database.execute(query).fetchall()

    return run


@pytest.fixture
def fates(ask):
    """Of every held call, in order; and the sums of the days have to agree."""

    def read() -> list[tuple[str, str]]:
        rows = ask("SELECT reason_code, fate FROM held_calls ORDER BY conversation, seq")
        sums = ask("SELECT reason_code, fate, SUM(number) FROM held_days GROUP BY 1, 2 HAVING SUM(number) <> 0")
        assert sorted(sums) == sorted((*one, rows.count(one)) for one in set(rows))
        return rows

    return read


async def test_a_question_waits_and_then_what_was_asked_about_is_done(chat, fates, ask):
    await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    assert [fate for _, fate in fates()] == ["waiting"]
    await chat.user("yes").runs("cancel_order")
    assert [fate for _, fate in fates()] == ["done"]
    assert ask("SELECT COUNT(*) FROM tool_executions WHERE tool = 'cancel_order' AND state = 'succeeded'") == [(1,)]


async def test_a_no_is_a_refusal(chat, fates, ask):
    await chat.user("cancel order 12345").is_asked_to_confirm()
    await chat.user("no").is_answered()
    assert [fate for _, fate in fates()] == ["refused"]
    assert ask("SELECT state FROM intents") == [("denied",)]


async def test_a_yes_that_came_too_late_is_asked_for_again_and_is_one_held_call(chat, fates):
    await chat.user("cancel order 12345").is_asked_to_confirm()
    chat.wait(minutes=6)
    await chat.user("yes").is_asked_to_confirm()
    assert [fate for _, fate in fates()] == ["waiting"]
    await chat.user("yes").runs("cancel_order")
    assert [fate for _, fate in fates()] == ["done"]


async def test_what_nobody_answered_was_not_prevented(chat, fates):
    await chat.user("cancel order 12345").is_asked_to_confirm()
    await chat.user("hello").is_answered()
    assert [fate for _, fate in fates()] == ["waiting"]


async def test_another_value_in_the_users_words_is_a_correction(chat, fates):
    await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    await chat.user("sorry, I meant 12346").is_asked_to_confirm(order_id="12346")
    assert [fate for _, fate in fates()] == ["corrected", "waiting"]
    await chat.user("yes").runs("cancel_order", order_id="12346")
    assert [fate for _, fate in fates()] == ["corrected", "done"]


async def test_a_value_that_the_model_made_up_is_corrected_by_the_one_that_the_user_has(shop, fates):
    chat = shop(
        replies=[
            *(says("", tool="cancel_order", params={"order_id": "77777"}),),
            *(says("", tool="cancel_order", params={"order_id": "12345"}), PROCEED),
        ]
    )
    await chat.user("cancel my order please").is_asked()
    assert [fate for _, fate in fates()] == ["waiting"]
    await chat.user("it is 12345").is_asked_to_confirm(order_id="12345")
    assert [fate for _, fate in fates()] == ["corrected", "waiting"]


async def test_what_a_rule_denies_stays_denied(shop, fates, tmp_path: Path):
    policy = tmp_path / "own.yaml"
    policy.write_text("version: 1\ntools:\n  cancel_order: {effect: destructive, deny: People cancel.}\n", "utf-8")
    call = says("", tool="cancel_order", params={"order_id": "12345"})
    chat = shop(replies=[call, call, "I cannot do that."], policy=policy)
    await chat.user("cancel order 12345")
    assert [fate for _, fate in fates()] == ["denied"]
    assert not await chat.executions("cancel_order")


async def test_two_calls_of_one_draft_are_two_wishes_and_no_correction(chat, fates):
    await chat.user("cancel order 12345 and cancel order 12346").is_asked_to_confirm(order_id="12345")
    assert "corrected" not in [fate for _, fate in fates()]
    await chat.user("yes")
    await chat.user("yes")
    assert {fate for _, fate in fates()} == {"done"}


async def test_forgetting_leaves_the_sums_and_nothing_else(chat, ask):
    from circumspect.server.stores import privacy

    await chat.user("cancel order 12345").is_asked_to_confirm()
    await chat.user("no").is_answered()
    store = (await chat.agent.open()).ports.store
    await store.tx(privacy.forget, chat.agent.tenant.id, chat.name)
    assert ask("SELECT COUNT(*) FROM held_calls") == [(0,)]
    assert ask("SELECT fate, number FROM held_days WHERE number <> 0") == [("refused", 1)]
