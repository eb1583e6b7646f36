"""Two models, each standing in for the other (R8)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from circumspect.errors import ConfigError, ModelGarbled, ModelRefused, ModelUnavailable
from circumspect.models.scripted import ScriptedModel
from circumspect.values import ChatMessage, ModelReply, ModelRequest, ModelUsage
from circumspect.web.model_pair import ModelPair, open_pair

ASKS = ModelRequest("analyse", "p@1", "Think.", (ChatMessage("user", "hello"),))
TROUBLE = [ModelUnavailable("down"), ModelRefused("no"), ModelGarbled("?")]


def model(*replies: object, name: str) -> ScriptedModel:
    return ScriptedModel(replies, name=name)  # type: ignore[arg-type]


async def test_the_smart_model_thinks_at_its_temperature():
    smart = model("yes", name="smart")
    answered = await ModelPair(smart, model(name="fast")).think(ASKS)
    assert (answered.reply.text, answered.degraded, answered.fallbacks) == ("yes", False, 0)
    assert smart.requests[0].temperature == 0.3


@pytest.mark.parametrize("trouble", TROUBLE)
async def test_then_its_fallback_and_that_is_not_degraded(trouble):
    pair = ModelPair(model(trouble, name="smart"), model(name="fast"), model("yes", name="second"))
    answered = await pair.think(ASKS)
    assert (answered.reply.usage.model, answered.degraded, answered.fallbacks) == ("second", False, 1)


async def test_then_the_fast_one_and_that_is():
    pair = ModelPair(model(TROUBLE[0], name="smart"), model("yes", name="fast"), model(TROUBLE[1], name="second"))
    answered = await pair.think(ASKS)
    assert (answered.reply.usage.model, answered.degraded, answered.fallbacks) == ("fast", True, 2)


async def test_one_model_for_both_is_not_degraded_nor_asked_twice_the_same():
    only = model("yes", name="only")
    assert not (await ModelPair(only, only).think(ASKS)).degraded
    down = model(TROUBLE[0], name="only")
    with pytest.raises(ModelUnavailable):
        await ModelPair(down, down).think(ASKS)
    assert len(down.requests) == 1


async def test_the_fast_model_does_is_asked_once_more_and_then_the_smart_one_does():
    first = await ModelPair(model(name="smart"), model("done", name="fast")).do(ASKS)
    assert (first.reply.usage.model, first.fallbacks) == ("fast", 0)
    second = await ModelPair(model(name="smart"), model(TROUBLE[0], "done", name="fast")).do(ASKS)
    assert (second.reply.usage.model, second.fallbacks) == ("fast", 1)
    smart = model("done", name="smart")
    third = await ModelPair(smart, model(TROUBLE[0], TROUBLE[2], name="fast")).do(ASKS)
    assert (third.reply.usage.model, third.fallbacks) == ("smart", 2)
    assert smart.requests[0].temperature == 0.7


async def test_when_nobody_can_it_is_said_why():
    pair = ModelPair(model(TROUBLE[1], name="smart"), model(TROUBLE[0], TROUBLE[0], name="fast"))
    with pytest.raises(ModelUnavailable, match="down"):
        await pair.do(ASKS)


async def test_what_the_failed_tries_cost_is_in_the_reply():
    failed = ModelGarbled("?")
    failed.usage = ModelUsage("smart", input_tokens=100, seconds=2.0, cost_usd=0.5)
    answered = await ModelPair(
        model(failed, name="smart"), model(ModelReply("yes", ModelUsage("fast", 10, seconds=1.0)), name="fast")
    ).think(ASKS)
    assert (answered.reply.usage.input_tokens, answered.reply.usage.seconds) == (110, 3.0)


async def test_doing_is_a_model_by_itself():
    pair = ModelPair(model("done", name="smart"), model(TROUBLE[0], TROUBLE[0], name="fast"))
    assert (await pair.doing.complete(ASKS)).usage.model == "smart"


async def test_doing_has_the_fast_models_temperature_and_leaves_alone_what_must_not_vary():
    fast = model("done", "done", name="fast")
    pair = ModelPair(model(name="smart"), fast, fast_temperature=0.6)
    await pair.doing.complete(ASKS)
    await pair.doing.complete(replace(ASKS, temperature=0.0))
    assert [request.temperature for request in fast.requests] == [0.6, 0.0]


def test_opened_by_name(monkeypatch):
    monkeypatch.delenv("CIRCUMSPECT_MODEL", raising=False)
    alone = open_pair()
    assert (alone.smart.name, alone.fast is alone.smart, alone.smart_fallback) == ("offline", True, None)
    fast = ScriptedModel(name="fast")
    pair = open_pair("offline", "offline", fast)
    assert (pair.name, pair.smart_fallback.name) == ("offline+fast", "offline")
    with pytest.raises(ConfigError):
        open_pair("")
