"""A shadow says what a second configuration would have done, and does nothing: the shop, the store and the log are as
they were."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from tests.lab.trying import SHOP, Home, at_home, incoming
from tests.patience import PATIENCE

from circumspect.clock import FixedClock, RandomIds, SystemClock
from circumspect.demo.samples.sample_files import DIRECTORY
from circumspect.errors import ModelRefused
from circumspect.lab.trials import conducting
from circumspect.lab.trials.experiments import Experiment, start
from circumspect.lab.trials.shadow import AnsweredTurn, shadow
from circumspect.lab.trials.variants import Variant, make_variant, read_overlay
from circumspect.lab.trials.watching_store import Watching
from circumspect.pipeline import run_turn
from circumspect.policy.load import load
from circumspect.server.experiment_turns import Experimenting
from circumspect.server.shadow_turns import Shadowing
from circumspect.server.stores import policies, privacy
from circumspect.stores import experiments, shadows
from circumspect.values import Json, ModelReply, ModelRequest, ToolSpec

NOW = SystemClock()


class Counting:
    """The shop's tools, and every call that reached them."""

    def __init__(self, tools) -> None:
        self.tools, self.called = tools, []

    def specs(self) -> Mapping[str, ToolSpec]:
        return self.tools.specs()

    async def call(self, name: str, arguments: Mapping[str, Json], key: str) -> Json:
        self.called.append(name)
        return await self.tools.call(name, arguments, key)

    async def lookup(self, name: str, arguments: Mapping[str, Json], key: str) -> Json | None:
        self.called.append(name)
        return await self.tools.lookup(name, arguments, key)


class Refusing:
    name = "refusing"

    async def complete(self, request: ModelRequest) -> ModelReply:
        raise ModelRefused("It says no.", fix="Try another.")

    def stream(self, request: ModelRequest):
        raise ModelRefused("It says no.", fix="Try another.")


class Talk:
    """A conversation that is watched, so that any turn of it can have a shadow."""

    def __init__(self, home: Home) -> None:
        self.home, self.watching, self.turns = home, Watching(home.store), 0
        self.tools = Counting(home.setup.ports.tools)
        ports = replace(home.setup.ports, store=self.watching, tools=self.tools)
        self.setup = replace(home.setup, ports=ports)

    async def says(self, text: str) -> AnsweredTurn:
        self.turns += 1
        message = incoming(text, turn=f"t{self.turns}")
        with self.watching.watch(message.turn) as watch:
            result = await run_turn(message, self.setup)
        assert watch.opened is not None
        return AnsweredTurn(message, watch.opened, watch.history, result, 0.1, self.setup.policy)

    async def variant(self, **overlay: object) -> Variant:
        return await make_variant(self.setup, read_overlay(overlay), self.home.resources)

    def state(self) -> list[str]:
        """Every row of the store and of the shop."""
        files = sorted(Path(self.home.folder).glob("*.db"))
        lines: list[str] = []
        for file in files:
            with closing(sqlite3.connect(file)) as database:
                lines += database.iterdump()
        return lines


@pytest.fixture
async def talk(tmp_path):
    async with at_home(tmp_path) as home:
        yield Talk(home)


async def test_the_same_configuration_does_the_same_and_asks_no_tool(talk):
    live = await talk.says("where is order 12345?")
    before, asked = talk.state(), list(talk.tools.called)
    made = await shadow(live, await talk.variant(), "recorded", NOW)
    assert made.same, made
    assert made.differences == ()
    assert made.shadow["reply"] == live.result.reply
    assert talk.tools.called == asked
    assert talk.state() == before


MOVE = "change the address of order 12345 to 1 New Street, Haifa"


async def lenient(home: Home) -> dict[str, object]:
    """A configuration under which an address is changed unasked."""
    policy = yaml.safe_load((DIRECTORY / "policy.yaml").read_text("utf-8"))
    policy["tools"]["update_address"] = {"effect": "write", "confirm": "never"}
    text = yaml.safe_dump(policy)
    made = await home.store.tx(policies.put_policy, SHOP, text, load(text).hash, at=NOW.now())
    return {"profile": "standard", "policy": made.version}


async def test_what_would_have_been_done_is_said_and_not_done(talk):
    overlay = await lenient(talk.home)
    live = await talk.says(MOVE)
    assert live.result.outcome == "asked"
    before = talk.state()
    for reads in ("recorded", "live"):
        made = await shadow(live, await talk.variant(**overlay), reads, NOW)
        assert made.shadow["outcome"] == "acted"
        assert made.shadow["would"] == [
            {"tool": "update_address", "arguments": {"order_id": "12345", "address": "1 New Street, Haifa"}}
        ]
        assert {"outcome", "calls"} <= {*made.differences}
        assert not made.same
    assert talk.tools.called == []
    assert talk.state() == before


async def test_the_yes_of_a_user_is_not_used_up_and_acts_once(talk):
    await talk.says("cancel order 12345")
    live = await talk.says("yes")
    assert live.result.outcome == "acted"
    before = talk.state()
    made = await shadow(live, await talk.variant(), "live", NOW)
    assert made.same, made
    assert made.shadow["outcome"] == "acted"
    assert talk.tools.called.count("cancel_order") == 1
    assert talk.state() == before


