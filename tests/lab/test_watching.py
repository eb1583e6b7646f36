"""A turn that failed is withdrawn only while nobody has heard or felt anything of it; then it can be run again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.lab.trying import SHOP, at_home, incoming

from circumspect.errors import ModelRefused
from circumspect.lab.trials.watching_store import Watching
from circumspect.models.scripted import ScriptedModel
from circumspect.pipeline import run_turn


def no(_request):
    return ModelRefused("It says no.", fix="Try another.")


@pytest.fixture
async def tried(tmp_path):
    """The shop with a model that refuses, and the same with its own; both over one watching store."""
    async with at_home(tmp_path) as home:
        watching = Watching(home.store)
        plain = replace(home.setup, ports=replace(home.setup.ports, store=watching))
        yield watching, replace(plain, ports=replace(plain.ports, model=ScriptedModel(no))), plain


async def said(watching: Watching) -> list[str]:
    return [one.role for one in await watching.messages(SHOP, "c1")]


async def test_a_failed_turn_is_withdrawn_and_the_same_message_is_answered_once(tried):
    watching, broken, plain = tried
    message = replace(incoming("where is order 12345?"), key="k")
    with watching.watch(message.turn, lambda: True) as watch:
        failed = await run_turn(message, broken)
    assert failed.outcome == "failed"
    assert watch.withdrawn
    assert await said(watching) == ["user"]
    answered = await run_turn(message, plain)
    assert answered.outcome == "answered"
    assert await said(watching) == ["user", "assistant"]
    again = await run_turn(replace(message, turn="t9"), plain)
    assert (again.turn, again.reply) == (message.turn, answered.reply)


@pytest.mark.parametrize("why", ["heard", "changed", "unwatched"])
async def test_a_turn_that_was_heard_or_felt_stands(tried, why):
    watching, broken, _ = tried
    message = incoming("where is order 12345?")
    with watching.watch(message.turn, None if why == "unwatched" else lambda: why != "heard") as watch:
        watch.changed = why == "changed"
        failed = await run_turn(message, broken)
    assert not watch.withdrawn
    assert await said(watching) == ["user", "assistant"]
    assert (await watching.messages(SHOP, "c1"))[-1].content == failed.reply


async def test_a_turn_that_went_well_is_left_alone(tried):
    watching, _, plain = tried
    message = incoming("where is order 12345?")
    with watching.watch(message.turn, lambda: True) as watch:
        answered = await run_turn(message, plain)
    assert answered.outcome == "answered"
    assert not watch.withdrawn
    assert watch.opened is not None
    assert await said(watching) == ["user", "assistant"]
