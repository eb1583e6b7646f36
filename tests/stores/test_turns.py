"""Opening and closing a turn: one worker at a time, one answer per key, nothing lost and nothing said twice."""

from __future__ import annotations

import asyncio

import pytest
import sqlalchemy as sa
from tests.stores.words import (
    CONVERSATION,
    LEASE,
    NOON,
    TENANT,
    asked,
    at,
    closing,
    execution,
    incoming,
    intent,
    later,
    opened,
    result,
    whole_turn,
)

from circumspect.errors import ConversationBusy, LeaseLost, StoreError
from circumspect.ports import Store
from circumspect.reasons import ReasonCode
from circumspect.stores import SqlStore
from circumspect.values import Escalation, JournalEntry, ModelUsage, TenantId, ToolCall, Usage


async def status_of(store: SqlStore, turn: str) -> str | None:
    def read(connection: sa.Connection) -> str | None:
        return connection.execute(sa.text("SELECT status FROM turns WHERE id = :id"), {"id": turn}).scalar()

    return await store.tx(read)


async def test_the_store_is_a_store(store):
    port: Store = store
    assert await port.messages(TENANT, CONVERSATION) == []


async def test_a_first_turn_makes_the_conversation_and_finds_nothing_in_it(store):
    turn = incoming("hello")
    claim = await opened(store, turn, "mine", mode="standard")
    assert (claim.token, claim.mode, claim.language, claim.history) == ("mine", "standard", None, ())
    assert (claim.next_seq, claim.intent, claim.unsettled, claim.answered) == (1, None, (), None)


async def test_a_conversation_keeps_the_mode_it_began_with(store):
    await whole_turn(store)
    claim = await opened(store, incoming(at=later(60)), mode="standard")
    assert claim.mode == "adaptive"


async def test_a_conversation_keeps_the_first_mode_that_was_drawn_for_it(store):
    modes = []
    for mode, drawn in (("standard", False), ("adaptive", True), ("standard", True), ("standard", False)):
        turn = incoming(at=later(60 * len(modes)))
        claim = await opened(store, turn, mode=mode, drawn=drawn)
        await store.close_turn(closing(turn, claim.token))
        modes.append(claim.mode)
    assert modes == ["standard", "adaptive", "adaptive", "adaptive"]
    row = (await store.tx(lambda one: one.execute(sa.text("SELECT mode, drawn FROM conversations")))).one()
    assert (row.mode, bool(row.drawn)) == ("adaptive", True)


async def test_a_conversation_that_is_made_with_a_draw_keeps_it(store):
    modes = []
    for number, mode in enumerate(("standard", "adaptive")):
        turn = incoming(at=later(60 * number))
        claim = await opened(store, turn, mode=mode, drawn=True)
        await store.close_turn(closing(turn, claim.token))
        modes.append(claim.mode)
    assert modes == ["standard", "standard"]


async def test_a_turn_leaves_what_was_said_and_what_was_thought_in_order(store):
    turn = incoming("where is my order?")
    claim = await opened(store, turn)
    entries = (
        JournalEntry("model", "draft", None, {"tokens": [600, 120]}),
        JournalEntry("policy", "held", ReasonCode.MISSING_PARAM, {"missing": ["order_id"]}),
    )
    answer = result(turn, "Which order?", outcome="asked", reason_codes=(ReasonCode.MISSING_PARAM,))
    await store.close_turn(closing(turn, claim.token, answer, entries=entries, language="he"))

    rows = await store.messages(TENANT, CONVERSATION, internal=True)
    assert [(row.seq, row.role, row.kind, row.content) for row in rows] == [
        (0, "user", "message", "where is my order?"),
        (1, "internal", "model", "draft"),
        (2, "internal", "policy", "held"),
        (3, "assistant", "message", "Which order?"),
    ]
    assert rows[1].meta == {"tokens": [600, 120]}
    assert (rows[2].reason, rows[2].meta) == (ReasonCode.MISSING_PARAM, {"missing": ["order_id"]})
    assert {row.turn for row in rows} == {turn.turn}
    assert (rows[0].at, rows[3].at) == (NOON, later(1))
    visible = await store.messages(TENANT, CONVERSATION)
    assert [row.seq for row in visible] == [0, 3]
    assert (await opened(store, incoming(at=later(9)))).language == "he"


async def test_messages_are_read_in_pages(store):
    for number in range(3):
        await whole_turn(store, f"question {number}", f"answer {number}", at=later(number * 10))
    first = await store.messages(TENANT, CONVERSATION, limit=2)
    rest = await store.messages(TENANT, CONVERSATION, after=first[-1].seq)
    assert [row.content for row in first] == ["question 0", "answer 0"]
    assert [row.content for row in rest] == ["question 1", "answer 1", "question 2", "answer 2"]


