"""Units of arms added up in both databases: what people said about turns and verdicts is part of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from tests.stores.test_experiments import exposed
from tests.stores.words import TENANT

from circumspect.stores import experiments, labels
from circumspect.stores.arm_sums import ArmSums, sum_arms
from circumspect.stores.labels import OF_EVALUATIONS, LabelRow
from circumspect.values import Business, Tenant


@pytest.fixture
async def kept(store):
    await store.put_tenant(Tenant(TENANT, Business("Shop")))
    return store


async def say(kept, rows: Iterable[LabelRow]) -> None:
    await kept.tx(lambda connection: [labels.put(connection, row) for row in rows])


def thumb(turn: str, kind: str, by: str = "noa", **fields) -> LabelRow:
    known = {"tool": None, "decision": "answer", "confidence": None, "value": None, "split": "train", "at": 6.0}
    return LabelRow(TENANT, f"{turn}:{by}", "c1", turn, kind, **known | fields, by=by)


def correction(evaluation: str, verdict: str, status: str, by: str = "noa", **fields) -> LabelRow:
    value = {"criterion": fields.pop("criterion", "K-1"), "status": status, "why": ""}
    about = f"{OF_EVALUATIONS}{evaluation}"
    row = thumb(evaluation, "correct", by, decision=verdict, value=value, **fields)
    return replace(row, id=f"{evaluation}:{value['criterion']}:{by}", conversation=about, turn=None)


async def read_arm(kept, arm: str = "new", **options) -> ArmSums:
    (found,) = [one for one in await kept.tx(sum_arms, TENANT, "e1", **options) if one.arm == arm]
    return found


async def test_a_thumb_down_makes_a_turn_wrong_however_late_it_comes(kept):
    await kept.tx(experiments.expose, [exposed(f"t{number}", f"u{number}") for number in range(4)])
    assert (await read_arm(kept)).totals["wrong"] == (4, 0.0, 0.0)
    said = (
        thumb("t0", "thumbs_up", confidence=0.9),
        thumb("t1", "thumbs_down", confidence=0.9),
        thumb("t2", "correct"),
        thumb("t3", "thumbs_down", decision="escalate"),
        thumb("elsewhere", "thumbs_down"),
    )
    await say(kept, said)
    new = await read_arm(kept)
    assert new.totals["wrong"][1] == 2.0, "that a hand-over was needless makes no answer wrong"
    assert new.totals["disliked"][1] == 3.0
    assert new.totals["corrected"][1] == 1.0
    assert new.totals["judged"][1] == 4.0
    number, total, _ = new.totals["calibration"]
    assert (number, total) == (2, pytest.approx((1 - 0.1**2) + (1 - 0.9**2)))
    assert (await read_arm(kept, only={"wrong"})).totals.keys() == {"wrong", "turns"}
    await kept.tx(labels.put, thumb("t1", "thumbs_up"))
    assert (await read_arm(kept)).totals["wrong"][1] == 1.0, "people change their minds"


async def test_a_corrected_verdict_is_wrong_and_a_confirmed_one_is_not(kept):
    await kept.tx(experiments.expose, [exposed(f"eval_{number}", f"case{number}") for number in range(4)])
    said = (
        correction("eval_0", "MET", "MET", confidence=0.8),
        correction("eval_1", "MET", "NOT_MET", confidence=0.8),
        correction("eval_2", "UNCERTAIN", "MET"),
        correction("eval_3", "MET", "NOT_MET", by="noa", at=6.0),
        correction("eval_3", "MET", "MET", by="rita", at=7.0),
    )
    await say(kept, said)
    new = await read_arm(kept)
    assert new.totals["corrected"] == new.totals["wrong"] == (4, 1.0, 1.0), "the newest word holds; open is not wrong"
    assert new.totals["judged"][1] == 3.0
    await kept.tx(labels.put, correction("eval_0", "NOT_MET", "MET", criterion="K-2"))
    assert (await read_arm(kept)).totals["wrong"][1] == 2.0, "one wrong verdict makes the case wrong"


ARMS = {"careful": (0.3, 0.05), "bold": (0.0, 0.4), "timid": (1.0, 0.0), "good": (0.1, 0.05)}
"""How much each leaves to a person, and how often it is wrong about the rest."""


async def judge_arms(kept, every: int, *, confirm: bool = True) -> dict[str, tuple[int, float]]:
    """400 cases an arm, of which people judge one in so many. By arm: the units that count and their mean loss."""
    for arm, (handed, wrong) in ARMS.items():
        decided = round(400 * (1 - handed))
        rows = [exposed(f"{arm}{one}", f"{arm}{one}", arm=arm) for one in range(decided)]
        rows += [exposed(f"{arm}{one}", f"{arm}{one}", arm=arm, outcome="escalated") for one in range(decided, 400)]
        await kept.tx(experiments.expose, rows)
        looked = range(0, decided, every)
        bad = round(len(looked) * wrong)
        said = [correction(f"{arm}{one}", "MET", "NOT_MET") for one in looked[:bad]]
        said += [correction(f"{arm}{one}", "MET", "MET") for one in looked[bad:] if confirm]
        await say(kept, said)
    sums = {one.arm: one.totals["loss"] for one in await kept.tx(sum_arms, TENANT, "e1")}
    return {arm: (number, total / number if number else 0.0) for arm, (number, total, _) in sums.items()}


@pytest.mark.parametrize("every", [1, 10])
async def test_loss_rewards_neither_who_dares_everything_nor_who_dares_nothing(kept, every):
    """By `escalated` the bold arm would win and by `wrong` the timid one; also when one decision in ten is judged."""
    found = await judge_arms(kept, every)
    means = {arm: mean for arm, (_, mean) in found.items()}
    assert sorted(means, key=lambda arm: means[arm]) == ["good", "careful", "timid", "bold"]
    assert means["timid"] == pytest.approx(0.35)
    assert means["careful"] == pytest.approx(0.3 * 0.35 + 0.7 * 0.05, abs=0.02)
    assert found["good"][0] == 400 // every


async def test_where_people_only_ever_correct_nothing_is_known_of_the_loss(kept):
    """Else every decision that anybody looked at would be wrong, and deciding nothing would look best."""
    found = await judge_arms(kept, 1, confirm=False)
    assert {number for number, _ in found.values()} == {0}
