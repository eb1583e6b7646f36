"""Measures: what an experiment counts, what may be said about its arms, and which arm has to be stopped. Pure.

    plan = read_plan({"metric": "loss", "guards": [{"metric": "wrong"}]})
    found = report(experiment, plan, sums)

The unit is the conversation (or the case): a yes-or-no measure is whether it ever happened in one, cost and tokens are
added up over it. What is compared is said in the plan before the first conversation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from circumspect.errors import ConfigError
from circumspect.lab.trials import rollout
from circumspect.lab.trials.estimates import ArmData, ExperimentMetric, whole
from circumspect.lab.trials.experiments import CONTROL, Experiment
from circumspect.lab.trials.statistics import (
    ArmComparison,
    ArmSplit,
    ComparisonPlan,
    Guard,
    Stop,
    compare_all,
    find_stop,
    find_unseen_metrics,
    interval,
    split,
)
from circumspect.lab.trials.variants import read_object
from circumspect.stores.arm_sums import ArmSums
from circumspect.values import Json

METRICS: Mapping[str, ExperimentMetric] = {
    metric.name: metric
    for metric in (
        ExperimentMetric("answered", "proportion", "higher"),
        ExperimentMetric("acted", "proportion", "higher"),
        ExperimentMetric("asked", "proportion", "lower"),
        ExperimentMetric("escalated", "proportion", "lower"),
        ExperimentMetric("blocked", "proportion", "lower"),
        ExperimentMetric("failed", "proportion", "lower"),
        ExperimentMetric("denied", "proportion", "lower"),
        ExperimentMetric("corrected", "proportion", "lower"),
        ExperimentMetric("disliked", "proportion", "lower"),
        ExperimentMetric("wrong", "proportion", "lower"),
        ExperimentMetric("judged", "proportion", "higher"),
        ExperimentMetric("loss", "mean", "lower"),
        ExperimentMetric("calibration", "mean", "higher"),
        ExperimentMetric("citations", "mean", "higher"),
        ExperimentMetric("cost", "mean", "lower"),
        ExperimentMetric("tokens", "mean", "lower"),
        ExperimentMetric("seconds", "mean", "lower"),
        ExperimentMetric("calls", "mean", "lower"),
        ExperimentMetric("turns", "mean", "lower"),
        ExperimentMetric("consistency", "mean", "higher"),
        ExperimentMetric("similarity", "mean", "higher"),
    )
}
DEFAULT = "loss"
"""Neither always handing over nor never doing so looks good by it, as it would by `wrong` or by `escalated`."""
QUIET_SECONDS = 1800.0
_PLAN = ("metric", "method", "alpha", "horizon", "minimum", "effect", "guards", "quiet_seconds", "climb")
_GUARD = ("metric", "worse_by", "bound", "alpha", "horizon", "minimum")


@dataclass(frozen=True)
class Measuring:
    """What was planned, before anything was seen."""

    metric: ExperimentMetric
    plan: ComparisonPlan
    guards: tuple[Guard, ...]
    quiet_seconds: float
    """A conversation counts when nothing was said in it for so long: one that still grows would be counted short."""
    climb: bool = False
    """The share goes up by itself when everything speaks for it."""


def read_plan(document: object) -> Measuring:
    """Raises `ConfigError` that names the key."""
    given = read_object(document, "plan", _PLAN)
    settings = {
        name: value for name in ("method", "alpha", "horizon", "minimum", "effect") if (value := given.get(name))
    }
    if settings.get("method", "sequential") not in ("sequential", "fixed"):
        raise ConfigError("plan.method is neither sequential nor fixed.", fix="sequential may be looked at any time.")
    rows = given.get("guards", [{"metric": "failed"}, {"metric": "wrong"}])
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        raise ConfigError("plan.guards is not a list.", fix='guards: [{"metric": "failed"}].')
    guards = tuple(_guard(row, f"plan.guards[{index}]") for index, row in enumerate(rows))
    for name in ("horizon", "minimum"):
        _number(settings.get(name, 1), f"plan.{name}", whole=True)
    for name in ("alpha", "effect"):
        _number(settings.get(name, 1.0), f"plan.{name}")
    quiet = _number(given.get("quiet_seconds", QUIET_SECONDS), "plan.quiet_seconds")
    metric = _metric(given.get("metric", DEFAULT), "plan")
    return Measuring(metric, ComparisonPlan(**settings), guards, quiet, given.get("climb") is True)


def _guard(row: object, where: str) -> Guard:
    given = read_object(row, where, _GUARD)
    for name in ("worse_by", "bound", "alpha", "horizon", "minimum"):
        if given.get(name) is not None:
            _number(given[name], f"{where}.{name}", whole=name in ("horizon", "minimum"))
    settings = {name: value for name, value in given.items() if name != "metric" and value is not None}
    return Guard(_metric(given.get("metric"), where), **settings)


def _metric(name: object, where: str) -> ExperimentMetric:
    if not isinstance(name, str) or name not in METRICS:
        raise ConfigError(f"{where} names no metric that is counted.", fix=f"One of: {', '.join(METRICS)}.")
    return METRICS[name]


def _number(value: object, where: str, whole: bool = False) -> float:
    kind = int if whole else int | float
    if isinstance(value, bool) or not isinstance(value, kind) or not 0 <= value <= 10**9:
        raise ConfigError(f"{where} is not {'a whole' if whole else 'a'} number from 0 on.", fix="Correct it.")
    return value


# --- what may be said -----------------------------------------------------------------------------------------------


def collect_arm_data(
    experiment: Experiment, sums: Sequence[ArmSums]
) -> Mapping[str, Mapping[str, tuple[ArmData, ...]]]:
    """By arm and metric, one for each period of constant shares."""
    periods = sorted({one.period for one in sums}) or [0]
    counted = [name for name in METRICS if all(name in one.totals for one in sums)]
    found: dict[str, Mapping[str, tuple[ArmData, ...]]] = {}
    for arm in experiment.arms:
        own = {one.period: one for one in sums if one.arm == arm.name}
        found[arm.name] = {
            name: tuple(ArmData(*own[at].totals[name]) if at in own else ArmData() for at in periods)
            for name in counted
        }
    return found


@dataclass(frozen=True)
class ExperimentReport:
    arms: Mapping[str, Mapping[str, Json]]
    comparisons: Mapping[str, tuple[ArmComparison, ...]]
    """By treatment; the planned metric first."""

    def to_json(self) -> dict[str, Json]:
        compared = {name: [one.to_json() for one in said] for name, said in self.comparisons.items()}
        return {"arms": dict(self.arms), "comparisons": compared}


def report(experiment: Experiment, measuring: Measuring, sums: Sequence[ArmSums]) -> ExperimentReport:
    """Every metric of every arm with its limits, and each treatment against control. Only the planned metric was
    planned: what the others seem to say is for the next experiment."""
    arms = collect_arm_data(experiment, sums)
    order = (measuring.metric, *(one for one in METRICS.values() if one is not measuring.metric))
    treatments = [arm.name for arm in experiment.treatments]
    said = {
        metric.name: compare_all(
            arms[CONTROL][metric.name], {name: arms[name][metric.name] for name in treatments}, metric, measuring.plan
        )
        for metric in order
    }
    comparisons = {name: tuple(said[metric.name][name] for metric in order) for name in treatments}
    return ExperimentReport({name: _arm(by, measuring, sums, name) for name, by in arms.items()}, comparisons)


def compare_planned(
    experiment: Experiment, measuring: Measuring, sums: Sequence[ArmSums]
) -> Mapping[str, ArmComparison]:
    """Each treatment against control in the metric that decides; other sums need not be there."""
    arms, name = collect_arm_data(experiment, sums), measuring.metric.name
    treatments = {one.name: arms[one.name][name] for one in experiment.treatments}
    return compare_all(arms[CONTROL][name], treatments, measuring.metric, measuring.plan)


def _arm(
    by: Mapping[str, tuple[ArmData, ...]], measuring: Measuring, sums: Sequence[ArmSums], name: str
) -> Mapping[str, Json]:
    own = [one for one in sums if one.arm == name]
    limits: dict[str, Json] = {
        metric.name: interval(whole(by[metric.name]), metric, measuring.plan).to_json() for metric in METRICS.values()
    }
    return {"units": sum(one.units for one in own), "turns": sum(one.turns for one in own), "metrics": limits}


def next_step(
    experiment: Experiment, measuring: Measuring, sums: Sequence[ArmSums], arm: str, now: float
) -> rollout.RolloutStep:
    """What the ladder says for one arm: the share it should have next, and why."""
    arms, stop = collect_arm_data(experiment, sums), find_stops(experiment, measuring, sums).get(arm)
    comparison = compare_planned(experiment, measuring, sums)[arm]
    newest = len(experiment.shares) - 1
    own = [one for one in sums if one.period == newest]
    since = experiment.shares[newest].at if experiment.shares else now
    state = rollout.Rollout(
        share=round(experiment.share * 100),
        units=sum(one.units for one in own if one.arm == arm),
        time=timedelta(seconds=max(0.0, now - since)),
        stopped=experiment.state != "running" or bool(experiment.arm(arm).stopped),
        unseen=find_unseen_metrics(arms[CONTROL], arms[arm], measuring.guards),
        split=_split(experiment, own),
    )
    return rollout.next_step(state, comparison, stop)


def _split(experiment: Experiment, own: Sequence[ArmSums]) -> ArmSplit | None:
    """Whether conversations fell into the arms as they should have, since the share was last changed."""
    served = [arm for arm in experiment.treatments if not arm.stopped]
    share, weights = experiment.share, sum(arm.weight for arm in experiment.treatments)
    if len(served) < len(experiment.treatments) or not 0 < share < 1:
        return None
    expected = {CONTROL: 1 - share, **{arm.name: share * arm.weight / weights for arm in served}}
    return split({one.arm: one.units for one in own}, expected)


def find_stops(experiment: Experiment, measuring: Measuring, sums: Sequence[ArmSums]) -> Mapping[str, Stop]:
    """The arms that a guard stops, and which."""
    arms = collect_arm_data(experiment, sums)
    found = {}
    for arm in experiment.treatments:
        if not arm.stopped:
            stop = find_stop(arms[CONTROL], arms[arm.name], measuring.guards, len(experiment.treatments))
            if stop is not None:
                found[arm.name] = stop
    return found
