"""The simulated month: what experiments, shadows and calibration are checked against has to be as it says it is."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import timedelta
from itertools import islice, pairwise

import pytest
from bench.simulation import (
    BETTER,
    HARMFUL,
    METRICS,
    START,
    TENANTS,
    TODAY,
    Behaviour,
    by_lot,
    conversations,
    measures,
    month,
    play,
    true_chance,
    units,
)

from circumspect.lab.trials.estimates import ArmData
from circumspect.lab.trials.statistics import ComparisonPlan, Guard, compare, find_stop

FEW = 12_000


def everybody(conversation) -> str:
    return "today"


@pytest.fixture(scope="module")
def turns():
    return list(month(7, {"today": TODAY}, everybody, FEW))


@pytest.fixture(scope="module")
def both():
    """The same conversations under every behaviour, as a shadow would play them."""
    return [
        {
            name: tuple(play(one, how, name))
            for name, how in (("today", TODAY), ("better", BETTER), ("harmful", HARMFUL))
        }
        for one in conversations(7, FEW)
    ]


def test_a_month_has_exactly_its_turns_in_the_order_of_time(turns):
    assert len(turns) == FEW
    assert all(one.at <= other.at for one, other in pairwise(turns))
    assert turns[0].at >= START
    assert len({turn.id for turn in turns}) == FEW


def test_the_whole_month_has_a_hundred_thousand_turns():
    assert sum(one.length for one in conversations(1)) == 100_000


def test_the_same_seed_is_the_same_month_and_another_is_not(turns):
    assert list(month(7, {"today": TODAY}, everybody, FEW)) == turns
    assert list(islice(month(8, {"today": TODAY}, everybody, FEW), 100)) != turns[:100]


def test_a_conversation_is_a_unit_when_it_is_over(turns):
    found = list(units(turns))
    assert sum(unit.turns for unit in found) == FEW
    assert len({unit.conversation for unit in found}) == len(found)
    by_conversation = defaultdict(list)
    for turn in turns:
        by_conversation[turn.conversation].append(turn)
    for unit in found:
        own = by_conversation[unit.conversation]
        assert unit.at == own[-1].at
        assert [turn.number for turn in own] == list(range(len(own)))
        assert unit.metrics == measures(own)
    assert all(one.at <= other.at for one, other in pairwise(found))


def test_a_unit_has_a_number_for_every_metric(turns):
    for unit in units(turns):
        assert unit.metrics.keys() == METRICS.keys()
        for name, value in unit.metrics.items():
            assert METRICS[name].kind == "mean" or value in (0.0, 1.0)


def test_tenants_have_their_days_and_their_hours():
    began = defaultdict(Counter)
    for one in conversations(3):
        began[one.tenant.name]["weekend" if one.began.weekday() >= 5 else "week"] += 1
        began[one.tenant.name][one.began.hour] += 1
    for tenant in TENANTS:
        seen = began[tenant.name]
        assert seen[tenant.peak] > 3 * seen[(tenant.peak + 12) % 24]
        a_weekend_day, a_weekday = seen["weekend"] / 8, seen["week"] / 22
        assert a_weekend_day / a_weekday == pytest.approx(tenant.weekend, rel=0.25)


def test_arms_that_behave_alike_do_the_very_same():
    for one in conversations(7, 500):
        alike = [
            [(turn.decision, turn.confidence, turn.right, turn.outcome, turn.cost) for turn in play(one, how, arm)]
            for arm, how in (("a", TODAY), ("b", Behaviour()))
        ]
        assert alike[0] == alike[1]


def test_a_skilled_arm_is_right_wherever_today_is(both):
    """The known better arm is better in every single turn, not only on average."""
    for conversation in both:
        for today, better in zip(conversation["today"], conversation["better"], strict=True):
            if today.decision == better.decision and today.decision in ("answer", "act"):
                assert better.chance > today.chance
                assert better.right or not today.right


def rate(both, arm: str, name: str) -> float:
    return sum(measures(one[arm])[name] for one in both) / len(both)


def test_the_better_arm_is_better_and_the_harmful_one_tempting(both):
    assert rate(both, "better", "resolved") > rate(both, "today", "resolved")
    assert rate(both, "better", "escalated") < rate(both, "today", "escalated")
    assert rate(both, "harmful", "escalated") < rate(both, "today", "escalated")
    assert rate(both, "harmful", "wrong") > 1.8 * rate(both, "today", "wrong")


def test_a_wrong_action_is_an_action_that_was_not_right(turns):
    for turn in turns:
        assert (turn.outcome == "wrong action") == (turn.decision == "act" and not turn.right)
        assert (turn.decision == "act") <= bool(turn.tool)


def calibration_error(pairs) -> float:
    bins = defaultdict(list)
    for stated, right in pairs:
        bins[min(int(stated * 10), 9)].append(stated - right)
    return sum(abs(sum(gaps)) for gaps in bins.values()) / sum(map(len, bins.values()))


def test_confidences_are_off_by_what_is_known(turns):
    """For each tool and decision with enough turns: far off as stated, right once the known map is applied."""
    groups = defaultdict(list)
    for turn in turns:
        groups[turn.tool, turn.decision].append(turn)
    for (tool, decision), some in groups.items():
        if len(some) < 400:
            continue
        mended = calibration_error([(true_chance(tool, decision, turn.confidence), turn.right) for turn in some])
        assert mended < 0.05, (tool, decision)
    for group in (("", "answer"), ("update_address", "act")):
        stated = calibration_error([(turn.confidence, turn.right) for turn in groups[group]])
        mended = calibration_error([(true_chance(*group, turn.confidence), turn.right) for turn in groups[group]])
        assert stated > 2 * mended, group
    gaps = {group: sum(turn.confidence - turn.right for turn in some) / len(some) for group, some in groups.items()}
    assert gaps["cancel_order", "act"] > 0.05
    assert gaps["update_address", "act"] < -0.05


def test_turns_of_one_conversation_are_alike(turns):
    """The reason why conversations are the unit: their sums vary more than independent turns would."""
    by_conversation = defaultdict(list)
    for turn in turns:
        by_conversation[turn.conversation].append(turn.right)
    mean = sum(turn.right for turn in turns) / FEW
    spread = sum((sum(own) - mean * len(own)) ** 2 for own in by_conversation.values()) / FEW
    assert spread > 1.15 * mean * (1 - mean)


def test_lots_are_stable_and_fall_as_the_shares_say():
    assign = by_lot("one", {"control": 0.7, "new": 0.2, "other": 0.1})
    drawn = [assign(one) for one in conversations(5, 40_000)]
    assert drawn == [assign(one) for one in conversations(5, 40_000)]
    counts = Counter(drawn)
    assert counts["new"] / len(drawn) == pytest.approx(0.2, abs=0.015)
    assert counts["other"] / len(drawn) == pytest.approx(0.1, abs=0.015)
    more = by_lot("one", {"control": 0.5, "new": 0.5})
    assert all(more(one) == "new" for one in conversations(5, 4000) if assign(one) == "new")


def test_a_share_may_change_in_mid_month():
    """The arm is asked for when the conversation begins, after every turn before that was handed out."""
    share = 0.0

    def assign(conversation) -> str:
        return by_lot("x", {"today": 1 - share, "new": share})(conversation)

    seen = Counter()
    for turn in month(7, {"today": TODAY, "new": BETTER}, assign, FEW):
        if turn.at > START + timedelta(days=10):
            share = 1.0
        began_late = turn.at > START + timedelta(days=11)
        seen[began_late, turn.arm] += 1
    assert seen[False, "today"] > 0
    assert seen[True, "new"] > 0
    assert seen[True, "today"] == 0


def test_the_harmful_arm_is_stopped_and_the_same_arm_is_not():
    """At a fifth of the traffic, looked at after every hundred conversations, in a third of a month."""
    for behaviour, stopped in ((HARMFUL, True), (TODAY, False)):
        arms = {"control": TODAY, "new": behaviour}
        counted = {arm: {"wrong": ArmData(), "escalated": ArmData()} for arm in arms}
        stop = None
        for number, unit in enumerate(units(month(11, arms, by_lot("guard", {"control": 0.8, "new": 0.2}), 30_000)), 1):
            for name, data in counted[unit.arm].items():
                counted[unit.arm][name] = data.add(unit.metrics[name])
            if number % 100 == 0:
                stop = find_stop(counted["control"], counted["new"], [Guard(METRICS["wrong"])])
                if stop:
                    break
        assert (stop is not None) == stopped
        said = compare(
            counted["control"]["escalated"], counted["new"]["escalated"], METRICS["escalated"], ComparisonPlan()
        )
        assert said.decision != "worse"
