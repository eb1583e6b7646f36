"""Calibration: what a stated confidence is worth. Known results, and what must hold whatever the labels are."""

from __future__ import annotations

import json

import pytest
from bench.simulation import TODAY, month, true_chance
from hypothesis import given
from hypothesis import strategies as st

from circumspect.errors import ConfigError
from circumspect.lab.learning.calibration import (
    HELD,
    TRAIN,
    Calibration,
    Isotonic,
    Observation,
    apply_map,
    bins_of_equal_mass,
    bins_of_equal_width,
    brier,
    calibration_error,
    calibration_of,
    error_by_chance,
    fit,
    isotonic,
    measure_quality,
    overall,
)
from circumspect.lab.learning.suggestions import bands, caps, difference
from circumspect.policy.understanding.confidence import Bands
from circumspect.stores.labels import split_of

shares = st.floats(0, 1).map(lambda one: round(one, 3))
labelled = st.lists(st.builds(Observation, shares, st.booleans()), min_size=1, max_size=80)


def seen(confidence: float, right: int, wrong: int, **more) -> list[Observation]:
    """So many decisions of one confidence."""
    return [Observation(confidence, at < right, **more) for at in range(right + wrong)]


# --- the map ---------------------------------------------------------------------------------------------------------


def test_what_rises_already_is_left_as_it_is():
    found = isotonic(seen(0.2, 1, 3) + seen(0.5, 1, 1) + seen(0.9, 3, 1))
    assert found.knots == ((0.2, 0.25), (0.5, 0.5), (0.9, 0.75))


def test_neighbours_that_fall_are_pooled_by_their_weight():
    found = isotonic(seen(0.2, 3, 1) + seen(0.5, 1, 3) + seen(0.9, 4, 0))
    assert found.knots == ((0.2, 0.5), (0.5, 0.5), (0.9, 1.0))


def test_pooling_goes_back_as_far_as_it_has_to():
    found = isotonic(seen(0.1, 1, 1) + seen(0.2, 3, 1) + seen(0.3, 0, 6))
    assert found.knots == ((0.1, 4 / 12), (0.3, 4 / 12))


def test_a_map_is_straight_between_its_knots_and_flat_outside():
    found = Isotonic(((0.2, 0.1), (0.6, 0.5)))
    assert [found(one) for one in (0.0, 0.2, 0.6, 1.0)] == [0.1, 0.1, 0.5, 0.5]
    assert found(0.4) == pytest.approx(0.3)


@given(labelled, shares, shares)
def test_more_confidence_is_never_worth_less(observations, one, other):
    found = isotonic(observations)
    low, high = sorted((one, other))
    assert 0 <= found(low) <= found(high) + 1e-12
    assert found(high) <= 1


@given(labelled)
def test_on_what_it_was_learnt_from_a_map_is_never_worse(observations):
    after = apply_map(observations, isotonic(observations))
    assert brier(after) <= brier(observations) + 1e-9


@given(labelled)
def test_on_what_it_was_learnt_from_a_map_is_right_on_average(observations):
    after = apply_map(observations, isotonic(observations))
    assert sum(one.confidence for one in after) == pytest.approx(sum(one.right for one in observations))


@given(labelled)
def test_a_calibration_survives_json(observations):
    before = Calibration({("refund", "act"): isotonic(observations), ("", "answer"): Isotonic(((0.5, 0.5),))})
    after = Calibration.from_json(json.loads(json.dumps(before.to_json())))
    assert after == before


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"version": 2, "maps": []},
        {"version": 1, "maps": [{"tool": "", "decision": "act", "knots": []}]},
        {"version": 1, "maps": [{"tool": "", "decision": "act", "knots": [[0.1, 0.9], [0.2, 0.1]]}]},
        {"version": 1, "maps": [{"tool": "", "decision": "act", "knots": [[0.2, 0.1], [0.1, 0.9]]}]},
        [],
    ],
)
def test_what_is_no_calibration_is_refused(broken):
    with pytest.raises(ConfigError):
        Calibration.from_json(broken)


def test_where_too_little_is_known_there_is_no_chance():
    assert Calibration().chance("refund", "act", 0.9) is None


# --- how far off -----------------------------------------------------------------------------------------------------