async def test_it_sees_the_conversation_and_the_clock_as_they_were(talk):
    """What was said, done and expired since has nothing to do with it."""
    await talk.says("cancel order 12345")
    live = await talk.says("yes")
    await talk.says("where is order 12345?")
    tomorrow = FixedClock(NOW.now() + timedelta(days=1))
    made = await shadow(live, await talk.variant(profile="adaptive"), "recorded", tomorrow)
    assert made.same, made
    other = await shadow(live, await talk.variant(profile="standard"), "recorded", tomorrow)
    assert other.shadow["outcome"] == "acted"


async def test_a_read_that_nobody_made_is_unknown_or_really_made(talk):
    live = await talk.says("where is order 12345?")
    blind = replace(live, result=replace(live.result, entries=()))
    made = await shadow(blind, await talk.variant(), "recorded", NOW)
    assert made.shadow["unknown_reads"] == [{"tool": "get_order_status", "arguments": {"order_id": "12345"}}]
    assert talk.tools.called == ["get_order_status"]
    made = await shadow(blind, await talk.variant(), "live", NOW)
    assert "unknown_reads" not in made.shadow
    assert made.shadow["reply"] == live.result.reply
    assert talk.tools.called == ["get_order_status"] * 2


async def test_one_that_fails_says_so_and_nobody_else_notices(talk):
    live = await talk.says("hello")
    before = talk.state()
    variant = await talk.variant()
    broken = Variant(replace(variant.setup, ports=replace(variant.setup.ports, model=Refusing())))
    made = await shadow(live, broken, "recorded", NOW)
    assert made.error
    assert not made.same
    assert talk.state() == before


async def test_a_shadow_is_not_logged_as_a_turn(talk, caplog):
    live = await talk.says("hello")
    caplog.set_level(logging.INFO, "circumspect.turn")
    caplog.clear()
    await shadow(live, await talk.variant(), "recorded", NOW)
    assert [one for one in caplog.records if one.name == "circumspect.turn"] == []


# --- waiting for it -------------------------------------------------------------------------------------------------


async def started(home: Home, **plan: object) -> Experiment:
    made = conducting.draft(
        SHOP, "s1", name="s", kind="shadow", arms=[{"name": "new", "overlay": await lenient(home)}], plan=plan,
        by="me", at=0.0,
    )  # fmt: skip
    running = start(made, 1.0, 0.0, notice=0)
    await home.store.tx(conducting.create, running, lambda *_: None)
    return running


@pytest.fixture
async def waiting(talk):
    experimenting = Experimenting(talk.home.store, talk.home.resources, NOW, check_seconds=0)
    queue = Shadowing(talk.home.store, experimenting, NOW, RandomIds(), most=2)
    yield queue
    await queue.close()


async def test_shadows_are_kept_and_those_too_many_are_counted(talk, waiting):
    experiment = await started(talk.home)
    turns = [await talk.says(MOVE) for _ in range(5)]
    for one in turns:
        waiting.offer(experiment, one, talk.home.setup)
    await waiting.idle()
    await waiting.count()
    store = talk.home.store
    kept = await store.tx(shadows.list_shadows, None, None, 10)
    assert [row.turn for row in kept] == ["t2", "t1"]
    assert {row.shadow["outcome"] for row in kept} == {"acted"}
    assert (await store.tx(experiments.get, None, "s1")).dropped == 3
    summary = await store.tx(shadows.summary, SHOP, "s1")
    assert (summary.turns, summary.same) == (2, 0)
    assert summary.outcomes == {"asked -> acted": 2}


async def test_one_whose_budget_is_used_up_stops(talk, waiting):
    experiment = await started(talk.home, budget_tokens=1)
    for _ in range(2):
        waiting.offer(experiment, await talk.says("where is order 12345?"), talk.home.setup)
        await waiting.idle()
    row = await talk.home.store.tx(experiments.get, None, "s1")
    assert row.state == "stopped"
    assert "budget" in row.note
    assert len(await talk.home.store.tx(shadows.list_shadows, None, None, 10)) == 1


async def test_one_that_was_switched_off_meanwhile_does_not_run(talk, waiting):
    experiment = await started(talk.home)
    live = await talk.says("hello")
    await conducting.stop_by_itself(talk.home.store, experiment, "enough", NOW, RandomIds())
    waiting.offer(experiment, live, talk.home.setup)
    await waiting.idle()
    assert await talk.home.store.tx(shadows.list_shadows, None, None, 10) == []


async def test_a_conversation_that_is_gone_gets_no_shadow(talk, waiting):
    experiment = await started(talk.home)
    first, second = await talk.says("hello"), await talk.says("where is order 12345?")
    waiting.offer(experiment, first, talk.home.setup)
    await waiting.idle()
    store = talk.home.store
    assert len(await store.tx(shadows.list_shadows, None, None, 10)) == 1
    await store.tx(privacy.forget, SHOP, first.incoming.conversation)
    assert await store.tx(shadows.list_shadows, None, None, 10) == []
    waiting.offer(experiment, second, talk.home.setup)
    await asyncio.wait_for(waiting.idle(), PATIENCE)
    assert await store.tx(shadows.list_shadows, None, None, 10) == []