async def test_a_turn_without_words_leaves_no_empty_message(store):
    turn = incoming()
    claim = await opened(store, turn)
    await store.close_turn(closing(turn, claim.token, result(turn, "", outcome="failed"), entries=()))
    assert [row.role for row in await store.messages(TENANT, CONVERSATION, internal=True)] == ["user"]


async def test_history_is_the_newest_visible_messages_before_this_one(store):
    for number in range(4):
        await whole_turn(store, f"question {number}", f"answer {number}", at=later(number * 10))
    claim = await opened(store, incoming("now", at=later(99)), history=3)
    assert [message.content for message in claim.history] == ["answer 2", "question 3", "answer 3"]
    assert claim.next_seq == 17
    assert (await opened(store, incoming(conversation="other", at=later(99)), history=0)).history == ()


async def test_reading_history_does_not_get_slower_with_the_conversation(store):
    """The plan uses the index of visible messages, from its end: turn 1,000 costs what turn 10 does."""
    from circumspect.stores.statements import run
    from circumspect.stores.turn_opening import _HISTORY

    def explain(connection: sa.Connection) -> str:
        sqlite = connection.dialect.name == "sqlite"
        if not sqlite:
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        how = "EXPLAIN QUERY PLAN " if sqlite else "EXPLAIN "
        statement = type(_HISTORY)(how + _HISTORY.sqlite, how + _HISTORY.postgresql)
        values = {"tenant": "t", "conversation": "c", "own": 1, "history": 5}
        return "\n".join(str(row) for row in run(connection, statement, values).fetchall())

    plan = await store.tx(explain)
    assert "ix_messages_visible" in plan
    assert "Sort" not in plan
    assert "TEMP B-TREE" not in plan


# --- the lease ------------------------------------------------------------------------------------------------------


async def test_a_conversation_belongs_to_one_worker_at_a_time(store):
    await opened(store, incoming())
    with pytest.raises(ConversationBusy):
        await opened(store, incoming(at=later(LEASE - 1)))
    assert len(await store.messages(TENANT, CONVERSATION)) == 1


async def test_a_lease_that_ran_out_is_taken_over_and_the_first_worker_writes_nothing(store):
    slow = incoming("slow")
    first = await opened(store, slow)
    quick = incoming("quick", at=later(LEASE + 1))
    second = await opened(store, quick)
    for late in (
        store.close_turn(closing(slow, first.token, at=later(30))),
        store.renew(slow, first.token, 60),
        store.begin_call(execution(slow), first.token),
    ):
        with pytest.raises(LeaseLost):
            await late
    await store.close_turn(closing(quick, second.token))
    assert [row.content for row in await store.messages(TENANT, CONVERSATION)] == ["slow", "quick", "Hello."]
    assert await store.executions(TENANT, CONVERSATION) == []
    assert await status_of(store, slow.turn) == "interrupted"
    assert await status_of(store, quick.turn) == "done"


async def test_a_renewed_lease_is_not_taken_over(store):
    turn = incoming()
    claim = await opened(store, turn)
    await store.renew(turn, claim.token, 100)
    with pytest.raises(ConversationBusy):
        await opened(store, incoming(at=later(99)))
    await store.close_turn(closing(turn, claim.token))


async def test_a_lease_that_ran_out_but_was_not_taken_still_closes(store):
    turn = incoming()
    claim = await opened(store, turn)
    await store.close_turn(closing(turn, claim.token, at=later(LEASE * 10)))
    assert await status_of(store, turn.turn) == "done"


async def test_a_turn_cannot_be_closed_twice(store):
    turn = incoming()
    claim = await opened(store, turn)
    await store.close_turn(closing(turn, claim.token))
    with pytest.raises(LeaseLost):
        await store.close_turn(closing(turn, claim.token))
    assert len(await store.messages(TENANT, CONVERSATION)) == 2


async def test_tenants_with_the_same_conversation_id_do_not_meet(store):
    other = TenantId("other")
    await whole_turn(store, "ours")
    claim = await opened(store, incoming("theirs", tenant=other))
    assert claim.history == ()
    assert [row.content for row in await store.messages(other, CONVERSATION)] == ["theirs"]
    assert [row.content for row in await store.messages(TENANT, CONVERSATION)] == ["ours", "Hello."]


# --- the client's key -----------------------------------------------------------------------------------------------