def test_the_error_is_how_far_shares_are_from_what_was_stated():
    observations = seen(0.95, 5, 5) + seen(0.15, 1, 9)
    bins = bins_of_equal_width(observations)
    assert [(one.count, one.right) for one in bins] == [(10, 0.1), (10, 0.5)]
    assert calibration_error(bins) == pytest.approx((0.45 + 0.05) / 2)


def test_bins_of_equal_mass_never_tear_one_confidence_apart():
    observations = seen(0.9, 50, 50) + seen(0.3, 1, 9)
    bins = bins_of_equal_mass(observations, 4)
    assert [(one.low, one.count) for one in bins] == [(0.3, 10), (0.9, 100)] or len(bins) == 1
    assert sum(one.count for one in bins) == 110


@given(labelled, st.integers(1, 12))
def test_every_decision_is_in_one_bin(observations, number):
    for bins in (bins_of_equal_width(observations, number), bins_of_equal_mass(observations, number)):
        assert sum(one.count for one in bins) == len(observations)
        assert len(bins) <= number
        assert 0 <= calibration_error(bins) <= 1


def test_certainty_that_is_right_is_off_by_nothing():
    found = measure_quality(seen(1.0, 20, 0) + seen(0.0, 0, 20))
    assert (found.error, found.mass_error, found.brier, found.by_chance) == (0, 0, 0, 0)


def test_fewer_decisions_show_more_error_by_chance():
    few, many = (bins_of_equal_width(seen(0.5, number, number)) for number in (5, 500))
    assert error_by_chance(few) > 5 * error_by_chance(many)


# --- learning --------------------------------------------------------------------------------------------------------


def overconfident(number: int, *, held: bool, tool: str = "refund", decision: str = "act") -> list[Observation]:
    """Stated .9, right six times of ten; stated .5, right three of ten."""
    share = number // 20
    more = {"held": held, "tool": tool, "decision": decision}
    return seen(0.9, 6 * share, 4 * share, **more) + seen(0.5, 3 * share, 7 * share, **more)


def test_a_map_is_learnt_from_one_part_and_measured_on_the_other():
    [found], few = fit(overconfident(400, held=False) + overconfident(100, held=True))
    assert few == []
    assert (len(found.train), len(found.held)) == (400, 100)
    assert found.map(0.9) == pytest.approx(0.6)
    assert found.before.error == pytest.approx(0.25)
    assert found.after.error == pytest.approx(0, abs=1e-9)
    assert found.helps
    assert calibration_of([found]).chance("refund", "act", 0.5) == pytest.approx(0.3)


def test_a_map_that_is_no_better_on_what_it_has_not_seen_is_not_kept():
    train = seen(0.6, 180, 20) + seen(0.3, 10, 90)
    held = seen(0.6, 30, 20, held=True) + seen(0.3, 6, 14, held=True)
    [found], _ = fit(train + held)
    assert not found.helps
    assert calibration_of([found]).maps == {}


def test_too_few_labels_are_refused_and_it_is_said_how_many_are_needed():
    found, [few] = fit(overconfident(100, held=False) + overconfident(20, held=True))
    assert found == []
    assert f"100 labels to learn from, {TRAIN} are needed" in few.shortfall
    assert f"20 held-out labels, {HELD} are needed" in few.shortfall


def test_nothing_is_learnt_where_nothing_ever_went_wrong():
    found, [few] = fit(seen(0.8, 300, 0) + seen(0.8, 60, 0, held=True))
    assert found == []
    assert "0 wrong ones to learn from, 10 are needed" in few.shortfall


def test_each_tool_and_decision_has_a_map_of_its_own():
    labels = [
        one
        for tool, decision in (("refund", "act"), ("", "answer"))
        for held in (False, True)
        for one in overconfident(400, held=held, tool=tool, decision=decision)
    ]
    fits, _ = fit(labels)
    assert [one.key for one in fits] == [("", "answer"), ("refund", "act")]
    before, after = overall(fits)
    assert after.error <= before.error / 2


@pytest.fixture(scope="module")
def simulated() -> list[Observation]:
    """A fifth of a simulated month."""
    return [
        Observation(
            turn.confidence, turn.right, turn.tool, turn.decision, split_of(turn.tenant, turn.conversation) == "held"
        )
        for turn in month(3, {"today": TODAY}, lambda conversation: "today", turns=20_000)
    ]


def test_on_a_simulated_month_the_error_is_less_than_half(simulated):
    fits, _ = fit(simulated)
    before, after = overall(fits)
    assert after.error <= before.error / 2
    assert after.brier < before.brier


