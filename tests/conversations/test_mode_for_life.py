"""A conversation keeps the mode that a share drew for it, whatever becomes of the share. What only follows from the plan
follows the plan: it has no override."""

from __future__ import annotations

from dataclasses import replace

import pytest

from circumspect import Agent
from circumspect.hashing import stable_share
from circumspect.models import ScriptedModel, says
from circumspect.server.console.conversation_story import find_newest_mode
from circumspect.stores import SqlStore
from circumspect.stores.people import get_conversation
from circumspect.values import ConversationId, Mode, Plan, TenantId


def answer(request):
    return says("Hello.", confidence=9) if "<assessment>" in request.system else says("Hello.")


async def run_turn(tmp_path, conversation: str, share: float, plan: Mode = "adaptive", arm: Mode | None = None) -> str:
    async with Agent("shop", model=ScriptedModel(answer), database=tmp_path / "l.db", mode=plan) as agent:
        setup = agent._setup
        tenant = replace(setup.tenant, plan=Plan("pro", plan), adaptive_share=share)
        agent._setup = replace(setup, tenant=tenant, mode=arm)
        return (await agent.turn("hello", conversation=conversation)).usage.mode


@pytest.fixture
def late() -> str:
    """A conversation that a share of a half leaves in standard mode."""
    names = (f"c{number}" for number in range(1000))
    return next(one for one in names if stable_share(TenantId("shop"), ConversationId(one)) >= 0.5)


async def test_a_share_of_all_leaves_running_conversations_where_they_are(tmp_path, late):
    assert await run_turn(tmp_path, late, 0.5) == "standard"
    assert await run_turn(tmp_path, late, 1.0) == "standard"
    assert await run_turn(tmp_path, f"{late}-new", 1.0) == "adaptive"


async def test_a_smaller_share_takes_nobody_out(tmp_path, late):
    assert await run_turn(tmp_path, late, 1.0) == "adaptive"
    assert await run_turn(tmp_path, late, 0.0) == "adaptive"


async def test_a_plan_that_is_standard_has_no_adaptive_conversations(tmp_path, late):
    assert await run_turn(tmp_path, late, 1.0) == "adaptive"
    assert await run_turn(tmp_path, late, 1.0, plan="standard") == "standard"
    assert await run_turn(tmp_path, late, 1.0) == "adaptive"


async def test_a_conversation_of_a_standard_plan_is_upgraded_with_it(tmp_path, late):
    assert await run_turn(tmp_path, late, 1.0, plan="standard") == "standard"
    assert await run_turn(tmp_path, late, 1.0) == "adaptive"
    assert await run_turn(tmp_path, late, 1.0, plan="standard") == "standard"


async def test_an_upgrade_to_a_share_draws_once_and_for_life(tmp_path, late):
    assert await run_turn(tmp_path, late, 1.0, plan="standard") == "standard"
    assert await run_turn(tmp_path, late, 0.5) == "standard"
    assert await run_turn(tmp_path, late, 1.0) == "standard"


async def test_the_arm_of_an_experiment_ends_with_it_and_leaves_no_mode_behind(tmp_path, late):
    assert await run_turn(tmp_path, late, 1.0, arm="standard") == "standard"
    assert await run_turn(tmp_path, late, 1.0) == "adaptive"
    assert await run_turn(tmp_path, late, 0.0, arm="standard") == "standard"
    assert await run_turn(tmp_path, late, 0.0) == "adaptive"


async def test_the_page_says_the_mode_that_the_newest_turn_ran_in(tmp_path, late):
    await run_turn(tmp_path, late, 1.0)
    await run_turn(tmp_path, late, 1.0, plan="standard")
    store = await SqlStore.open(f"sqlite:///{tmp_path}/l.db")
    try:
        found = await store.tx(get_conversation, None, ConversationId(late))
        assert found.mode == "adaptive"
        assert await store.tx(find_newest_mode, found) == "standard"
    finally:
        await store.close()
