"""Leases go by the database's clock: a worker whose own is wrong neither takes from others nor loses what it holds."""

from __future__ import annotations

import time

import pytest
from tests.stores.words import CALL, LEASE, NOON, TENANT, at, execution, fresh, incoming, later, opened

from circumspect.clock import FixedClock, RandomIds
from circumspect.errors import ConversationBusy
from circumspect.ports import Tools
from circumspect.steps.sweep import sweep
from circumspect.stores.database_time import read  # as it is; the others of this folder are given a clock that stands
from circumspect.values import ToolSpec

AHEAD = later(120)


class BlindTools(Tools):
    def specs(self):
        return {CALL.tool: ToolSpec(CALL.tool, "", {}, "destructive", recovery="blind")}


async def test_a_worker_that_is_ahead_leaves_running_calls_alone(store):
    turn = incoming()
    claim = await opened(store, turn)
    await store.begin_call(execution(turn, lease=75), claim.token)
    assert await sweep(TENANT, BlindTools(), store, FixedClock(AHEAD), RandomIds()) == ()
    at(later(75), store)
    (settled,) = await sweep(TENANT, BlindTools(), store, FixedClock(AHEAD), RandomIds())
    assert settled.state == "indeterminate"


async def test_a_worker_that_is_ahead_does_not_take_a_conversation_over(store):
    await opened(store, incoming())
    with pytest.raises(ConversationBusy):
        await store.open_turn(incoming(at=AHEAD), mode="adaptive", history=5, token=fresh("lease"), lease_seconds=LEASE)


@pytest.mark.parametrize("wrong", [-120, 120])
async def test_a_call_is_held_as_long_as_its_lease_whatever_its_workers_clock_says(store, wrong):
    claim = await opened(store, incoming())
    await store.begin_call(execution(incoming(at=later(wrong)), lease=75), claim.token)
    assert await at(later(74), store).claim_expired("sweeper", 30, 10) == []
    assert len(await at(later(75), store).claim_expired("sweeper", 30, 10)) == 1


async def test_the_time_is_the_databases_own(store):
    """Both run on this machine here, so they agree to within what the question takes."""
    before = time.time()
    assert before - 1 <= await store.tx(read) <= time.time() + 1
    assert before - NOON.timestamp() > 3600, "not the one that the tests set"
