"""The ledger of side effects: a yes is used once, a call is settled once, and what nobody knows reaches a person."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.stores.words import (
    CALL,
    CONVERSATION,
    LEASE,
    NOON,
    TENANT,
    asked,
    at,
    closing,
    execution,
    fresh,
    incoming,
    intent,
    later,
    opened,
    result,
)

from circumspect.errors import LeaseLost, StoreError
from circumspect.journal import ToldOutcomeEvent, find_events
from circumspect.ports import OutboxItem
from circumspect.reasons import ReasonCode
from circumspect.stores import SqlStore, people
from circumspect.stores.ledger import ATTEMPTS
from circumspect.stores.people import OutcomeNeeded
from circumspect.values import ConversationId, Escalation, Execution, Incoming, Opened, TenantId, ToolCall


async def said_yes(store: SqlStore, seconds: float = 10.0, **fields) -> tuple[Incoming, Opened]:
    turn = incoming("yes", at=later(seconds), **fields)
    return turn, await opened(store, turn)


def ended(call: Execution, state: str, **fields) -> Execution:
    return replace(call, state=state, finished_at=fields.pop("finished_at", later(30)), **fields)


async def states(store: SqlStore) -> dict[str, str]:
    return {one.id: one.state for one in await store.executions(TENANT, CONVERSATION)}


async def test_a_yes_is_used_up_in_the_moment_the_call_is_written_down(store):
    pending = await asked(store)
    turn, claim = await said_yes(store)
    call = execution(turn, intent=pending.id)
    assert await store.begin_call(call, claim.token)
    assert await store.executions(TENANT, CONVERSATION) == [call]
    assert [one.state for one in await store.intents(TENANT, CONVERSATION)] == ["consumed"]


async def test_the_same_yes_is_not_used_twice(store):
    pending = await asked(store)
    turn, claim = await said_yes(store)
    assert await store.begin_call(execution(turn, intent=pending.id), claim.token)
    assert not await store.begin_call(execution(turn, intent=pending.id), claim.token)
    assert len(await store.executions(TENANT, CONVERSATION)) == 1


@pytest.mark.parametrize(
    ("seconds", "runs"), [(299.0, True), (299.999, True), (300.0, False), (300.001, False), (360.0, False)]
)
async def test_a_yes_counts_until_the_moment_it_expires(store, seconds, runs):
    pending = await asked(store, intent(seconds=300.0))
    turn, claim = await said_yes(store, seconds)
    assert await store.begin_call(execution(turn, intent=pending.id), claim.token) is runs
    expected = "consumed" if runs else "pending"
    assert [one.state for one in await store.intents(TENANT, CONVERSATION)] == [expected]


async def test_a_yes_counts_for_exactly_the_call_that_was_shown(store):
    pending = await asked(store)
    turn, claim = await said_yes(store)
    for other in (
        ToolCall("cancel_order", {"order_id": "99999"}),
        ToolCall("cancel_order", {"order_id": 12345}),
        ToolCall("refund", {"order_id": "12345"}),
    ):
        assert not await store.begin_call(execution(turn, other, intent=pending.id), claim.token)
    assert await store.begin_call(execution(turn, CALL, intent=pending.id), claim.token)


async def test_a_yes_does_not_count_in_another_conversation_or_for_another_tenant(store):
    pending = await asked(store)
    for fields in ({"conversation": ConversationId("c2")}, {"tenant": TenantId("other")}):
        turn, claim = await said_yes(store, **fields)
        assert not await store.begin_call(execution(turn, intent=pending.id), claim.token)


async def test_a_superseded_question_can_no_longer_be_answered(store):
    old = await asked(store)
    await asked(store, at=later(5))
    turn, claim = await said_yes(store)
    assert not await store.begin_call(execution(turn, intent=old.id), claim.token)


async def test_a_call_that_needs_no_yes_is_written_down_too(store):
    turn, claim = await said_yes(store)
    call = execution(turn, effect="write")
    assert await store.begin_call(call, claim.token)
    assert await store.executions(TENANT, CONVERSATION) == [call]


async def test_a_worker_that_was_taken_over_cannot_use_the_yes(store):
    pending = await asked(store)
    slow, lost = await said_yes(store, 10)
    turn, claim = await said_yes(store, 10 + LEASE)
    with pytest.raises(LeaseLost):
        await store.begin_call(execution(slow, intent=pending.id), lost.token)
    assert await store.begin_call(execution(turn, intent=pending.id), claim.token)


async def test_a_call_is_finished_once(store):
    turn, claim = await said_yes(store)
    call = execution(turn)
    await store.begin_call(call, claim.token)
    done = ended(call, "succeeded", result={"ok": [1, 2.5, None, "שלום"]}, reason=ReasonCode.EXECUTED_SUCCESSFULLY)
    assert await store.finish_call(done)
    assert await store.executions(TENANT, CONVERSATION) == [done]
    assert not await store.finish_call(ended(call, "failed", error="too late"))
    assert await store.executions(TENANT, CONVERSATION) == [done]


async def test_only_who_holds_the_call_can_finish_it(store):
    turn, claim = await said_yes(store)
    call = execution(turn)
    await store.begin_call(call, claim.token)
    assert not await store.finish_call(ended(replace(call, token="somebody else"), "succeeded"))
    assert not await store.finish_call(ended(replace(call, tenant=TenantId("other")), "succeeded"))
    assert await states(store) == {call.id: "started"}


async def test_the_same_call_id_cannot_be_begun_twice(store):
    turn, claim = await said_yes(store)
    call = execution(turn)
    await store.begin_call(call, claim.token)
    with pytest.raises(StoreError):
        await store.begin_call(call, claim.token)


# --- what a later turn finds ----------------------------------------------------------------------------------------


async def test_a_call_that_ended_in_a_turn_that_closed_is_settled(store):
    turn, claim = await said_yes(store)
    call = execution(turn)
    await store.begin_call(call, claim.token)
    await store.finish_call(ended(call, "succeeded"))
    await store.close_turn(closing(turn, claim.token))
    assert (await opened(store, incoming(at=later(60)))).unsettled == ()


async def test_a_call_that_was_never_finished_is_found_by_every_later_turn(store):
    turn, claim = await said_yes(store)
    call = execution(turn)
    await store.begin_call(call, claim.token)
    await store.close_turn(closing(turn, claim.token))
    for minute in (1, 2):
        later_turn = incoming(at=later(60 * minute))
        found = await opened(store, later_turn)
        assert found.unsettled == (call,)
        await store.close_turn(closing(later_turn, found.token))


async def test_a_call_that_the_sweeper_finished_is_reported_once(store):
    """The worker died; somebody settled its call; the next turn can tell the user, and the one after need not."""
    turn, claim = await said_yes(store)
    call = execution(turn)
    await store.begin_call(call, claim.token)
    (swept,) = await at(later(100), store).claim_expired("sweeper", 30, 10)
    await store.finish_call(ended(swept, "succeeded", finished_at=later(101)))
    following = incoming(at=later(200))
    found = await opened(store, following)
    assert [(one.id, one.state) for one in found.unsettled] == [(call.id, "succeeded")]
    await store.close_turn(closing(following, found.token))
    assert (await opened(store, incoming(at=later(300)))).unsettled == ()


async def test_a_call_that_was_settled_while_a_turn_ran_is_reported_by_the_next_one(store):
    turn, claim = await said_yes(store)
    call = execution(turn)
    await store.begin_call(call, claim.token)
    running = incoming(at=later(100))
    found = await opened(store, running)
    assert [one.state for one in found.unsettled] == ["started"]
    (swept,) = await at(later(101), store).claim_expired("sweeper", 30, 10)
    await store.finish_call(ended(swept, "succeeded", finished_at=later(102)))
    await store.close_turn(closing(running, found.token, at=later(103)))
    assert [one.state for one in (await opened(store, incoming(at=later(200)))).unsettled] == ["succeeded"]


async def test_a_call_that_failed_did_nothing_and_is_settled(store):
    turn, claim = await said_yes(store)
    call = execution(turn)
    await store.begin_call(call, claim.token)
    await store.finish_call(ended(call, "failed", error="sold out"))
    assert (await opened(store, incoming(at=later(60)))).unsettled == ()


async def test_an_unknown_outcome_reaches_a_person_and_stays_until_they_resolve_it(store):
    turn, claim = await said_yes(store)
    call = execution(turn)
    await store.begin_call(call, claim.token)
    assert await store.finish_call(ended(call, "indeterminate", error="no answer in 30 s"))
    await store.close_turn(closing(turn, claim.token))

    (row,) = await store.escalations(TENANT, "open")
    assert (row.execution, row.turn, row.reason) == (call.id, turn.turn, ReasonCode.OUTCOME_UNKNOWN)
    assert "cancel_order" in row.summary
    (note,) = await at(later(60), store).claim_outbox("dispatcher", 30, 10)
    assert (note.topic, note.payload["execution"]) == ("escalation", call.id)

    async def states() -> list[str]:
        """Of the calls that a turn finds unsettled."""
        following = incoming(at=later(1000))
        found = await opened(store, following)
        await store.close_turn(closing(following, found.token))
        return [one.state for one in found.unsettled]

    await store.tx(people.take_over, None, row.id, "dora", later(900))
    with pytest.raises(OutcomeNeeded):
        await store.resolve(row.id, by="dora")
    assert await states() == ["indeterminate"]
    still = await store.resolve(row.id, by="dora", outcome="unknown", at=later(900))
    assert (still.state, still.taken_by, still.asks_outcome) == ("open", None, True)
    assert await states() == ["indeterminate"]
    done = await store.resolve(row.id, by="dora", outcome="not", at=later(900))
    assert (done.state, done.asks_outcome) == ("resolved", False)
    assert [await states(), await states()] == [["failed"], []], "the user is told once"


async def test_a_call_that_happened_after_all_stays_in_sight_and_the_journal_says_who_told(store):
    turn, claim = await said_yes(store)
    call = execution(turn)
    await store.begin_call(call, claim.token)
    await store.finish_call(ended(call, "indeterminate", error="no answer in 30 s"))
    await store.close_turn(closing(turn, claim.token))
    (row,) = await store.escalations(TENANT, "open")
    await store.resolve(row.id, by="dora", outcome="happened", at=later(900))
    with pytest.raises(people.TakenByAnother):
        await store.resolve(row.id, by="eli", outcome="not", at=later(901))
    for news in (["succeeded"], [], []):
        following = incoming(at=later(1000))
        found = await opened(store, following)
        await store.close_turn(closing(following, found.token))
        assert [one.state for one in found.unsettled] == news
        assert [one.id for one in found.happened] == [call.id]
    events = find_events(await store.messages(TENANT, CONVERSATION, internal=True), ToldOutcomeEvent)
    assert [(one.execution, one.outcome, one.told_by) for one in events] == [(call.id, "happened", "dora")]


async def test_an_escalation_about_no_call_is_resolved_without_an_outcome(store):
    turn = incoming()
    claim = await opened(store, turn)
    await store.close_turn(closing(turn, claim.token, escalation=Escalation(ReasonCode.CRITIQUE_FAILED, "Look.")))
    (row,) = await store.escalations(TENANT, "open")
    with pytest.raises(OutcomeNeeded):
        await store.resolve(row.id, by="dora", outcome="happened")
    assert (await store.resolve(row.id, by="dora")).state == "resolved"


async def test_an_escalation_that_does_not_exist_cannot_be_resolved(store):
    with pytest.raises(StoreError, match="no such escalation"):
        await store.resolve("esc-nothing", by="dora")


async def test_recent_calls_are_found_across_a_tenants_conversations(store):
    for minute, (tenant, conversation, tool) in enumerate(
        [
            (TENANT, "c1", "refund"),
            (TENANT, "c2", "cancel_order"),
            (TENANT, "c2", "refund"),
            (TENANT, "c1", "get_order"),
            (TenantId("other"), "c3", "refund"),
            (TENANT, "c1", "refund"),
        ]
    ):
        turn = incoming(tenant=tenant, conversation=ConversationId(conversation), at=later(60 * minute))
        claim = await opened(store, turn)
        await store.begin_call(execution(turn, ToolCall(tool, {"minute": minute})), claim.token)
        await store.close_turn(closing(turn, claim.token))

    async def minutes(*tools: str, since: int) -> list[object]:
        found = await store.recent_executions(TENANT, set(tools), later(60 * since))
        return [one.call.arguments["minute"] for one in found]

    assert await minutes("refund", "cancel_order", since=1) == [1, 2, 5]
    assert await minutes("refund", since=0) == [0, 2, 5]
    assert await minutes("refund", since=6) == []
    assert await minutes(since=0) == []


async def test_recent_calls_are_those_of_one_person_or_of_all_who_are_nobody_in_particular(store):
    people = ("ann", "bob", "ann", None, None)
    for minute, person in enumerate(people):
        turn = incoming(conversation=ConversationId(f"c{minute}"), person=person, at=later(60 * minute))
        claim = await opened(store, turn)
        await store.begin_call(execution(turn, ToolCall("refund", {"minute": minute})), claim.token)
        await store.close_turn(closing(turn, claim.token))

    async def minutes(person: str | None) -> list[object]:
        found = await store.recent_executions(TENANT, {"refund"}, later(0), person)
        return [one.call.arguments["minute"] for one in found]

    assert [await minutes(one) for one in ("ann", "bob", "", "eve", None)] == [[0, 2], [1], [3, 4], [], [0, 1, 2, 3, 4]]


# --- the sweeper ----------------------------------------------------------------------------------------------------


async def test_a_call_whose_lease_ran_out_is_handed_out_once(store):
    turn, claim = await said_yes(store)
    call = execution(turn, lease=45)
    await store.begin_call(call, claim.token)
    assert await at(later(54), store).claim_expired("sweeper", 30, 10) == []
    (swept,) = await at(later(55), store).claim_expired("sweeper", 30, 10)
    assert swept == replace(call, token="sweeper", lease_until=later(85))
    assert await at(later(56), store).claim_expired("another", 30, 10) == []
    # The first worker wakes up and finds that it is no longer its call to finish.
    assert not await store.finish_call(ended(call, "succeeded"))
    assert await store.finish_call(ended(swept, "indeterminate"))
    assert await at(later(999), store).claim_expired("another", 30, 10) == []


async def test_a_sweeper_that_dies_is_swept_too(store):
    turn, claim = await said_yes(store)
    await store.begin_call(execution(turn, lease=45), claim.token)
    await at(later(60), store).claim_expired("first", 30, 10)
    assert [one.token for one in await at(later(90), store).claim_expired("second", 30, 10)] == ["second"]


async def test_a_sweep_takes_the_oldest_up_to_its_limit(store):
    turn, claim = await said_yes(store)
    calls = [execution(turn, ToolCall("t", {"n": n}), started_at=later(n), lease=1) for n in range(5)]
    for call in calls:
        await store.begin_call(call, claim.token)
    first = await at(later(100), store).claim_expired("a", 30, 2)
    rest = await at(later(100), store).claim_expired("b", 30, 10)
    assert [one.id for one in first] == [call.id for call in calls[:2]]
    assert [one.id for one in rest] == [call.id for call in calls[2:]]


# --- the outbox -----------------------------------------------------------------------------------------------------


async def one_note(store: SqlStore) -> str:
    turn = incoming(conversation=ConversationId(fresh("c")))
    claim = await opened(store, turn)
    call = execution(turn)
    await store.begin_call(call, claim.token)
    await store.finish_call(ended(call, "indeterminate", finished_at=NOON))
    return f"esc-{call.id}"


async def test_a_note_leaves_once_when_it_is_delivered(store):
    note = await one_note(store)
    (item,) = await at(NOON, store).claim_outbox("a", 30, 10)
    assert (item.id, item.attempts) == (note, 0)
    await at(later(1), store).settle_outbox(item, delivered=True)
    assert await at(later(10_000), store).claim_outbox("b", 30, 10) == []


async def test_a_note_is_claimed_by_one_dispatcher_at_a_time(store):
    await one_note(store)
    assert len(await at(NOON, store).claim_outbox("a", 30, 10)) == 1
    assert await at(later(29), store).claim_outbox("b", 30, 10) == []
    # The first one died: its claim runs out, and the note is delivered at least once all the same.
    (item,) = await at(later(30), store).claim_outbox("b", 30, 10)
    assert (item.token, item.attempts) == ("b", 1)


async def test_each_failure_waits_longer_and_it_is_given_up_after_about_three_days(store):
    await one_note(store)
    now, waits = NOON, []
    for attempt in range(ATTEMPTS - 1):
        (item,) = await at(now, store).claim_outbox("a", 30, 10)
        assert item.attempts == attempt
        await at(now, store).settle_outbox(item, delivered=False)
        state, next_at = await _note(store)
        assert state == "pending"
        waits.append(next_at - now.timestamp())
        assert await at(now + timedelta(seconds=waits[-1] - 1), store).claim_outbox("b", 30, 10) == []
        now += timedelta(seconds=waits[-1])
    assert waits[:4] == [5, 10, 20, 40]
    assert waits == sorted(waits)
    assert max(waits) == 3600
    assert timedelta(days=2.9) < now - NOON < timedelta(days=3)
    (item,) = await at(now, store).claim_outbox("a", 30, 10)
    await at(now, store).settle_outbox(item, delivered=False)
    assert await at(later(10**7), store).claim_outbox("a", 30, 10) == []
    assert (await _note(store))[0] == "dead"


async def kill_dispatchers(store: SqlStore) -> tuple[OutboxItem, datetime]:
    """Each dies with the note in its hands, up to the last attempt; that, and when it began."""
    now = NOON
    for attempt in range(ATTEMPTS):
        (item,) = await at(now, store).claim_outbox("a", 30, 10)
        assert item.attempts == attempt
        now += timedelta(seconds=30 + (min(5 * 2**attempt, 3600) if attempt else 0))
    return item, now


async def test_a_note_that_kills_its_dispatcher_is_buried_too_and_kills_ever_more_rarely(store):
    await one_note(store)
    _, now = await kill_dispatchers(store)
    assert now - NOON > timedelta(days=2.9)
    assert await at(now, store).claim_outbox("a", 30, 10) == []
    assert (await _note(store))[0] == "dead"


async def test_the_last_attempt_may_still_succeed(store):
    await one_note(store)
    item, now = await kill_dispatchers(store)
    await at(now, store).settle_outbox(item, delivered=True)
    assert (await _note(store))[0] == "delivered"


async def test_a_failure_that_is_reported_late_does_not_undo_a_delivery(store):
    await one_note(store)
    (slow,) = await at(NOON, store).claim_outbox("a", 30, 10)
    (quick,) = await at(later(30), store).claim_outbox("b", 30, 10)
    await at(later(31), store).settle_outbox(quick, delivered=True)
    await at(later(32), store).settle_outbox(slow, delivered=False)
    assert await at(later(10_000), store).claim_outbox("c", 30, 10) == []


async def test_a_delivery_that_is_reported_late_counts(store):
    await one_note(store)
    (slow,) = await at(NOON, store).claim_outbox("a", 30, 10)
    await at(later(30), store).claim_outbox("b", 30, 10)
    await at(later(31), store).settle_outbox(slow, delivered=True)
    assert await at(later(10_000), store).claim_outbox("c", 30, 10) == []


async def _note(store: SqlStore) -> tuple[str, float]:
    query = "SELECT state, next_at FROM outbox"
    return await store.tx(lambda connection: tuple(connection.exec_driver_sql(query).one()))


# --- whatever happens, a yes is used at most once -------------------------------------------------------------------

step = st.sampled_from(["use", "use wrongly", "deny", "ask again", "wait"])


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=st.lists(step, min_size=1, max_size=8))
async def test_whatever_happens_a_yes_is_used_at_most_once(store, steps):
    """Uses, wrong uses, denials, new questions and expiry in any order: each intent is consumed at most once, only
    while it was pending and fresh, and its state never leaves consumed, denied or superseded again."""
    conversation = ConversationId(fresh("c"))
    current, live, now, used = None, False, 0.0, []
    settled: dict[str, str] = {}
    for action in ["ask again", *steps]:
        now += 1.0
        if action == "wait":
            now, live = now + 301.0, False
            continue
        turn = incoming(conversation=conversation, at=later(now))
        claim = await opened(store, turn)
        denied = None
        pending = None
        if action == "use":
            ran = await store.begin_call(execution(turn, intent=current.id), claim.token)
            assert ran is live
            if ran:
                used.append(current.id)
            live = False
        elif action == "use wrongly":
            wrong = ToolCall(CALL.tool, {"order_id": "99999"})
            assert not await store.begin_call(execution(turn, wrong, intent=current.id), claim.token)
        elif action == "deny":
            denied, live = current.id, False
        else:
            current = pending = intent(conversation=conversation, created=later(now))
            live = True
        await store.close_turn(closing(turn, claim.token, result(turn, "ok", pending=pending), denied=denied))
        for one in await store.intents(TENANT, conversation):
            assert settled.get(one.id) in (None, one.state)
            if one.state != "pending":
                settled[one.id] = one.state
    assert len(used) == len(set(used))
    assert {one.intent for one in await store.executions(TENANT, conversation)} == set(used)
