"""An overlay changes what it names and nothing else; a chosen prompt is what the turn sees and what it writes down."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest
from tests.lab.trying import NOTHING, at_home, incoming

from circumspect.errors import ConfigError
from circumspect.lab.trials.experiments import (
    CONTROL,
    Experiment,
    TrafficShare,
    draw,
    finish,
    read_arms,
    set_share,
    start,
    stop,
    stop_arm,
)
from circumspect.lab.trials.variants import THRESHOLDS, Overlay, make_variant, read_overlay
from circumspect.pipeline import run_turn
from circumspect.prompts import Prompt, load_default_prompt, make_prompt_version, prompt, use_prompts
from circumspect.stores.experiments import ExperimentState
from circumspect.values import TenantId


def test_an_overlay_comes_back_from_json_as_it_was():
    said = {
        "model": "offline",
        "prompts": {"critique": "critique@12345678"},
        "policy": 3,
        "thresholds": dict.fromkeys(THRESHOLDS, 0.5),
        "profile": "service",
        "synthetic": False,
        "controller": "heuristic",
    }
    assert read_overlay(said).to_json() == said
    assert read_overlay({}) == Overlay()
    assert Overlay().to_json() == {}


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ({"modle": "x"}, "modle"),
        ({"thresholds": {"clearness": 0.5}}, "clearness"),
        ({"thresholds": {"clarity": 7}}, "clarity"),
        ({"thresholds": {"clarity": True}}, "clarity"),
        ({"thresholds": {"escalate_below": 0.9, "answer_from": 0.5}}, "escalate_below"),
        ({"prompts": {"critique": "standard@12345678"}}, "critique"),
        ({"prompts": {"nonsense": "nonsense@12345678"}}, "nonsense"),
        ({"prompts": {"decide_fields": "decide_fields@12345678"}}, "decide_fields"),
        ({"policy": 0}, "policy"),
        ({"profile": "wild"}, "profile"),
        ({"synthetic": 1}, "synthetic"),
        ({"controller": "human"}, "controller"),
        ("standard", "overlay"),
    ],
)
def test_what_an_overlay_cannot_be_is_said_by_name(said, named):
    with pytest.raises(ConfigError, match=named) as refused:
        read_overlay(said)
    assert refused.value.fix


def test_a_chosen_prompt_holds_inside_and_in_tasks_started_there():
    mine = make_prompt_version("critique", "Judge.\nAnswer in JSON.")
    before = prompt("critique")

    async def inside() -> tuple[Prompt, Prompt]:
        with use_prompts({"critique": mine}):
            task = asyncio.create_task(asyncio.to_thread(prompt, "critique"))
        return await task, prompt("critique")

    seen, after = asyncio.run(inside())
    assert seen == mine
    assert after == before == load_default_prompt("critique")
    assert mine.id != before.id
    assert mine.id.startswith("critique@")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("nonsense", "x", "no prompt"),
        ("standard", "Be kind.", "leaves out"),
        ("standard", "Be kind at $business in $language to $whom.", "whom"),
        ("standard", "Costs 5$ at $business in $language", r"\$ in the text"),
        ("standard", "  ", "empty"),
        ("analyse_fields", "$business $language", "one version"),
    ],
)
def test_a_version_that_a_turn_could_not_use_is_refused(name, text, said):
    with pytest.raises(ConfigError, match=said):
        make_prompt_version(name, text)


async def test_a_variant_is_different_in_what_it_says_only(tmp_path):
    async with at_home(tmp_path) as home:
        setup = home.setup
        overlay = read_overlay({"thresholds": {"critique_below": 0.95}, "profile": "standard"})
        variant = await make_variant(setup, overlay, home.resources)
        assert variant.setup.mode == "standard"
        assert {one.critique_below for one in variant.setup.profiles.values()} == {0.95}
        assert variant.setup.policy is setup.policy
        assert variant.setup.ports is setup.ports
        assert (setup.mode, setup.tenant.plan.mode) == (None, "adaptive")


async def test_what_is_not_there_stops_the_variant_and_says_so(tmp_path):
    async with at_home(tmp_path) as home:
        for said, named in (
            ({"policy": 99}, "99"),
            ({"prompts": {"adaptive": "adaptive@00000000"}}, "adaptive@00000000"),
            ({"thresholds": {"clarity": 0.7}}, "clarity"),
            ({"model": "nobody:nothing"}, "nobody"),
        ):
            with pytest.raises(ConfigError, match=named) as refused:
                await make_variant(home.setup, read_overlay(said), home.resources)
            assert refused.value.fix


async def test_a_profile_that_the_tenant_has_not_is_made_for_it(tmp_path):
    async with at_home(tmp_path) as home:
        overlay = read_overlay({"profile": "service", "thresholds": {"clarity": 0.1}, "synthetic": False})
        made = (await make_variant(home.setup, overlay, home.resources)).setup
        assert home.setup.understanding is None
        assert made.understanding is not None
        assert (made.understanding.decide, made.understanding.synthetic) == (True, False)
        assert made.understanding.routing.clarity == 0.1
        assert made.guardian is not None
        assert made.searches


async def test_the_journal_names_the_version_that_was_chosen(tmp_path):
    async with at_home(tmp_path) as home:
        text = load_default_prompt("adaptive").text + "\nBe brief."
        id_ = await home.add_prompt("adaptive", text)
        variant = await make_variant(home.setup, read_overlay({"prompts": {"adaptive": id_}}), home.resources)
        with variant.use_prompts():
            result = await run_turn(incoming("when are you open?"), variant.setup)
        plain = await run_turn(incoming("when are you open?", turn="t2"), home.setup)
        assert [one.meta["prompt"] for one in result.entries if one.meta.get("prompt")] == [id_]
        assert load_default_prompt("adaptive").id in {one.meta.get("prompt") for one in plain.entries}
        assert [use.turn for use in await home.uses(id_)] == ["t1"]
        assert [use.turn for use in await home.uses(load_default_prompt("adaptive").id)] == ["t2"]


# --- who is in which arm --------------------------------------------------------------------------------------------


def experiment(*arms: Mapping[str, object], **fields) -> Experiment:
    said = {"tenant": TenantId("shop"), "id": "e1", "name": "", "kind": "ab", "unit": "conversation"} | {
        "state": "draft", "arms": read_arms("ab", arms or [{"name": "new", "overlay": NOTHING}]), "shares": (),
        "plan": {}, "created_by": "", "created_at": 0.0, **fields,
    }  # fmt: skip
    return Experiment(**said)


def arms(one: Experiment, began: float, number: int = 2000) -> list[str | None]:
    drawn = [draw(one, f"c{index}", began) for index in range(number)]
    return [each.arm.name if each else None for each in drawn]


def test_the_share_is_what_it_says_and_control_has_the_rest():
    one = start(experiment(), 0.1, 100.0, notice=0)
    drawn = arms(one, 100.0, 20_000)
    assert set(drawn) == {"control", "new"}
    assert 0.09 < drawn.count("new") / len(drawn) < 0.11


def test_several_arms_share_by_weight():
    one = start(experiment({"name": "a", "weight": 3}, {"name": "b"}), 0.5, 0.0, notice=0)
    drawn = arms(one, 1.0, 20_000)
    assert 2.6 < drawn.count("a") / drawn.count("b") < 3.4


def test_a_conversation_keeps_its_arm_however_the_share_grows():
    one = start(experiment({"name": "a"}, {"name": "b"}), 0.1, 100.0, notice=2)
    early = arms(one, 110.0)
    grown = set_share(set_share(one, 0.5, 200.0, notice=2), 1.0, 300.0, notice=2)
    assert arms(grown, 110.0) == early
    assert arms(grown, 201.9) == early, "a share does not hold before all workers know of it"
    later = arms(grown, 302.0)
    assert "control" not in later
    assert all(then in ("control", now) for then, now in zip(early, later, strict=True)), "no arm gives anybody away"


def test_what_began_before_the_experiment_has_nothing_to_do_with_it():
    one = start(experiment(), 1.0, 100.0, notice=2)
    assert set(arms(one, 99.0)) == {None}
    again = start(stop(one, "", 200.0), 1.0, 300.0, notice=2)
    assert set(arms(again, 150.0)) == {None}
    assert set(arms(again, 302.0)) == {"new"}


def test_a_stop_holds_at_once_for_everybody():
    one = stop(start(experiment(), 1.0, 100.0, notice=0), "no", 200.0)
    assert set(arms(one, 150.0)) == {None}
    assert one.state == "stopped"
    assert not one.live


def test_an_arm_that_was_stopped_is_left_and_the_last_one_takes_the_experiment_along():
    one = start(experiment({"name": "a"}, {"name": "b"}), 1.0, 0.0, notice=0)
    half = stop_arm(one, "a", "harm", 10.0)
    assert half.state == "running"
    assert set(arms(half, 5.0)) == {None, "b"}
    assert stop_arm(half, "b", "harm", 11.0).state == "stopped"


def test_rolled_out_after_the_decision_nobody_loses_what_they_began_with():
    one = start(experiment(), 0.5, 100.0, notice=0)
    early = arms(one, 150.0)
    decided = finish(one, "new", False, 200.0, notice=2)
    assert set(arms(decided, 150.0)) == {None}
    assert finish(decided, "new", False, 250.0, notice=2) == decided
    late = finish(decided, "new", True, 300.0, notice=2)
    assert arms(late, 150.0) == early
    assert set(arms(late, 200.0)) == set(arms(late, 301.9)) == {"control"}
    assert set(arms(late, 302.0)) == {"new"}


def test_what_a_guard_stopped_is_not_rolled_out_after_the_decision_either():
    one = stop_arm(start(experiment({"name": "a"}, {"name": "b"}), 1.0, 0.0, notice=0), "a", "harm", 10.0)
    with pytest.raises(ExperimentState, match="was stopped: harm") as refused:
        finish(finish(one, "b", False, 20.0), "a", True, 30.0)
    assert refused.value.fix == "Make an experiment of it again and look at it longer."


def test_control_comes_first_and_is_made_where_nobody_names_it():
    assert [arm.name for arm in read_arms("ab", [{"name": "new"}])] == [CONTROL, "new"]
    for wrong in ([], [{"name": CONTROL}], [{"name": "a"}, {"name": "a"}], [{"name": "a b"}], "new"):
        with pytest.raises(ConfigError):
            read_arms("ab", wrong)
    assert experiment(shares=(TrafficShare(0.0, 0.4),)).share == 0.4
