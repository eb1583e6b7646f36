"""A real model behind an OpenAI-compatible server. Off by default; only structure is asserted, never wording.

CIRCUMSPECT_TEST_LLM=openai:NAME@http://127.0.0.1:8084/v1 pytest -m llm tests/models/test_real_llm.py

What holds whatever the model answers: nothing that changes something runs without a yes, a verdict quotes what stands
in the document, and an action is one of an element that is on the page.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.models.conftest import CANCEL, asks

from circumspect import Agent, tool
from circumspect.models import ProviderSettings, open_model
from circumspect.models.providers import ProviderModel
from circumspect.reasons import ReasonCode
from circumspect.values import ModelReply, TurnResult

pytestmark = [pytest.mark.llm, pytest.mark.timeout(1200)]


@pytest.fixture
async def real() -> AsyncIterator[ProviderModel]:
    spec = os.environ.get("CIRCUMSPECT_TEST_LLM", "openai:qwen2.5-coder@http://127.0.0.1:8084/v1")
    model = open_model(spec, settings=ProviderSettings(timeout=300))
    assert isinstance(model, ProviderModel)
    yield model
    await model.aclose()


# --- the wire -------------------------------------------------------------------------------------------------------


async def test_it_keeps_to_a_schema(real: ProviderModel) -> None:
    schema = {"type": "object", "properties": {"decision": {"enum": ["PROCEED", "ASK_USER"]}}, "required": ["decision"]}
    reply = await real.complete(asks("Decide: may we cancel it?", schema=schema, max_tokens=100))
    assert json.loads(reply.text)["decision"] in ("PROCEED", "ASK_USER")


async def test_it_streams(real: ProviderModel) -> None:
    *pieces, reply = [piece async for piece in real.stream(asks("Say hello.", max_tokens=20))]
    assert isinstance(reply, ModelReply)
    assert "".join(piece for piece in pieces if isinstance(piece, str)) == reply.text


async def test_tools_reach_it(real: ProviderModel) -> None:
    reply = await real.complete(asks("Cancel my order 12345.", tools=(CANCEL,), max_tokens=200))
    assert all(call.tool == "cancel_order" for call in reply.calls)


# --- turns ----------------------------------------------------------------------------------------------------------


class Shop:
    """An agent with one tool that changes something, and what that tool was called with."""

    def __init__(self, model: ProviderModel, folder: Path, **options: object) -> None:
        self.cancelled: list[str] = []

        @tool(effect="destructive", phrases={"en": "cancel order {order_id}", "ru": "отменить заказ {order_id}"})
        async def cancel_order(order_id: str) -> str:
            """Cancel an order."""
            self.cancelled.append(order_id)
            return f"Order {order_id} is cancelled."

        database = f"sqlite:///{folder}/shop.db"
        self.agent = Agent("shop", tools=[cancel_order], model=model, database=database, **options)  # type: ignore[arg-type]

    async def hear(self, *said: str) -> list[TurnResult]:
        async with self.agent as agent:
            return [await agent.turn(text) for text in said]


@pytest.mark.parametrize("text", ["Please cancel order 12345", "Отмените, пожалуйста, заказ 12345"])
async def test_nothing_is_cancelled_before_a_yes(real: ProviderModel, tmp_path: Path, text: str) -> None:
    shop = Shop(real, tmp_path, mode="adaptive")
    (turn,) = await shop.hear(text)
    assert shop.cancelled == []
    assert turn.outcome != "failed"
    assert "assessment" not in turn.reply


async def test_a_yes_cancels_what_was_asked_about_or_nothing(real: ProviderModel, tmp_path: Path) -> None:
    shop = Shop(real, tmp_path, mode="adaptive")
    asked, done = await shop.hear("Please cancel order 12345", "yes")
    assert shop.cancelled == (["12345"] if asked.pending else [])
    assert done.outcome != "failed"


@pytest.mark.parametrize("understanding", ["guided", "service"])
async def test_a_question_is_understood_or_said_not_to_be(
    real: ProviderModel, tmp_path: Path, understanding: str
) -> None:
    shop = Shop(real, tmp_path, understanding=understanding)
    (turn,) = await shop.hear("Can I still change the address of my order?")
    filled = [one for one in turn.entries if one.kind == "understanding" and one.meta.get("analysis")]
    assert filled or ReasonCode.ANALYSIS_UNREADABLE in turn.reason_codes
    assert "spam_score" not in turn.reply
    assert shop.cancelled == []
