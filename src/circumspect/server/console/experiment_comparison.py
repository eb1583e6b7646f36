"""Comparing: an experiment and what its conversations came to in, what a page says about it out. Pure.

Decisions, guards and limits are the lab's; here they get their words, their places in a chart, and an order in which a
person reads them: what was planned first, what is guarded next, the rest last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from circumspect.lab.trials.estimates import ExperimentMetric, whole
from circumspect.lab.trials.experiments import CONTROL, Experiment, ExperimentArm
from circumspect.lab.trials.measures import METRICS, ExperimentReport, Measuring, collect_arm_data, find_stops
from circumspect.lab.trials.statistics import ArmComparison, Guard, find_unseen_metrics
from circumspect.server.console.charts import Chart, Range, intervals
from circumspect.server.console.i18n import Translator
from circumspect.server.console.known_sentences import TranslatedSentence
from circumspect.server.console.lab_sentences import DECISIONS, amount, points, translate_lab_sentence
from circumspect.stores.action_log import LogRow
from circumspect.stores.arm_sums import ArmSums
from circumspect.stores.codec import dumps

LADDER = (0.1, 0.5, 1.0)
_LOOKS = {"better": "success", "worse": "failed", "guard": "failed", "stopped": "asked", "rolled_out": "success"}
_DID = ("create_experiment", "start_experiment", "set_share", "stop_experiment", "finish_experiment", "stop_arm")


@dataclass(frozen=True, slots=True)
class ExperimentNotice:
    """One thing to be said: `kind` names the sentence; `why` is the lab's own where a guard spoke, else a person's."""

    kind: str
    arm: str = ""
    why: str = ""

    @property
    def look(self) -> str:
        return _LOOKS.get(self.kind, "")


def build_notices(experiment: Experiment, comparisons: Mapping[str, ArmComparison]) -> list[ExperimentNotice]:
    """What an experiment says now, the most important first."""
    if experiment.state == "draft":
        return [ExperimentNotice("draft")]
    if experiment.state in ("rolled_out", "finished"):
        return [ExperimentNotice(experiment.state, experiment.winner or "")]
    stopped = [ExperimentNotice("guard", arm.name, arm.stopped) for arm in experiment.treatments if arm.stopped]
    if experiment.state == "stopped" and not stopped:
        stopped = [ExperimentNotice("stopped", why=experiment.note)]
    decided = [
        ExperimentNotice(DECISIONS[comparisons[arm.name].decision], arm.name)
        for arm in experiment.treatments
        if not arm.stopped and arm.name in comparisons
    ]
    return [*stopped, *decided]


# --- what an arm changes --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ArmChange:
    """One thing in which an arm is different: a kind of thing, which of them, and its value."""

    kind: str
    name: str
    value: str


def changes(arm: ExperimentArm) -> list[ArmChange]:
    found = []
    for kind, value in arm.overlay.to_json().items():
        if isinstance(value, Mapping):
            found += [ArmChange(kind, str(name), _plain(one)) for name, one in value.items()]
        else:
            found.append(ArmChange(kind, "", _plain(value)))
    return found


def prompts_named(experiment: Experiment) -> set[str]:
    return {id_ for arm in experiment.arms for id_ in arm.overlay.prompts.values()}


def _plain(value: object) -> str:
    return value if isinstance(value, str) else dumps(value)


# --- metrics --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ArmLine:
    arm: str
    units: int
    value: str
    limits: str
    difference: str = ""
    """Against control; empty for control itself, and while there is nothing to compare."""
    between: str = ""
    """The limits of the difference."""
    decision: str = ""


@dataclass(frozen=True, slots=True)
class MetricShown:
    name: str
    planned: bool
    guarded: bool
    shares: bool
    """Whether it is a share of units, whose differences are points."""
    chart: Chart
    lines: tuple[ArmLine, ...]


def build_metrics(
    experiment: Experiment, measuring: Measuring, report: ExperimentReport, words: Translator
) -> list[MetricShown]:
    watched = {guard.metric.name for guard in measuring.guards}
    order = sorted(METRICS.values(), key=lambda one: (one is not measuring.metric, one.name not in watched))
    return [
        MetricShown(
            metric.name,
            metric is measuring.metric,
            metric.name in watched,
            metric.kind == "proportion",
            _chart(experiment, report, metric, words),
            tuple(_line(arm.name, report, metric, words) for arm in experiment.arms),
        )
        for metric in order
    ]


def _chart(experiment: Experiment, report: ExperimentReport, metric: ExperimentMetric, words: Translator) -> Chart:
    ranges = []
    for arm in experiment.arms:
        found = _interval(report, arm.name, metric)
        value = found["mean"] if found["n"] else None
        look = "f6" if arm.name == CONTROL else "f1"
        ranges.append(Range(arm.name, value, found["low"], found["high"], look))
    return intervals(ranges, lambda value: amount(value, metric, words))


def _line(arm: str, report: ExperimentReport, metric: ExperimentMetric, words: Translator) -> ArmLine:
    found = _interval(report, arm, metric)
    value = amount(found["mean"] if found["n"] else None, metric, words)
    limits = _between(found["low"], found["high"], metric, words)
    compared = next((one for one in report.comparisons.get(arm, ()) if one.metric.name == metric.name), None)
    if compared is None or not found["n"] or not compared.control.n:
        return ArmLine(arm, found["n"], value, limits)
    said = compared.to_json()
    difference = amount(compared.difference, metric, words, sign=True)
    between = _between(said["low"], said["high"], metric, words, sign=True)
    return ArmLine(arm, found["n"], value, limits, difference, between, DECISIONS[compared.decision])


def _interval(report: ExperimentReport, arm: str, metric: ExperimentMetric) -> Any:
    metrics: Any = report.arms[arm]["metrics"]
    return metrics[metric.name]


def _between(low: Any, high: Any, metric: ExperimentMetric, words: Translator, *, sign: bool = False) -> str:
    if low is None or high is None:
        return "–"
    return f"{amount(low, metric, words, sign=sign)} … {amount(high, metric, words, sign=sign)}"


# --- guards ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GuardLine:
    """One guard on one arm. `state`: holds, unseen (too few to speak), speaks, stopped."""

    metric: str
    arm: str
    allowed: str
    """As the metric is written; which kind of bound it is, `bounded` says."""
    bounded: bool
    value: str
    control: str
    units: int
    state: str

    @property
    def look(self) -> str:
        return {"holds": "success", "speaks": "failed", "stopped": "failed"}.get(self.state, "")


def guarding(
    experiment: Experiment, measuring: Measuring, sums: Sequence[ArmSums], words: Translator
) -> list[GuardLine]:
    """`sums` over all conversations, also those that go on: guards do not wait."""
    arms, speaking = collect_arm_data(experiment, sums), find_stops(experiment, measuring, sums)
    lines = []
    for guard in measuring.guards:
        metric = guard.metric
        old = whole(arms[CONTROL][metric.name])
        for arm in experiment.treatments:
            new = whole(arms[arm.name][metric.name])
            stop = speaking.get(arm.name)
            if arm.stopped.startswith(f"{metric.name} is "):
                state = "stopped"
            elif stop is not None and stop.guard is guard:
                state = "speaks"
            else:
                state = "unseen" if find_unseen_metrics(arms[CONTROL], arms[arm.name], (guard,)) else "holds"
            lines.append(
                GuardLine(
                    metric.name,
                    arm.name,
                    _format_bound(guard, words),
                    guard.bound is not None,
                    amount(new.mean if new.n else None, metric, words),
                    amount(old.mean if old.n else None, metric, words),
                    new.n,
                    state,
                )
            )
    return lines


def _format_bound(guard: Guard, words: Translator) -> str:
    if guard.bound is not None:
        return amount(guard.bound, guard.metric, words)
    return (
        points(guard.worse_by, words)
        if guard.metric.kind == "proportion"
        else amount(guard.worse_by, guard.metric, words)
    )


# --- history --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HistoryLine:
    at: float
    by: str
    text: str
    why: TranslatedSentence


def history(rows: Sequence[LogRow], words: Translator) -> list[HistoryLine]:
    """What the log of operators has about it, the newest first."""
    return [HistoryLine(row.at, row.operator, _did(row, words), _why(row, words)) for row in rows]


def _why(row: LogRow, words: Translator) -> TranslatedSentence:
    """A guard's reason in words of ours; what a person wrote stays as it is."""
    why = str(row.detail.get("why") or "")
    return translate_lab_sentence(why, words) if row.action == "stop_arm" else TranslatedSentence(why)


def _did(row: LogRow, words: Translator) -> str:
    if row.action not in _DID:
        return row.action
    detail, share = row.detail, row.detail.get("share")
    name = "roll_out" if row.action == "finish_experiment" and detail.get("roll_out") else row.action
    return words.t(
        f"did-{name.replace('_', '-')}",
        share=words.percent(share) if isinstance(share, int | float) else "–",
        arm=str(detail.get("arm") or detail.get("winner") or ""),
    )