async def test_a_key_that_was_answered_gets_the_same_answer_and_nothing_is_written(store):
    turn = incoming("cancel it", key="k1")
    claim = await opened(store, turn)
    usage = Usage("adaptive", (ModelUsage("a", 10, 5, 1, 0.25, 0.5, 2, True), ModelUsage("b", 1, 1)), 1, 2)
    answer = result(
        turn, "Shall I cancel order 12345?", outcome="asked", pending=intent(), usage=usage,
        reason_codes=(ReasonCode.DESTRUCTIVE_NO_CONFIRM, ReasonCode.LOW_CONFIDENCE), language="ru",
    )  # fmt: skip
    await store.close_turn(closing(turn, claim.token, answer))
    before = await store.messages(TENANT, CONVERSATION, internal=True)

    again = await opened(store, incoming("cancel it", key="k1", at=later(5)))
    assert again.answered is not None
    assert again.answered.to_json() == answer.to_json()
    assert (again.answered.turn, again.answered.usage, again.answered.language) == (turn.turn, usage, "ru")
    assert await store.messages(TENANT, CONVERSATION, internal=True) == before
    # Nothing is claimed: the next message finds the conversation free.
    assert (await opened(store, incoming(at=later(6)))).answered is None


async def test_a_key_that_was_answered_is_answered_even_while_another_turn_runs(store):
    turn = await whole_turn(store, key="k1")
    await opened(store, incoming("next", at=later(5)))
    again = await opened(store, incoming(key="k1", at=later(6)))
    assert again.answered is not None
    assert again.answered.turn == turn.turn


async def test_the_same_key_in_another_conversation_is_another_turn(store):
    await whole_turn(store, key="k1")
    assert (await opened(store, incoming(key="k1", conversation="c2"))).answered is None
    assert (await opened(store, incoming(key="k1", tenant=TenantId("other")))).answered is None


async def test_a_key_that_is_being_answered_is_busy(store):
    await opened(store, incoming(key="k1"))
    with pytest.raises(ConversationBusy):
        await opened(store, incoming(key="k1", at=later(1)))


async def test_an_interrupted_key_runs_again_without_storing_the_message_twice(store):
    await whole_turn(store, "before")
    lost = incoming("cancel it", key="k1", at=later(10))
    await opened(store, lost)
    again = incoming("cancel it", key="k1", at=later(10 + LEASE))
    claim = await opened(store, again)
    assert claim.answered is None
    assert [message.content for message in claim.history] == ["before", "Hello."]
    await store.close_turn(closing(again, claim.token, entries=()))

    rows = await store.messages(TENANT, CONVERSATION, internal=True)
    assert [row.content for row in rows if row.role != "internal"] == ["before", "Hello.", "cancel it", "Hello."]
    assert [row.seq for row in rows] == list(range(len(rows)))
    assert rows[-2].turn == rows[-1].turn == again.turn
    assert (await store.result_of(again.turn)).turn == again.turn
    assert await store.result_of(lost.turn) is None
    assert (await opened(store, incoming(key="k1", at=later(99)))).answered.turn == again.turn


async def test_an_interrupted_key_runs_again_after_other_turns_and_sees_them(store):
    await opened(store, incoming("first", key="k1"))
    await whole_turn(store, "second", "answer to second", at=later(LEASE))
    claim = await opened(store, again := incoming("first", key="k1", at=later(60)))
    assert [message.content for message in claim.history] == ["second", "answer to second"]
    await store.close_turn(closing(again, claim.token, result(again, "answer to first"), entries=()))
    contents = [row.content for row in await store.messages(TENANT, CONVERSATION)]
    assert contents == ["first", "second", "answer to second", "answer to first"]


@pytest.mark.parametrize("ended", ["started", "succeeded", "indeterminate"])
async def test_an_interrupted_key_that_had_called_a_tool_says_so(store, ended):
    """Something happened or may have, and nobody has told the user, so the call must not simply be made again."""
    lost = incoming("book it", key="k1")
    claim = await opened(store, lost)
    call = execution(lost, ToolCall("book", {"day": "friday"}), effect="write")
    assert await store.begin_call(call, claim.token)
    if ended != "started":
        await store.finish_call(execution(lost, call.call, id=call.id, token=call.token, state=ended, result="ok"))
    again = incoming("book it", key="k1", at=later(LEASE))
    found = await opened(store, again)
    assert [(one.id, one.state, one.turn) for one in found.unsettled] == [(call.id, ended, again.turn)]


async def test_two_workers_with_the_same_key_answer_once(url):
    first, second = await SqlStore.open(url), await SqlStore.open(url)
    turns = [incoming(key="k1"), incoming(key="k1")]
    claims = await asyncio.gather(opened(first, turns[0]), opened(second, turns[1]), return_exceptions=True)
    assert sorted(type(claim).__name__ for claim in claims) == ["ConversationBusy", "Opened"]
    assert len(await first.messages(TENANT, CONVERSATION)) == 1
    await first.close()
    await second.close()


