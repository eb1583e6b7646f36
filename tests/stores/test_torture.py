"""Workers killed at random moments: no effect happens twice, none is lost, and a person hears of every doubt."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime

import pytest
from tests.stores.torture import World
from tests.stores.words import TENANT, asked, intent

from circumspect.values import ConversationId, ToolCall

CALLS = 120


@pytest.mark.slow
async def test_killed_workers_do_nothing_twice_and_lose_nothing(store, url, race, tmp_path):
    names = [ConversationId(f"c{number}") for number in range(CALLS)]
    now = datetime.now(UTC)
    for number, name in enumerate(names):
        call = ToolCall(("keyed", "blind")[number % 2], {"n": number})
        await asked(store, intent(call, conversation=name, created=now, seconds=3600), conversation=name, at=now)

    world = World(tmp_path)
    seed = random.randrange(10**6)
    kills = race("torture", url, 3, folder=str(tmp_path), seed=seed)["kills"]
    print(f"seed {seed}: {kills} workers killed")
    assert kills >= 3

    calls = [one for name in names for one in await store.executions(TENANT, name)]
    assert len({one.intent for one in calls}) == len(calls) == CALLS, "every yes was used exactly once"
    effects = Counter(world.effects())
    assert max(effects.values()) == 1, "nothing happened twice"
    assert effects.keys() <= {one.id for one in calls}
    succeeded = {one.id for one in calls if one.state == "succeeded"}
    doubtful = {one.id for one in calls if one.state == "indeterminate"}
    assert len(succeeded) + len(doubtful) == CALLS, "nothing is left half done"
    assert succeeded <= effects.keys(), "what is said to have happened did"
    assert {one.id for one in calls if one.recovery == "keyed"} <= succeeded, "what can be repeated safely was"

    assert {row.execution for row in await store.escalations()} == doubtful
    assert set(world.read("delivered")) == {f"esc-{one}" for one in doubtful}, "a person hears of every doubt"
    for name in names:
        rows = await store.messages(TENANT, name, internal=True)
        assert [row.seq for row in rows] == list(range(len(rows)))
