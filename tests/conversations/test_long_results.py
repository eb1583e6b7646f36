"""How much of what a tool returns is stored and shown to a model."""

from pathlib import Path

import pytest

from circumspect import Agent, tool
from circumspect.models.scripted import ScriptedModel, calls
from circumspect.policy.load import load
from circumspect.reasons import ReasonCode
from circumspect.steps.act import LONGEST_SHOWN
from circumspect.values import ConversationId, TenantId

POLICY = """
version: 1
tools:
  list_orders: {effect: read}
  close_shop: {effect: write, confirm: never}
"""


@pytest.fixture
def make(tmp_path):
    def agent(size, model):
        @tool(effect="read")
        async def list_orders() -> list[str]:
            """All orders."""
            return ["x" * 98] * (size // 101)

        @tool(effect="write")
        async def close_shop() -> list[str]:
            """Close the shop, and list all orders."""
            return ["x" * 98] * (size // 101)

        tools = [list_orders, close_shop]
        return Agent("shop", tools=tools, model=model, policy=load(POLICY), mode="standard", database=tmp_path / "l.db")

    return agent


async def test_a_long_result_is_stored_whole_and_the_model_is_shown_its_beginning(make):
    model = ScriptedModel([calls("list_orders"), "There are many."])
    async with make(1_000_000, model) as agent:
        assert (await agent.turn("which orders are there?", conversation="c1")).outcome == "answered"
        (call,) = await (await agent.open()).ports.store.executions(TenantId("shop"), ConversationId("c1"))
    shown = model.requests[-1].messages[-1].text
    assert LONGEST_SHOWN < len(shown) < LONGEST_SHOWN + 500
    assert "Cut off here: the result has 999,901 characters, of which the first 100,000 are shown" in shown
    assert len(call.result) == 1_000_000 // 101


async def test_a_result_without_measure_is_neither_shown_nor_stored(make, tmp_path: Path):
    model = ScriptedModel([calls("list_orders"), "I cannot list them."])
    async with make(50_000_000, model) as agent:
        assert (await agent.turn("which orders are there?", conversation="c1")).outcome == "answered"
    told = "ERROR: list_orders returned more than 2 MB, which is not read: ask for less at once."
    assert model.requests[-1].messages[-1].text == told
    assert sum(one.stat().st_size for one in tmp_path.iterdir()) < 2_000_000


async def test_a_change_with_a_result_without_measure_has_happened_and_a_person_is_told(make):
    async with make(50_000_000, ScriptedModel([calls("close_shop")])) as agent:
        turn = await agent.turn("close the shop please", conversation="c1")
    assert turn.outcome == "escalated"
    assert ReasonCode.OUTCOME_UNKNOWN in turn.reason_codes
