"""A turn, and forgetting one, cost the same however much is stored: no statement of theirs reads a table that grows
from end to end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from bench.growth_rows import YEAR, conversation_id, fill, person
from tests.stores.plans import count_steps, overhear, walk_tables
from tests.stores.words import NOON, TENANT, asked, closing, execution, incoming, intent, later, opened, result

from circumspect.reasons import ReasonCode
from circumspect.server.stores import client_chats, privacy
from circumspect.stores import SqlStore, unfinished_turns
from circumspect.values import ConversationId, Escalation

FEW, MANY = 300, 3000
NOW = NOON.timestamp()


def grow(url: str, number: int) -> None:
    fill(url, (TENANT, "other"), number, now=NOW)


# --- what is done ---------------------------------------------------------------------------------------------------


async def take_turns(store: SqlStore) -> None:
    """A question with a call, the yes that runs it, one sent again, and one handed to a colleague who approves."""
    here = ConversationId(conversation_id(6))
    waits = await asked(store, intent(conversation=here), conversation=here, key="first", account="user")
    yes = incoming("yes", conversation=here, key="k1", at=later(5))
    claim = await opened(store, yes)
    call = execution(yes, intent=waits.id)
    await store.renew(yes, claim.token, 50)
    assert await store.begin_call(call, claim.token)
    await store.finish_call(call)
    await store.recent_executions(TENANT, ["cancel_order"], later(-60))
    await store.recent_executions(TENANT, ["cancel_order"], later(-60), person="")
    await store.recent_executions(TENANT, ["cancel_order"], later(-60), person=person(100))
    await store.executions(TENANT, here)
    await store.intents(TENANT, here)
    escalation = Escalation(ReasonCode.APPROVAL_REQUIRED, "Somebody has to look.")
    approval = intent(conversation=here, kind="approval")
    answer = result(yes, "A colleague looks at it.", outcome="escalated", pending=approval)
    await store.close_turn(closing(yes, claim.token, answer, escalation=escalation))
    await opened(store, yes)
    await store.claim_expired("sweeper", 60, 10)
    await store.claim_outbox("courier", 60, 10)
    await store.messages(TENANT, here)


async def forget(store: SqlStore) -> None:
    await store.tx(privacy.forget, TENANT, conversation_id(RARE_ONE))
    assert await store.tx(privacy.forget_older, TENANT, NOW - YEAR / 2, 3) == 3
    assert await store.tx(privacy.tidy, NOW, NOW) >= 0
    assert (await store.tx(privacy.export_person, TENANT, person(200)))["conversations"]
    assert await store.tx(privacy.delete_person, TENANT, person(200)) > 0


async def look_for_unfinished(store: SqlStore) -> None:
    """What every worker does every few seconds, and what a request without a key asks."""
    left = incoming("hello", conversation=conversation_id(9), key="same request", at=later(5))
    await opened(store, left)
    await store.tx(unfinished_turns.tenants_with_unfinished)
    await store.tx(unfinished_turns.list_unfinished, TENANT, 10)
    await store.tx(client_chats.list_former, TENANT, person(9), "same request")
    await store.tx(client_chats.release_key, left.turn, "same request")


RARE_ONE = 7
DEEDS = {"turns": take_turns, "forgetting": forget, "unfinished": look_for_unfinished}
Deed = Callable[[SqlStore], Awaitable[None]]


@pytest.mark.parametrize("deed", DEEDS.values(), ids=DEEDS.keys())
async def test_no_statement_reads_a_table_from_end_to_end(url: str, deed: Deed) -> None:
    grow(url, MANY)
    with overhear() as statements:
        store = await SqlStore.open(url)
        try:
            await deed(store)
        finally:
            await store.close()
    assert len(statements) > 5
    assert walk_tables(url, statements) == {}


@pytest.mark.parametrize("deed", DEEDS.values(), ids=DEEDS.keys())
async def test_ten_times_as_much_stored_is_not_more_work(sqlite_template, tmp_path, deed: Deed) -> None:
    worked = []
    for number in (FEW, MANY):
        path = tmp_path / f"{number}.db"
        path.write_bytes(sqlite_template.read_bytes())
        grow(f"sqlite:///{path}", number)
        with count_steps() as steps:
            store = await SqlStore.open(str(path))
            try:
                before = steps.count
                await deed(store)
                worked.append(steps.count - before)
            finally:
                await store.close()
    few, many = worked
    assert many <= 1.5 * few + 20, worked
