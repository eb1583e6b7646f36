"""An experiment looked at by nobody: harm stops it, doing well raises its share, one rung at a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from circumspect.clock import FixedClock, RandomIds
from circumspect.errors import ConfigError
from circumspect.lab.trials import conducting
from circumspect.lab.trials.experiments import Experiment, from_row, start
from circumspect.lab.trials.measures import METRICS, collect_arm_data, find_stops, read_plan, report
from circumspect.lab.trials.rollout import LADDER
from circumspect.stores import SqlStore, action_log, experiments
from circumspect.stores.arm_sums import sum_arms
from circumspect.stores.experiments import ExposureRow
from circumspect.values import Business, Tenant, TenantId

SHOP = TenantId("shop")
NOON = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)
CLOCK, IDS = FixedClock(NOON), RandomIds()


@pytest.fixture
async def store(tmp_path):
    opened = await SqlStore.open(f"sqlite:///{tmp_path}/s.db")
    await opened.put_tenant(Tenant(SHOP, Business("Shop")))
    yield opened
    await opened.close()


async def running(store: SqlStore, share: float = 0.1, days: float = 2, **plan: object) -> Experiment:
    made = conducting.draft(SHOP, "e1", name="n", arms=[{"name": "new"}], plan=plan, by="me", at=0.0)
    began = (NOON - timedelta(days=days)).timestamp()
    started = start(made, share, began, notice=0)
    return await store.tx(conducting.create, started, lambda *_: None)


async def seen(store: SqlStore, arm: str, units: int, failed: int = 0) -> None:
    at = (NOON - timedelta(days=1)).timestamp()
    rows = [
        ExposureRow(
            SHOP, "e1", f"{arm}{number}", arm, 0, "failed" if number < failed else "answered", at,
            case_id=f"{arm}{number}", cost_usd=number % 3,
        )
        for number in range(units)
    ]  # fmt: skip
    await store.tx(experiments.expose, rows)


async def now(store: SqlStore) -> Experiment:
    return from_row(await store.tx(experiments.get, None, "e1"))


async def test_the_share_goes_up_where_that_was_planned_and_everything_speaks_for_it(store):
    rung = LADDER[0]
    await running(store, climb=True, share=rung.share / 100, days=rung.time / timedelta(days=1) + 2)
    await seen(store, "control", 9 * rung.units, failed=rung.units // 10)
    await seen(store, "new", rung.units, failed=rung.units // 100)
    assert await conducting.guard(store, CLOCK, IDS) == 0
    assert await conducting.climb(store, CLOCK, IDS) == 1
    assert (await now(store)).share == LADDER[1].share / 100
    assert await conducting.climb(store, CLOCK, IDS) == 0, "the next rung has to be seen first"
    (line,) = await store.tx(action_log.list_actions, allowed=None, before=None, limit=5)
    assert (line.operator, line.action, line.subject) == ("guard", "set_share", "e1")


async def test_nothing_goes_up_by_itself_that_nobody_said_may(store):
    await running(store, days=100)
    await seen(store, "control", 9 * LADDER[0].units)
    await seen(store, "new", LADDER[0].units)
    assert await conducting.climb(store, CLOCK, IDS) == 0
    assert (await now(store)).share == 0.1


async def test_arms_that_are_not_filled_as_they_should_be_hold_the_share(store):
    await running(store, climb=True)
    await seen(store, "control", 900)
    await seen(store, "new", 600)
    assert await conducting.climb(store, CLOCK, IDS) == 0
    experiment, sums = await store.tx(conducting.load_experiment, None, "e1", NOON.timestamp())
    assert "as they should" in conducting.next_steps(experiment, sums, NOON.timestamp())["new"].why


async def test_the_last_arm_that_does_harm_takes_the_experiment_with_it(store):
    await running(store, climb=True)
    await seen(store, "control", 900)
    await seen(store, "new", 100, failed=40)
    assert await conducting.guard(store, CLOCK, IDS) == 1
    after = await now(store)
    assert after.state == "stopped"
    assert "failed" in after.note
    assert await conducting.guard(store, CLOCK, IDS) == 0


async def test_every_metric_of_every_arm_has_its_limits(store):
    experiment = await running(store, metric="cost")
    await seen(store, "control", 900)
    await seen(store, "new", 100)
    sums = await store.tx(sum_arms, SHOP, "e1")
    found = report(experiment, read_plan(experiment.plan), sums)
    assert found.comparisons["new"][0].metric.name == "cost"
    assert set(found.arms["control"]["metrics"]) == set(METRICS)
    cost = found.arms["control"]["metrics"]["cost"]
    assert cost["low"] < cost["mean"] == 1.0 < cost["high"]
    assert collect_arm_data(experiment, sums)["new"]["failed"][0].n == 100
    assert find_stops(experiment, read_plan(experiment.plan), sums) == {}


@pytest.mark.parametrize(
    "plan",
    [
        {"metrik": "cost"},
        {"metric": "joy"},
        {"method": "feeling"},
        {"alpha": 2.0},
        {"alpha": "x"},
        {"horizon": 1},
        {"horizon": 10.5},
        {"guards": "failed"},
        {"guards": [{"metric": "failed", "bond": 1}]},
        {"guards": [{"worse_by": 1}]},
        {"quiet_seconds": -1},
        {"reads": "live"},
    ],
)
def test_a_plan_that_cannot_be_is_refused(plan):
    with pytest.raises(ConfigError) as refused:
        conducting.draft(SHOP, "e", name="n", arms=[{"name": "new"}], plan=plan, by="me", at=0.0)
    assert refused.value.fix


def test_a_shadow_has_a_plan_of_its_own_and_cases_know_few_things():
    def made(arms, **said):
        return conducting.draft(SHOP, "e", name="n", arms=arms, by="me", at=0.0, **said)

    quick = [{"name": "quick", "overlay": {"profile": "standard"}}]
    assert made(quick, kind="shadow", plan={"reads": "live", "budget_usd": 1}).arms[0].name == "quick"
    for wrong in ({"metric": "cost"}, {"reads": "all"}, {"budget_usd": 0}):
        with pytest.raises(ConfigError):
            made(quick, kind="shadow", plan=wrong)
    with pytest.raises(ConfigError, match="profile"):
        made(quick, unit="case")
    with pytest.raises(ConfigError, match="profile"):
        made(quick, unit="case", kind="shadow")
    assert made([{"name": "old", "overlay": {"controller": "heuristic"}}], unit="case", kind="shadow").kind == "shadow"
    assert made([{"name": "quick", "overlay": {"controller": "heuristic"}}], unit="case").unit == "case"
