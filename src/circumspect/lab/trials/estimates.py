"""Arms in; estimates, confidence limits and p-values out: the formulas below `statistics`.

Everything sequential works on an `Estimate`, that is on a difference, its variance and how many units it rests on, so
the same few lines serve two arms, one arm against a bound, and arms compared over several periods.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from circumspect.errors import ConfigError
from circumspect.lab.trials.distributions import (
    NORMAL,
    normal_quantile,
    normal_two_sided,
    student_quantile,
    student_two_sided,
)

ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class ExperimentMetric:
    name: str
    kind: Literal["proportion", "mean"] = "proportion"
    """proportion: every unit counts 0 or 1. mean: any number."""
    better: Literal["higher", "lower"] = "higher"

    @property
    def sign(self) -> int:
        return 1 if self.better == "higher" else -1


@dataclass(frozen=True, slots=True)
class ArmData:
    """All that is kept of the units of one arm: how many, their sum, the sum of their squares."""

    n: int = 0
    total: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, values: Iterable[float]) -> ArmData:
        kept = tuple(values)
        return cls(len(kept), math.fsum(kept), math.fsum(value * value for value in kept))

    def add(self, value: float) -> ArmData:
        return ArmData(self.n + 1, self.total + value, self.squares + value * value)

    def merge(self, other: ArmData) -> ArmData:
        return ArmData(self.n + other.n, self.total + other.total, self.squares + other.squares)

    @property
    def mean(self) -> float:
        return self.total / self.n if self.n else 0.0

    @property
    def variance(self) -> float:
        """Of a unit, not of the mean. What is left of a constant by rounding is not taken for a variance."""
        if self.n < 2:
            return 0.0
        left = self.squares - self.total * self.total / self.n
        return left / (self.n - 1) if left > ROUNDING * self.squares else 0.0


ArmPeriods = ArmData | Sequence[ArmData]
"""One `ArmData`, or one for each period of constant shares, in the same order for every arm."""


class ArmPair(NamedTuple):
    """Both arms over one period."""

    control: ArmData
    treatment: ArmData

    @property
    def weight(self) -> float:
        """Effective units: half an arm when the arms are alike, nearly the smaller one when they are not."""
        return self.control.n * self.treatment.n / (self.control.n + self.treatment.n)

    @property
    def difference(self) -> float:
        return self.treatment.mean - self.control.mean


@dataclass(frozen=True, slots=True)
class Estimate:
    difference: float
    variance: float
    weight: float

    @property
    def z(self) -> float:
        return self.difference / math.sqrt(self.variance)


class ConfidenceLimits(NamedTuple):
    low: float
    high: float
    p_value: float


NOTHING_KNOWN = ConfidenceLimits(-math.inf, math.inf, 1.0)


def whole(arm: ArmPeriods) -> ArmData:
    if isinstance(arm, ArmData):
        return arm
    return ArmData(sum(one.n for one in arm), sum(one.total for one in arm), sum(one.squares for one in arm))


def pairs(control: ArmPeriods, treatment: ArmPeriods) -> tuple[ArmPair, ...]:
    """The periods in which the arms can be compared at all."""
    old = (control,) if isinstance(control, ArmData) else tuple(control)
    new = (treatment,) if isinstance(treatment, ArmData) else tuple(treatment)
    if len(old) != len(new):
        raise ConfigError(
            f"Control has {len(old)} periods, the treatment {len(new)}.",
            fix="Give every arm one ArmData for each period of constant shares, an empty one where it had no units.",
        )
    return tuple(ArmPair(*both) for both in zip(old, new, strict=True) if min(both[0].n, both[1].n) >= 2)


def estimate_difference(periods: Sequence[ArmPair], metric: ExperimentMetric) -> Estimate:
    """Averaged over the periods by their weight, which nothing that happened in them can shift."""
    weight = math.fsum(pair.weight for pair in periods)
    difference = math.fsum(pair.weight / weight * pair.difference for pair in periods)
    variance = math.fsum((pair.weight / weight) ** 2 * _cautious_variance(pair, metric) for pair in periods)
    return Estimate(difference, variance, weight)


def estimate_mean(arm: ArmData, metric: ExperimentMetric) -> Estimate:
    return Estimate(arm.mean, _spread(arm, metric) / arm.n, arm.n)


def estimate_excess(arm: ArmData, metric: ExperimentMetric, bound: float) -> Estimate:
    """How far the arm is above a bound."""
    spread = _spread(arm, metric)
    if metric.kind == "proportion":
        spread = max(spread, bound * (1 - bound))
    return Estimate(arm.mean - bound, spread / arm.n, arm.n)


def _cautious_variance(pair: ArmPair, metric: ExperimentMetric) -> float:
    """Of the difference: with a variance for each arm or with a common one, whichever is larger.

    A small arm that happened to miss the rare large values has a low mean and, by the same accident, a low variance; on
    its own word it would be found to differ far too often.
    """
    old, new = _spread(pair.control, metric), _spread(pair.treatment, metric)
    n = pair.control.n + pair.treatment.n
    if metric.kind == "proportion":
        common = _spread(pair.control.merge(pair.treatment), metric)
    else:
        common = ((pair.control.n - 1) * old + (pair.treatment.n - 1) * new) / (n - 2)
    return max(old / pair.control.n + new / pair.treatment.n, common / pair.weight)


def _spread(arm: ArmData, metric: ExperimentMetric) -> float:
    """Variance of a unit. What nobody has seen happen yet is not what never happens: to a proportion one success and
    one failure are added, as Agresti and Caffo do."""
    if metric.kind == "mean":
        return arm.variance
    rate = (arm.total + 1) / (arm.n + 2)
    return rate * (1 - rate)


def always_valid(found: Estimate, alpha: float, tightest: float) -> ConfidenceLimits:
    """The two-sided normal mixture; `tightest` in effective units."""
    if found.variance <= 0:
        return NOTHING_KNOWN
    ratio = _best_ratio(alpha) * found.weight / tightest
    reach = math.sqrt((1 + 1 / ratio) * (math.log1p(ratio) - 2 * math.log(alpha)) * found.variance)
    return ConfidenceLimits(
        found.difference - reach, found.difference + reach, p_value_of(_log_evidence(found.z, ratio))
    )


def always_valid_above_zero(found: Estimate, alpha: float, tightest: float) -> float:
    """The p-value of the upper half of that mixture: with less to rule out it speaks a little sooner."""
    if found.variance <= 0:
        return 1.0
    ratio = _best_ratio(min(2 * alpha, 0.5)) * found.weight / tightest
    half = 2 * NORMAL.cdf(found.z * math.sqrt(ratio / (1 + ratio)))
    return p_value_of(_log_evidence(found.z, ratio) + math.log(half)) if half > 0 else 1.0


def _log_evidence(z: float, ratio: float) -> float:
    """The mixture likelihood ratio; `ratio` is the variance of the mixture over that of the estimate."""
    return (z * z * ratio / (1 + ratio) - math.log1p(ratio)) / 2


@lru_cache(maxsize=64)
def _best_ratio(alpha: float) -> float:
    """Where the limits are tightest: the root of r = log((1 + r) / alpha²)."""
    ratio = 1.0
    for _ in range(50):
        ratio = math.log1p(ratio) - 2 * math.log(alpha)
    return ratio


def p_value_of(log_evidence: float) -> float:
    """Evidence of 20 to 1 can come about by chance, at any time, once in 20 experiments (Ville)."""
    return math.exp(-min(max(log_evidence, 0.0), 700.0))


def textbook(periods: Sequence[ArmPair], metric: ExperimentMetric, alpha: float) -> ConfidenceLimits:
    """For one look: two proportions by z with the pooled variance and the limits of Newcombe, means by Welch."""
    return _two_proportions(periods, alpha) if metric.kind == "proportion" else _two_means(periods, alpha)


def _two_proportions(periods: Sequence[ArmPair], alpha: float) -> ConfidenceLimits:
    weight = math.fsum(pair.weight for pair in periods)
    difference = null = below = above = 0.0
    for pair in periods:
        part = pair.weight / weight
        difference += part * pair.difference
        common = pair.control.merge(pair.treatment).mean
        null += part**2 * common * (1 - common) / pair.weight
        (old_low, old_high), (new_low, new_high) = wilson(pair.control, alpha), wilson(pair.treatment, alpha)
        below += part**2 * ((pair.treatment.mean - new_low) ** 2 + (old_high - pair.control.mean) ** 2)
        above += part**2 * ((new_high - pair.treatment.mean) ** 2 + (pair.control.mean - old_low) ** 2)
    p_value = normal_two_sided(difference / math.sqrt(null)) if null > 0 else 1.0
    return ConfidenceLimits(difference - math.sqrt(below), difference + math.sqrt(above), p_value)


def _two_means(periods: Sequence[ArmPair], alpha: float) -> ConfidenceLimits:
    weight = math.fsum(pair.weight for pair in periods)
    difference = math.fsum(pair.weight / weight * pair.difference for pair in periods)
    error = math.sqrt(
        math.fsum((pair.weight / weight) ** 2 * sum(arm.variance / arm.n for arm in pair) for pair in periods)
    )
    if error <= 0:
        return NOTHING_KNOWN
    freedom = min(_welch(pair) for pair in periods)
    half = student_quantile(alpha, freedom) * error
    return ConfidenceLimits(difference - half, difference + half, student_two_sided(difference / error, freedom))


def _welch(pair: ArmPair) -> float:
    old, new = (arm.variance / arm.n for arm in pair)
    if old + new <= 0:
        return math.inf
    return (old + new) ** 2 / (old * old / (pair.control.n - 1) + new * new / (pair.treatment.n - 1))


def wilson(arm: ArmData, alpha: float) -> tuple[float, float]:
    z = normal_quantile(alpha)
    middle = arm.mean + z * z / (2 * arm.n)
    half = z * math.sqrt(arm.mean * (1 - arm.mean) / arm.n + (z / (2 * arm.n)) ** 2)
    return (middle - half) / (1 + z * z / arm.n), (middle + half) / (1 + z * z / arm.n)


def student(arm: ArmData, alpha: float) -> tuple[float, float]:
    half = student_quantile(alpha, arm.n - 1) * math.sqrt(arm.variance / arm.n)
    return arm.mean - half, arm.mean + half