def test_a_map_finds_what_the_simulation_did_to_confidences(simulated):
    fits, _ = fit(simulated)
    answers = next(one for one in fits if one.key == ("", "answer"))
    for stated in (0.8, 0.9, 0.95):
        assert answers.map(stated) == pytest.approx(true_chance("", "answer", stated), abs=0.1)


# --- suggestions -----------------------------------------------------------------------------------------------------


def fit_of(*observations: Observation):
    [found], few = fit([*observations, *(Observation(*_held(one)) for one in observations)])
    assert few == []
    return found


def _held(one: Observation):
    return one.confidence, one.right, one.tool, one.decision, True


def calls(confidence: float, right: int, wrong: int) -> list[Observation]:
    return seen(confidence, right, wrong, tool="refund", decision="act")


def test_a_tool_that_is_wrong_too_often_is_capped_below_the_second_opinion():
    found = fit_of(*calls(0.9, 160, 40), *calls(0.4, 10, 40))
    [cap] = caps([found], {"refund": 0.9}, error=0.05)
    assert (cap.then.cap, cap.then.checked, cap.then.error) == (0.65, 1.0, None)
    assert (cap.now.checked, cap.now.error) == (pytest.approx(0.2), pytest.approx(0.2))
    assert not cap.loosens


def test_a_tool_that_is_hardly_ever_wrong_may_be_trusted_more_and_that_is_said_to_loosen():
    found = fit_of(*calls(0.9, 990, 10), *calls(0.4, 60, 40))
    [cap] = caps([found], {"refund": 0.5}, error=0.05)
    assert cap.loosens
    assert cap.then.cap > 0.7 > cap.now.cap
    assert cap.then.error == pytest.approx(0.01)
    assert "loosens" in "\n".join(difference([cap], None))


def test_a_cap_that_would_change_nothing_but_a_number_is_not_suggested():
    found = fit_of(*calls(0.9, 160, 40), *calls(0.4, 10, 40))
    assert caps([found], {"refund": 0.6}, error=0.05) == []


def test_a_lucky_handful_of_calls_opens_nothing():
    found = fit_of(*calls(0.95, 30, 0), *calls(0.5, 120, 80))
    assert caps([found], {"refund": 0.5}, error=0.05) == []


def answers(confidence: float, right: int, wrong: int) -> list[Observation]:
    return seen(confidence, right, wrong)


def test_bands_are_put_where_the_error_is_kept_and_where_a_coin_would_do_as_well():
    found = fit_of(*answers(0.92, 495, 5), *answers(0.72, 80, 20), *answers(0.33, 30, 70))
    suggested = bands(found, Bands(high=0.7, low=0.2), error=0.05)
    assert suggested.reached
    assert (suggested.then.answer_from, suggested.then.escalate_below) == (0.75, 0.5)
    assert suggested.then.error == pytest.approx(0.01)
    assert (suggested.then.answered, suggested.then.asked, suggested.then.escalated) == (
        pytest.approx(500 / 700), pytest.approx(100 / 700), pytest.approx(100 / 700),
    )  # fmt: skip
    assert not suggested.loosens


def test_bands_that_let_more_through_are_said_to_loosen():
    found = fit_of(*answers(0.92, 495, 5), *answers(0.62, 495, 5), *answers(0.2, 20, 80))
    suggested = bands(found, Bands(), error=0.05)
    assert suggested.loosens
    assert suggested.then.answer_from < 0.75
    assert "answer_from" in "\n".join(difference([], suggested))


def test_where_no_confidence_keeps_the_error_no_band_is_suggested():
    found = fit_of(*answers(0.95, 400, 100), *answers(0.5, 50, 50))
    suggested = bands(found, Bands(), error=0.01)
    assert not suggested.reached
    assert list(difference([], suggested)) == []


@given(st.lists(st.builds(Observation, shares, st.booleans(), st.just("refund"), st.just("act")), max_size=60))
def test_a_cap_that_lets_more_through_always_says_that_it_loosens(more):
    fits, _ = fit([*calls(0.9, 180, 40), *(Observation(*_held(one)) for one in calls(0.9, 60, 5)), *more])
    for cap in caps(fits, {"refund": 0.6}, error=0.2):
        assert cap.loosens == (cap.then.cap > 0.6)
        assert cap.loosens or cap.then.checked >= cap.now.checked