# --- questions, denials, escalations, usage -------------------------------------------------------------------------


async def test_a_question_is_bound_to_the_message_that_asked_it(store):
    pending = await asked(store)
    claim = await opened(store, incoming("yes", at=later(10)))
    assert claim.intent is not None
    assert (claim.intent.question_seq, claim.intent.question) == (3, claim.history[-1].content)
    assert claim.history[-1].seq == 3
    assert claim.intent == intent_with(pending, question_seq=3)


def intent_with(pending, **fields):
    from dataclasses import replace

    return replace(pending, **fields)


async def test_a_new_question_supersedes_the_older_one(store):
    old = await asked(store)
    new = await asked(store, at=later(10))
    states = {one.id: one.state for one in await store.intents(TENANT, CONVERSATION)}
    assert states == {old.id: "superseded", new.id: "pending"}
    assert (await opened(store, incoming(at=later(20)))).intent.id == new.id


async def test_a_question_that_is_asked_again_keeps_its_intent_and_moves_to_the_newer_message(store):
    pending = await asked(store)
    await asked(store, pending, at=later(10))
    (found,) = await store.intents(TENANT, CONVERSATION)
    assert (found.id, found.state, found.question_seq) == (pending.id, "pending", 7)


async def test_a_question_in_another_conversation_supersedes_nothing(store):
    pending = await asked(store)
    await asked(store, conversation="c2")
    assert [one.state for one in await store.intents(TENANT, CONVERSATION)] == ["pending"]
    assert pending.id == (await opened(store, incoming(at=later(20)))).intent.id


async def test_a_no_denies_the_intent_and_it_can_no_longer_be_used(store):
    pending = await asked(store)
    turn = incoming("no", at=later(10))
    claim = await opened(store, turn)
    await store.close_turn(closing(turn, claim.token, denied=pending.id))
    turn = incoming("yes", at=later(20))
    claim = await opened(store, turn)
    assert claim.intent.state == "denied"
    assert not await store.begin_call(execution(turn, intent=pending.id), claim.token)


async def test_an_escalation_waits_for_a_person_and_is_announced(store):
    turn = incoming()
    claim = await opened(store, turn)
    escalation = Escalation(ReasonCode.CRITIQUE_FAILED, "Please look at this.")
    await store.close_turn(closing(turn, claim.token, escalation=escalation))
    (row,) = await store.escalations(TENANT, "open")
    assert (row.conversation, row.turn, row.reason, row.summary, row.execution) == (
        CONVERSATION, turn.turn, ReasonCode.CRITIQUE_FAILED, "Please look at this.", None
    )  # fmt: skip
    (note,) = await at(later(2), store).claim_outbox("dispatcher", 30, 10)
    assert (note.topic, note.payload["id"], note.payload["tenant"]) == ("escalation", row.id, TENANT)
    await store.resolve(row.id, by="dora")
    assert await store.escalations(TENANT, "open") == []
    assert await store.escalations(TenantId("other")) == []


async def test_usage_adds_up_by_month_mode_and_model(store):
    for when, escalation in ((NOON, None), (later(60), Escalation(ReasonCode.MODEL_FAILED, "help"))):
        turn = incoming(at=when)
        claim = await opened(store, turn)
        calls = (ModelUsage("a", 600, 120, cost_usd=0.5), ModelUsage("b", 10, 5, cost_usd=0.25), ModelUsage("a", 1, 1))
        answer = result(turn, usage=Usage("adaptive", calls, critiques=1, context_rounds=2))
        await store.close_turn(closing(turn, claim.token, answer, escalation=escalation, multiplier=1.5, at=when))
    rows = await store.usage(TENANT, "2026-03")
    assert [(row.model, row.messages, row.model_calls, row.input_tokens, row.output_tokens) for row in rows] == [
        ("a", 2, 4, 1202, 242),
        ("b", 0, 2, 20, 10),
    ]
    assert [(row.critiques, row.context_fetches, row.escalations) for row in rows] == [(2, 4, 1), (0, 0, 0)]
    assert [(row.cost, row.billed) for row in rows] == [(1.0, 1.5), (0.5, 0.75)]
    assert await store.usage(TENANT, "2026-04") == []
    assert await store.usage(TenantId("other")) == []


