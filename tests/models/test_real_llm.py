"""A real model behind an OpenAI-compatible server. Off by default; only structure is asserted, never wording.

CIRCUMSPECT_TEST_LLM=openai:NAME@http://127.0.0.1:8084/v1 pytest -m llm tests/models/test_real_llm.py
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator

import pytest
from tests.models.conftest import asks

from circumspect.models import ProviderSettings, open_model
from circumspect.models.providers import ProviderModel
from circumspect.turn import ModelReply

pytestmark = [pytest.mark.llm, pytest.mark.timeout(600)]


@pytest.fixture
async def real() -> AsyncIterator[ProviderModel]:
    spec = os.environ.get("CIRCUMSPECT_TEST_LLM", "openai:local@http://127.0.0.1:8084/v1")
    model = open_model(spec, settings=ProviderSettings(timeout=300))
    assert isinstance(model, ProviderModel)
    yield model
    await model.aclose()


async def test_it_keeps_to_a_schema(real: ProviderModel) -> None:
    schema = {"type": "object", "properties": {"decision": {"enum": ["PROCEED", "ASK_USER"]}}, "required": ["decision"]}
    reply = await real.complete(asks("Decide: may we cancel it?", schema=schema, max_tokens=100))
    assert json.loads(reply.text)["decision"] in ("PROCEED", "ASK_USER")


async def test_it_streams(real: ProviderModel) -> None:
    *pieces, reply = [piece async for piece in real.stream(asks("Say hello.", max_tokens=20))]
    assert isinstance(reply, ModelReply)
    assert "".join(piece for piece in pieces if isinstance(piece, str)) == reply.text
