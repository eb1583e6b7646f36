"""After a restore nothing that the backup left open is repeated by itself; a person is told of every call."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.stores.words import CONVERSATION, TENANT, asked, at, closing, execution, incoming, intent, later, opened

from circumspect.reasons import ReasonCode
from circumspect.stores.notifications import redrive_all
from circumspect.stores.restored import hold_open_work
from circumspect.values import ConversationId, Escalation

RESTORED = later(7200)


@pytest.fixture
async def backup(store):
    """What a backup holds that was taken at a bad moment: a call under way that may be repeated, a question that waits
    for days, and a notification that has not left."""
    turn = incoming()
    claim = await opened(store, turn)
    await store.begin_call(execution(turn, recovery="keyed"), claim.token)
    await asked(store, intent(seconds=86_400.0, conversation=ConversationId("c2")), conversation=ConversationId("c2"))
    other = incoming(conversation=ConversationId("c3"))
    claim = await opened(store, other)
    handed = Escalation(ReasonCode.CRITIQUE_ESCALATED, "help")
    await store.close_turn(closing(other, claim.token, escalation=handed))
    return at(RESTORED, store)


async def test_a_call_that_the_backup_shows_as_begun_is_for_a_person(backup):
    held = await backup.tx(hold_open_work, RESTORED)
    assert (held.calls, held.questions, held.notifications) == (1, 1, 1)
    assert await at(later(10**6), backup).claim_expired("sweeper", 60, 10) == []
    (call,) = await backup.executions(TENANT, CONVERSATION)
    assert (call.state, call.reason) == ("indeterminate", ReasonCode.OUTCOME_UNKNOWN)
    (told,) = [one for one in await backup.escalations(TENANT, "open") if one.execution == call.id]
    assert "restored from a backup" in told.summary
    assert (await opened(backup, incoming(at=RESTORED))).unsettled == (call,), "and nobody holds the conversation"


async def test_a_question_that_the_backup_shows_as_open_is_put_again(backup):
    await backup.tx(hold_open_work, RESTORED)
    (question,) = await backup.intents(TENANT, ConversationId("c2"))
    turn = incoming("yes", conversation=ConversationId("c2"), at=RESTORED + timedelta(seconds=1))
    claim = await opened(backup, turn)
    assert not await backup.begin_call(execution(turn, intent=question.id), claim.token)


async def test_notifications_of_the_backup_are_held_and_the_new_ones_leave(backup):
    await backup.tx(hold_open_work, RESTORED)
    (note,) = await backup.claim_outbox("courier", 60, 10)
    assert note.payload["reason_code"] == "OUTCOME_UNKNOWN"
    assert await backup.tx(redrive_all, None) == 1
    (note,) = await backup.claim_outbox("courier", 60, 10)
    assert note.payload["reason_code"] == "CRITIQUE_ESCALATED"


async def test_doing_it_twice_changes_nothing_more(backup):
    await backup.tx(hold_open_work, RESTORED)
    held = await backup.tx(hold_open_work, RESTORED)
    assert (held.calls, held.questions) == (0, 0)
