"""Several worker processes on one database: of two who try, one gets through, and nothing is lost."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

from tests.stores.words import CONVERSATION, TENANT, asked, at, execution, incoming, intent, opened
from tests.stores.workers import LEASE

from circumspect.stores import SqlStore
from circumspect.values import ConversationId, ToolCall

WORKERS = 4


async def questions(store: SqlStore, count: int) -> None:
    """As many conversations, each with an intent that waits, and each held under the token `shared`."""
    now = datetime.now(UTC)
    for number in range(count):
        conversation = ConversationId(f"c{number}")
        pending = intent(conversation=conversation, created=now)
        await asked(store, pending, conversation=conversation, at=now)
        await opened(store, incoming("yes", conversation=conversation, at=now), "shared", lease_seconds=600)


async def test_every_yes_is_used_by_exactly_one_worker(store, url, race):
    await questions(store, 60)
    won = race("use_intents", url, WORKERS)
    assert sum(won) == 60
    ran = [one for number in range(60) for one in await store.executions(TENANT, ConversationId(f"c{number}"))]
    assert len({one.intent for one in ran}) == len(ran) == 60


async def test_turns_of_one_conversation_never_overlap(store, url, race):
    race("take_turns", url, WORKERS)
    rows = await store.messages(TENANT, CONVERSATION, internal=True, limit=5000)
    assert [row.seq for row in rows] == list(range(WORKERS * 15 * 4))
    visible = [row.content for row in rows if row.role != "internal"]
    assert visible[1::2] == [f"re {text}" for text in visible[::2]]
    assert len(set(visible)) == len(visible)
    (usage,) = await store.usage(TENANT)
    assert usage.messages == WORKERS * 15


async def test_one_key_is_answered_once_whoever_asks(store, url, race):
    turns = race("answer_one_key", url, WORKERS)
    assert len(set(turns)) == 1
    assert len(await store.messages(TENANT, CONVERSATION)) == 2


async def test_no_two_sweepers_get_the_same_call(store, url, race):
    turn = incoming(at=datetime.now(UTC) - timedelta(minutes=10))
    claim = await opened(store, turn)
    calls = [execution(turn, ToolCall("t", {"n": n}), lease=1) for n in range(60)]
    for call in calls:
        await store.begin_call(call, claim.token)
    given = [one for worker in race("sweep", url, WORKERS) for one in worker]
    assert Counter(given) == Counter(call.id for call in calls)


async def test_no_two_dispatchers_get_the_same_note(store, url, race):
    turn = incoming(at=datetime.now(UTC) - timedelta(minutes=10))
    claim = await opened(store, turn)
    calls = [execution(turn, ToolCall("t", {"n": n}), lease=1) for n in range(40)]
    for call in calls:
        await store.begin_call(call, claim.token)
    for call in await at(datetime.now(UTC), store).claim_expired("me", 60, 100):
        await store.finish_call(
            execution(turn, call.call, id=call.id, token="me", state="indeterminate", finished_at=turn.at)
        )
    given = [one for worker in race("dispatch", url, WORKERS) for one in worker]
    assert Counter(given) == Counter(f"esc-{call.id}" for call in calls)


async def test_a_worker_killed_in_a_call_leaves_it_for_one_sweeper(store, url, race):
    now = datetime.now(UTC)
    await asked(store, intent(created=now), at=now)
    assert race("die_in_a_call", url, 1) == [None]
    (left,) = await store.executions(TENANT, CONVERSATION)
    assert left.state == "started"
    assert [one.state for one in await store.intents(TENANT, CONVERSATION)] == ["consumed"]

    soon = datetime.now(UTC) + timedelta(seconds=LEASE)
    assert [one.id for one in await at(soon, store).claim_expired("first", 60, 10)] == [left.id]
    assert await at(soon, store).claim_expired("second", 60, 10) == []
    claim = await opened(store, incoming("well?", at=soon))
    assert [one.id for one in claim.unsettled] == [left.id]


async def test_a_worker_killed_before_the_commit_used_nothing(store, url, race):
    now = datetime.now(UTC)
    await asked(store, intent(created=now), at=now)
    assert race("die_before_the_commit", url, 1) == [None]
    assert await store.executions(TENANT, CONVERSATION) == []
    (pending,) = await store.intents(TENANT, CONVERSATION)
    assert pending.state == "pending"
    turn = incoming("yes", at=datetime.now(UTC) + timedelta(seconds=LEASE))
    claim = await opened(store, turn)
    assert await store.begin_call(execution(turn, intent=pending.id), claim.token)