async def test_a_turn_that_asked_no_model_counts_as_a_message(store):
    turn = incoming()
    claim = await opened(store, turn)
    await store.close_turn(closing(turn, claim.token, result(turn, usage=Usage("standard"))))
    (row,) = await store.usage(TENANT)
    assert (row.mode, row.model, row.messages, row.model_calls, row.cost) == ("standard", "", 1, 0, 0.0)


async def test_a_month_ends_at_midnight_utc(store):
    from datetime import datetime, timedelta, timezone

    turn = incoming()
    claim = await opened(store, turn)
    west = datetime(2026, 3, 31, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    await store.close_turn(closing(turn, claim.token, at=west))
    assert [row.period for row in await store.usage(TENANT)] == ["2026-04"]


async def test_calls_that_only_read_are_written_down_when_the_turn_closes(store):
    turn = incoming()
    claim = await opened(store, turn)
    reads = tuple(
        execution(turn, ToolCall("get_order", {"n": n}), effect="read", state="succeeded", result={"n": n},
                  started_at=later(n), finished_at=later(n + 1))
        for n in range(3)
    )  # fmt: skip
    await store.close_turn(closing(turn, claim.token, executions=reads))
    assert await store.executions(TENANT, CONVERSATION) == list(reads)
    assert (await opened(store, incoming(at=later(50)))).unsettled == ()


# --- what cannot be stored as it is ---------------------------------------------------------------------------------

ODD = "NUL \0, half \ud83d of a pair, whole \ud83d\ude00, שלום"
JOINED = "NUL \0, half \ud83d of a pair, whole 😀, שלום"
STORED = "NUL \u2400, half \ufffd of a pair, whole 😀, שלום"


async def test_text_that_a_database_cannot_hold_is_replaced_and_json_is_kept_exactly(store):
    call = ToolCall("note", {"text": ODD, "big": 2**70, "n": 1.0}, "id")
    pending = intent(call, question=ODD, hash="h")
    turn = incoming(ODD, principal="colleague " + ODD)
    claim = await opened(store, turn)
    entries = (JournalEntry("tool", ODD, None, {"text": ODD, "big": 2**70}),)
    answer = result(turn, ODD, outcome="asked", pending=pending)
    await store.close_turn(closing(turn, claim.token, answer, entries=entries))

    rows = await store.messages(TENANT, CONVERSATION, internal=True)
    assert [row.content for row in rows] == [STORED] * 3
    assert rows[0].meta == {"principal": "colleague " + JOINED}
    assert rows[1].meta == {"text": JOINED, "big": 2**70}
    (kept,) = await store.intents(TENANT, CONVERSATION)
    exact = ToolCall("note", {"text": JOINED, "big": 2**70, "n": 1.0}, "id")
    assert (kept.call, kept.question) == (exact, STORED)
    assert isinstance(kept.call.arguments["n"], float)
    stored = await store.result_of(turn.turn)
    assert (stored.reply, stored.pending.call) == (JOINED, exact)


@pytest.mark.parametrize("odd", ["a\0b", "a\ud800b"])
@pytest.mark.parametrize("field", ["tenant", "conversation", "turn", "key"])
async def test_an_identifier_that_cannot_be_stored_is_refused_not_altered(store, field, odd):
    with pytest.raises(StoreError, match="identifier"):
        await opened(store, incoming(**{field: odd}))


async def test_a_long_journal_is_stored_whole(store):
    turn = incoming("x" * 100_000)
    claim = await opened(store, turn)
    entries = tuple(JournalEntry("model", f"entry {number}", None, {"n": number}) for number in range(1234))
    await store.close_turn(closing(turn, claim.token, entries=entries))
    rows = await store.messages(TENANT, CONVERSATION, internal=True, limit=5000)
    assert [row.seq for row in rows] == list(range(1236))
    assert rows[1234].meta == {"n": 1233}


async def test_a_turn_that_fails_halfway_leaves_nothing(store):
    """The second call of the closing turn has an id that is taken; the whole closing is undone."""
    turn = incoming()
    claim = await opened(store, turn)
    twice = execution(turn, effect="read", state="succeeded")
    with pytest.raises(StoreError):
        await store.close_turn(closing(turn, claim.token, executions=(twice, twice)))
    assert len(await store.messages(TENANT, CONVERSATION, internal=True)) == 1
    assert await store.usage(TENANT) == []
    await store.close_turn(closing(turn, claim.token))


async def test_a_body_run_by_hand_is_one_transaction(store):
    def broken(connection: sa.Connection) -> None:
        connection.execute(sa.text("DELETE FROM plans"))
        raise ValueError("on second thought")

    with pytest.raises(ValueError, match="second thought"):
        await store.tx(broken)
    assert len(await store.plans()) == 3
