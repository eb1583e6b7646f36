"""Two arms in, what may be said about them out: how large the difference is, how sure that is, and a decision.

A unit is a conversation or a case, never a turn: the turns of one conversation have the same user, the same wish and
the same trouble, so a hundred of them say much less than a hundred conversations. Add up by unit first; `ArmData` then
holds one number a unit. Count a unit when it is over, not while it still grows.

There are two ways to decide. "sequential" may be looked at after every unit, for as long as one likes, and over the
whole experiment finds a difference where there is none with a probability of at most alpha. It is an asymptotic
confidence sequence with the normal mixture of Robbins (Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas 2024,
"Time-uniform central limit theory and asymptotic confidence sequences"); the same thing as a test is the mixture SPRT
of Johari, Koomen, Pekelis & Walsh 2022, "Always valid inference". It is tightest at `Plan.horizon` and pays for the
freedom to look with limits that are there about half again as wide. "fixed" is the textbook test, which speaks once,
at the horizon.

What may surprise: an arm can be one `ArmData` or several, one for each period in which the shares were the same. When
a rollout goes from 10 to 50 %, the days after that weigh more in the new arm than in the old one, and whatever those
days were like would pass for an effect. So arms are compared within a period, and the differences are averaged (with
the weights of Cochran, Mantel and Haenszel).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from circumspect.errors import ConfigError
from circumspect.lab.trials.distributions import NORMAL, chi_square_above, normal_quantile
from circumspect.lab.trials.estimates import (
    NOTHING_KNOWN,
    ArmPeriods,
    ConfidenceLimits,
    Estimate,
    ExperimentMetric,
    always_valid,
    always_valid_above_zero,
    estimate_difference,
    estimate_excess,
    estimate_mean,
    p_value_of,
    pairs,
    student,
    textbook,
    whole,
    wilson,
)
from circumspect.values import Json

ComparisonMethod = Literal["sequential", "fixed"]
ComparisonDecision = Literal["better", "worse", "no difference yet", "no difference"]
"""What the treatment is. "no difference": a fixed test found none at its horizon, or a sequential one has ruled out
that it is as large as the minimal effect."""

SUSPICIOUS = 0.01
"""A split this unlikely is no accident; sequentially, so much for all looks together."""
CONCENTRATION = 100.0
"""How near the intended shares a broken split is thought to be; larger finds smaller faults, later."""


@dataclass(frozen=True, slots=True)
class ComparisonPlan:
    """Written down before the first unit; to change it afterwards is to choose the answer."""

    method: ComparisonMethod = "sequential"
    alpha: float = 0.05
    horizon: int = 2000
    """Units an arm. fixed: when it is decided. sequential: where the limits are tightest; looks before and after are as
    welcome. `needed` says how many it takes."""
    minimum: int = 100
    """Units an arm before anything is said: all of this rests on sums of many."""
    effect: float | None = None
    """The smallest difference that would matter, as the metric counts. It lets a sequential test end without a
    winner."""

    def __post_init__(self) -> None:
        if self.method not in ("sequential", "fixed"):
            raise ConfigError(f"There is no method {self.method!r}.", fix="Choose sequential or fixed.")
        if not 0 < self.alpha < 1:
            raise ConfigError(f"alpha is {self.alpha:g}.", fix="Choose a number between 0 and 1; 0.05 is usual.")
        if self.minimum < 2 or self.horizon < self.minimum:
            raise ConfigError(
                f"The horizon is {self.horizon} units, the minimum {self.minimum}.",
                fix="Choose a minimum of at least 2 and a horizon that is not below it.",
            )
        if self.effect is not None and not self.effect > 0:
            raise ConfigError(f"The minimal effect is {self.effect:g}.", fix="Give a size above 0, or leave it out.")


@dataclass(frozen=True, slots=True)
class Interval:
    n: int
    mean: float
    low: float
    high: float

    def to_json(self) -> dict[str, Json]:
        return {"n": self.n, "mean": self.mean, "low": _finite(self.low), "high": _finite(self.high)}


@dataclass(frozen=True, slots=True)
class ArmComparison:
    metric: ExperimentMetric
    control: Interval
    treatment: Interval
    difference: float
    """Treatment less control; over several periods the average of their differences, not the difference of the
    means."""
    low: float
    high: float
    p_value: float
    """Multiplied by the number of treatments that were compared."""
    decision: ComparisonDecision

    def to_json(self) -> dict[str, Json]:
        return {
            "metric": self.metric.name,
            "control": self.control.to_json(),
            "treatment": self.treatment.to_json(),
            "difference": self.difference,
            "low": _finite(self.low),
            "high": _finite(self.high),
            "p_value": self.p_value,
            "decision": self.decision,
        }


@dataclass(frozen=True, slots=True)
class Guard:
    """A metric that must not get worse. Guards are looked at all the time and therefore always sequential.

    It speaks when the treatment is worse than control by more than `worse_by`, or, with a `bound`, when the treatment
    itself is on the wrong side of that.
    """

    metric: ExperimentMetric
    worse_by: float = 0.0
    bound: float | None = None
    alpha: float = 0.05
    """How often all guards together, if they have the same, may stop an arm that is not at fault."""
    horizon: int = 500
    """Units an arm at which it sees best; nearer than that of a plan, since harm should be found early."""
    minimum: int = 50


@dataclass(frozen=True, slots=True)
class Stop:
    guard: Guard
    control: float
    treatment: float
    units: int
    """Of the treatment, when it was stopped."""
    p_value: float

    @property
    def why(self) -> str:
        guard = self.guard
        if guard.bound is not None:
            against = f"the bound is {guard.bound:g}"
        else:
            against = f"control has {self.control:.4g}"
            against += f" and {guard.worse_by:g} more is allowed" if guard.worse_by else ""
        return f"{guard.metric.name} is {self.treatment:.4g} after {self.units} units; {against}."

    def to_json(self) -> dict[str, Json]:
        return {
            "metric": self.guard.metric.name,
            "control": self.control,
            "treatment": self.treatment,
            "units": self.units,
            "p_value": self.p_value,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class ArmSplit:
    """Whether units fell into the arms as they should; if not, nothing else may be believed."""

    counts: Mapping[str, int]
    p_value: float

    @property
    def is_broken(self) -> bool:
        return self.p_value < SUSPICIOUS


def compare(
    control: ArmPeriods, treatment: ArmPeriods, metric: ExperimentMetric, plan: ComparisonPlan, treatments: int = 1
) -> ArmComparison:
    """What may be said now. `treatments`: how many are compared with this control; alpha is divided among them.

    The decision is that of this look. Whoever runs the experiment ends it, or keeps the first that is not "yet".
    """
    alpha = plan.alpha / treatments
    difference, limits = 0.0, NOTHING_KNOWN
    if periods := pairs(control, treatment):
        found = estimate_difference(periods, metric)
        difference = found.difference
        if plan.method == "sequential":
            limits = always_valid(found, alpha, plan.horizon / 2)
        else:
            limits = textbook(periods, metric, alpha)
    low, high, p_value = limits
    if metric.kind == "proportion":
        low, high = max(low, -1.0), min(high, 1.0)
    p_value = min(1.0, p_value * treatments)
    old, new = interval(control, metric, plan), interval(treatment, metric, plan)
    decision = _decision(min(old.n, new.n), difference * metric.sign, ConfidenceLimits(low, high, p_value), plan)
    return ArmComparison(metric, old, new, difference, low, high, p_value, decision)


def compare_all(
    control: ArmPeriods, treatments: Mapping[str, ArmPeriods], metric: ExperimentMetric, plan: ComparisonPlan
) -> dict[str, ArmComparison]:
    """Each treatment with the one control; alpha holds for all of them together (Bonferroni)."""
    return {name: compare(control, arm, metric, plan, len(treatments)) for name, arm in treatments.items()}


def interval(arm: ArmPeriods, metric: ExperimentMetric, plan: ComparisonPlan) -> Interval:
    """The mean of one arm with its limits, always valid if the plan is sequential."""
    data = whole(arm)
    if data.n < 2:
        return Interval(data.n, data.mean, -math.inf, math.inf)
    if plan.method == "sequential":
        low, high, _ = always_valid(estimate_mean(data, metric), plan.alpha, plan.horizon)
    elif metric.kind == "proportion":
        low, high = wilson(data, plan.alpha)
    else:
        low, high = student(data, plan.alpha)
    if metric.kind == "proportion":
        low, high = max(low, 0.0), min(high, 1.0)
    return Interval(data.n, data.mean, low, high)


def find_stop(
    control: Mapping[str, ArmPeriods], treatment: Mapping[str, ArmPeriods], guards: Sequence[Guard], treatments: int = 1
) -> Stop | None:
    """The guard that stops the treatment, if one does. Arms are by name of metric; what nobody has counted yet is
    silent here, and `unseen` says so."""
    stops = []
    for guard in guards:
        old, new = control.get(guard.metric.name, ()), treatment.get(guard.metric.name, ())
        if _has_enough_units(guard, old, new):
            alpha = guard.alpha / (len(guards) * treatments)
            p_value = _harm(guard, old, new, alpha)
            if p_value <= alpha:
                stops.append(Stop(guard, whole(old).mean, whole(new).mean, whole(new).n, p_value))
    return min(stops, key=lambda stop: stop.p_value, default=None)


def find_unseen_metrics(
    control: Mapping[str, ArmPeriods], treatment: Mapping[str, ArmPeriods], guards: Sequence[Guard]
) -> tuple[str, ...]:
    """Metrics of guards with too few units to speak; while there are any, no arm should be given more traffic."""
    return tuple(
        guard.metric.name
        for guard in guards
        if not _has_enough_units(guard, control.get(guard.metric.name, ()), treatment.get(guard.metric.name, ()))
    )


def split(counts: Mapping[str, int], shares: Mapping[str, float], method: ComparisonMethod = "sequential") -> ArmSplit:
    """Sample-ratio mismatch, over a period of constant shares. fixed: chi-square, for one look at the end. sequential:
    a Dirichlet mixture, exact for any number of looks (Lindon & Malek 2022, "Anytime-valid inference for multinomial
    count data")."""
    if counts.keys() - shares.keys() or any(not share > 0 for share in shares.values()):
        raise ConfigError("A split needs a share above 0 for every arm.", fix="Leave arms without traffic out of it.")
    everything, n = math.fsum(shares.values()), sum(counts.values())
    seen = {name: (counts.get(name, 0), share / everything) for name, share in shares.items()}
    if n == 0 or len(seen) < 2:
        return ArmSplit(counts, 1.0)
    if method == "fixed":
        distance = math.fsum((count - n * share) ** 2 / (n * share) for count, share in seen.values())
        return ArmSplit(counts, chi_square_above(distance, len(seen) - 1))
    evidence = math.lgamma(CONCENTRATION) - math.lgamma(CONCENTRATION + n)
    for count, share in seen.values():
        prior = CONCENTRATION * share
        evidence += math.lgamma(prior + count) - math.lgamma(prior) - count * math.log(share)
    return ArmSplit(counts, p_value_of(evidence))


def count_needed_units(
    metric: ExperimentMetric,
    baseline: float,
    effect: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    deviation: float | None = None,
) -> int:
    """Units an arm for a fixed test that finds `effect` with probability `power`; a good horizon for a sequential one.

    A proportion brings its own spread; for a mean, `deviation` is the standard deviation of a unit.
    """
    if effect == 0:
        raise ConfigError("No number of units finds an effect of 0.", fix="Give the smallest effect that would matter.")
    certain, found = normal_quantile(alpha), NORMAL.inv_cdf(power)
    if metric.kind == "mean":
        if deviation is None or not deviation > 0:
            raise ConfigError(
                f"How many units {metric.name} takes depends on how much they differ from each other.",
                fix="Give deviation, the standard deviation of a unit.",
            )
        return math.ceil(2 * ((certain + found) * deviation / effect) ** 2)
    changed = baseline + effect
    if not (0 <= baseline <= 1 and 0 <= changed <= 1):
        raise ConfigError(
            f"A proportion cannot go from {baseline:g} to {changed:g}.", fix="Stay between 0 and 1 with both."
        )
    middle = (baseline + changed) / 2
    spread = certain * math.sqrt(2 * middle * (1 - middle))
    spread += found * math.sqrt(baseline * (1 - baseline) + changed * (1 - changed))
    return math.ceil((spread / effect) ** 2)


def _decision(units: int, gain: float, limits: ConfidenceLimits, plan: ComparisonPlan) -> ComparisonDecision:
    if units < (plan.horizon if plan.method == "fixed" else plan.minimum):
        return "no difference yet"
    # The two tests of proportions can disagree by a hair; nobody should read "better" beside limits that include 0.
    if limits.p_value <= plan.alpha and not limits.low <= 0 <= limits.high:
        return "better" if gain > 0 else "worse"
    if plan.method == "fixed":
        return "no difference"
    ruled_out = plan.effect is not None and -plan.effect < limits.low and limits.high < plan.effect
    return "no difference" if ruled_out else "no difference yet"


def _has_enough_units(guard: Guard, control: ArmPeriods, treatment: ArmPeriods) -> bool:
    if whole(treatment).n < guard.minimum:
        return False
    return guard.bound is not None or (whole(control).n >= guard.minimum and bool(pairs(control, treatment)))


def _harm(guard: Guard, control: ArmPeriods, treatment: ArmPeriods, alpha: float) -> float:
    """How likely so much harm, or more, would be by chance."""
    if guard.bound is None:
        found, tightest = estimate_difference(pairs(control, treatment), guard.metric), guard.horizon / 2
        worse = -guard.metric.sign * found.difference - guard.worse_by
    else:
        found, tightest = estimate_excess(whole(treatment), guard.metric, guard.bound), float(guard.horizon)
        worse = -guard.metric.sign * found.difference
    return always_valid_above_zero(Estimate(worse, found.variance, found.weight), alpha, tightest)


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None
