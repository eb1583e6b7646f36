"""The ladder: up one rung at a time and only when all speaks for it, down to nothing at once (C13)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from circumspect.lab.trials.estimates import ArmData, ExperimentMetric
from circumspect.lab.trials.rollout import LADDER, Rollout, next_step
from circumspect.lab.trials.statistics import (
    ArmComparison,
    ArmSplit,
    ComparisonDecision,
    ComparisonPlan,
    Guard,
    Stop,
    compare,
)

SOLVED = ExperimentMetric("solved")
WRONG = ExperimentMetric("wrong", better="lower")
READY = Rollout(10, 500, timedelta(days=1))
HALF = Rollout(50, 1000, timedelta(days=7))
STOP = Stop(Guard(WRONG), 0.02, 0.08, 300, 0.001)
BROKEN = ArmSplit({"control": 100, "new": 900}, 1e-9)


def said(decision: ComparisonDecision) -> ArmComparison:
    arm = ArmData(100, 50, 50)
    return replace(compare(arm, arm, SOLVED, ComparisonPlan()), decision=decision)


@pytest.mark.parametrize(
    ("state", "decision", "stop", "share", "move"),
    [
        (Rollout(0), "no difference yet", None, 10, "up"),
        (READY, "no difference yet", None, 50, "up"),
        (READY, "better", None, 50, "up"),
        (replace(READY, units=499), "better", None, 10, "stays"),
        (replace(READY, time=timedelta(hours=23)), "better", None, 10, "stays"),
        (replace(READY, unseen=("wrong",)), "better", None, 10, "stays"),
        (replace(READY, split=BROKEN), "better", None, 10, "stays"),
        (replace(READY, split=ArmSplit({"control": 500, "new": 500}, 0.6)), "better", None, 50, "up"),
        (replace(READY, held=True), "better", None, 10, "held"),
        (READY, "worse", None, 0, "down"),
        (READY, "better", STOP, 0, "down"),
        (HALF, "no difference yet", None, 50, "stays"),
        (HALF, "no difference", None, 100, "up"),
        (HALF, "better", None, 100, "up"),
        (HALF, "worse", None, 0, "down"),
        (HALF, "better", STOP, 0, "down"),
        (Rollout(100), "better", None, 100, "done"),
        (Rollout(100), "better", STOP, 0, "down"),
        (replace(HALF, held=True), "better", STOP, 0, "down"),
        (Rollout(0, stopped=True), "better", None, 0, "stopped"),
        (Rollout(25, 500, timedelta(days=1)), "better", None, 50, "up"),
    ],
)
def test_the_next_share(state, decision, stop, share, move):
    step = next_step(state, said(decision), stop)
    assert (step.share, step.move) == (share, move), step.why


def test_every_step_says_why():
    assert next_step(READY, said("better"), STOP).why.startswith("A guard stopped it: wrong is 0.08 after 300 units")
    assert next_step(replace(READY, units=7), None, None).why == "7 of 500 units seen at 10 %."
    assert next_step(replace(READY, unseen=("wrong", "cost")), None, None).why.endswith("about wrong, cost.")
    assert next_step(HALF, said("no difference yet"), None).why == (
        "solved: no difference yet; it takes better or no difference."
    )


def test_without_a_comparison_only_the_first_step_is_taken():
    assert next_step(READY, None, None).share == 50
    assert next_step(HALF, None, None).share == 50


states = st.builds(
    Rollout,
    st.integers(0, 100),
    st.integers(0, 3000),
    st.timedeltas(timedelta(), timedelta(days=20)),
    st.booleans(),
    st.booleans(),
    st.sampled_from([(), ("wrong",)]),
    st.sampled_from([None, BROKEN, ArmSplit({}, 0.5)]),
)
decisions = st.sampled_from(get_args(ComparisonDecision))


@settings(max_examples=80)
@given(states, decisions)
def test_a_guard_empties_any_share(state, decision):
    assert next_step(state, said(decision), STOP).share == 0


@settings(max_examples=80)
@given(states, decisions)
def test_a_climb_is_one_rung_and_nothing_speaks_against_it(state, decision):
    step = next_step(state, said(decision), None)
    rungs = [rung.share for rung in LADDER]
    if step.share > state.share:
        assert step.share == min(share for share in rungs if share > state.share)
        assert decision != "worse"
        assert not state.stopped
        assert not state.held
        assert state.split is not BROKEN
        if state.share >= rungs[0]:
            assert not state.unseen
            assert state.units >= state.rung.units
            assert state.time >= state.rung.time
    else:
        assert step.share in (0, state.share)


@settings(max_examples=80)
@given(states, decisions)
def test_the_same_state_has_the_same_answer(state, decision):
    assert next_step(state, said(decision), None) == next_step(state, said(decision), None)
