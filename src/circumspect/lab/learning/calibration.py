"""Calibration: stated confidences and how things turned out in, what a confidence is worth out. Pure, no dependency.

An isotonic map is learnt for each tool and decision from one part of the labels and measured on the other, which it has
not seen. Too few labels are refused, with how many there would have to be.

What may surprise: nothing in a turn reads a map. What comes of it are suggestions (`suggestions.py`) that a person may
write into a policy, because a map that opened gates by itself would let yesterday's labels decide.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from circumspect.errors import ConfigError
from circumspect.values import Json

DecisionKey = tuple[str, str]
"""Tool (empty where words were the decision) and decision: answer, act, ask, escalate."""

BINS = 10
TRAIN, HELD, EACH = 200, 50, 10
"""The least to learn from and to measure on; and so many right and so many wrong ones to learn from. With fewer, what
is measured is mostly chance: 50 decisions that are right four times of five show an error of .1 by chance alone."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One decision, how sure its maker was, and whether it was right."""

    confidence: float
    right: bool
    tool: str = ""
    decision: str = "answer"
    held: bool = False
    """Kept apart: measured on, never learnt from."""

    @property
    def key(self) -> DecisionKey:
        return self.tool, self.decision


# --- how far off confidences are ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bin:
    """Decisions of like confidence."""

    low: float
    high: float
    count: int
    confidence: float
    """The mean of what was stated."""
    right: float
    """The share that was right."""

    def to_json(self) -> dict[str, Json]:
        return {
            "from": round(self.low, 4),
            "to": round(self.high, 4),
            "count": self.count,
            "confidence": round(self.confidence, 4),
            "right": round(self.right, 4),
        }


def bins_of_equal_width(observations: Iterable[Observation], number: int = BINS) -> tuple[Bin, ...]:
    """0 to .1, .1 to .2 and so on; empty ones are left out."""
    found: dict[int, list[Observation]] = defaultdict(list)
    for one in observations:
        found[min(int(one.confidence * number), number - 1)].append(one)
    return tuple(_bin(at / number, (at + 1) / number, some) for at, some in sorted(found.items()))


def bins_of_equal_mass(observations: Iterable[Observation], number: int = BINS) -> tuple[Bin, ...]:
    """As many decisions in each as possible. The same confidence is never in two of them, since models state few."""
    ordered = sorted(observations, key=lambda one: one.confidence)
    size = len(ordered) / number
    found: list[Bin] = []
    some: list[Observation] = []
    for at, one in enumerate(ordered, 1):
        some.append(one)
        last = at == len(ordered)
        if last or (at >= size * (len(found) + 1) and ordered[at].confidence != one.confidence):
            found.append(_bin(some[0].confidence, one.confidence, some))
            some = []
    return tuple(found)


def calibration_error(bins: Sequence[Bin]) -> float:
    """ECE: how far the stated confidence is from the share that was right, on average over all decisions."""
    every = sum(one.count for one in bins)
    return sum(one.count * abs(one.confidence - one.right) for one in bins) / every if every else 0.0


def error_by_chance(bins: Sequence[Bin]) -> float:
    """The ECE that perfectly calibrated confidences would be expected to show, since shares of few decisions vary."""
    every = sum(one.count for one in bins)
    off = sum(one.count * math.sqrt(2 * one.right * (1 - one.right) / (math.pi * one.count)) for one in bins)
    return off / every if every else 0.0


def brier(observations: Sequence[Observation]) -> float:
    """The mean square of confidence minus outcome."""
    return math.fsum((one.confidence - one.right) ** 2 for one in observations) / max(1, len(observations))


@dataclass(frozen=True, slots=True)
class ConfidenceQuality:
    """How good confidences are, on decisions that nothing was learnt from."""

    count: int
    error: float
    """ECE over bins of equal width."""
    mass_error: float
    """ECE over bins of equal mass."""
    by_chance: float
    brier: float
    bins: tuple[Bin, ...] = ()

    def to_json(self) -> dict[str, Json]:
        return {
            "count": self.count,
            "ece": round(self.error, 5),
            "ece_equal_mass": round(self.mass_error, 5),
            "ece_by_chance": round(self.by_chance, 5),
            "brier": round(self.brier, 5),
            "bins": [one.to_json() for one in self.bins],
        }


def measure_quality(observations: Sequence[Observation], number: int = BINS) -> ConfidenceQuality:
    wide = bins_of_equal_width(observations, number)
    mass = bins_of_equal_mass(observations, number)
    return ConfidenceQuality(
        len(observations),
        calibration_error(wide),
        calibration_error(mass),
        error_by_chance(wide),
        brier(observations),
        wide,
    )


def _bin(low: float, high: float, some: Sequence[Observation]) -> Bin:
    count = len(some)
    mean = math.fsum(one.confidence for one in some) / count
    return Bin(low, high, count, mean, sum(one.right for one in some) / count)


# --- the map --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Isotonic:
    """A map that never falls: straight between its knots, flat outside them."""

    knots: tuple[tuple[float, float], ...]
    """Confidence and what it is worth, in order."""

    def __call__(self, confidence: float) -> float:
        at = bisect_right(self.knots, confidence, key=lambda knot: knot[0])
        if at == 0:
            return self.knots[0][1]
        if at == len(self.knots):
            return self.knots[-1][1]
        (left, low), (right, high) = self.knots[at - 1], self.knots[at]
        return low + (high - low) * (confidence - left) / (right - left)


def isotonic(observations: Iterable[Observation]) -> Isotonic:
    """The map that never falls and has the least Brier score on these, by pooling adjacent violators."""
    sums: dict[float, list[float]] = {}
    for one in observations:
        there = sums.setdefault(one.confidence, [0.0, 0.0])
        there[0] += one.right
        there[1] += 1
    if not sums:
        raise ValueError("there is nothing to learn from")
    blocks: list[tuple[float, float, float, float]] = []  # from, to, how many right, how many
    for confidence, (right, count) in sorted(sums.items()):
        first, last = confidence, confidence
        while blocks and blocks[-1][2] * count >= right * blocks[-1][3]:
            first, _, more_right, more = blocks.pop()
            right, count = right + more_right, count + more
        blocks.append((first, last, right, count))
    knots: dict[float, float] = {}
    for first, last, right, count in blocks:
        knots[first] = knots[last] = right / count
    return Isotonic(tuple(knots.items()))


@dataclass(frozen=True)
class Calibration:
    """What a stated confidence is worth, by tool and decision."""

    maps: Mapping[DecisionKey, Isotonic] = field(default_factory=dict)

    def chance(self, tool: str, decision: str, confidence: float) -> float | None:
        """Of being right; None where too little is known."""
        found = self.maps.get((tool, decision))
        return None if found is None else found(confidence)

    def to_json(self) -> dict[str, Json]:
        return {
            "version": 1,
            "maps": [
                {"tool": tool, "decision": decision, "knots": [list(knot) for knot in one.knots]}
                for (tool, decision), one in sorted(self.maps.items())
            ],
        }

    @staticmethod
    def from_json(value: Any) -> Calibration:
        try:
            if value["version"] != 1:
                raise ValueError
            return Calibration({(one["tool"], one["decision"]): _map_of(one["knots"]) for one in value["maps"]})
        except (KeyError, TypeError, ValueError):
            raise ConfigError(
                "This is not a calibration.", fix="Make one with circumspect calibrate --maps FILE."
            ) from None


def _map_of(knots: Any) -> Isotonic:
    found = tuple((float(confidence), float(chance)) for confidence, chance in knots)
    if not found or any(left[0] >= right[0] or left[1] > right[1] for left, right in pairwise(found)):
        raise ValueError
    return Isotonic(found)


# --- learning -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fit:
    """A map for one tool and decision, and what it did on decisions that it was not learnt from."""

    key: DecisionKey
    map: Isotonic
    train: tuple[Observation, ...]
    held: tuple[Observation, ...]
    before: ConfidenceQuality
    after: ConfidenceQuality

    @property
    def helps(self) -> bool:
        """It is nearer to the truth on what it has not seen. Only such a map is kept."""
        return self.after.error < self.before.error and self.after.brier <= self.before.brier

    def to_json(self) -> dict[str, Json]:
        return {
            "tool": self.key[0],
            "decision": self.key[1],
            "learnt_from": len(self.train),
            "helps": self.helps,
            "before": self.before.to_json(),
            "after": self.after.to_json(),
        }


@dataclass(frozen=True, slots=True)
class TooFew:
    """Not calibrated, and what is missing."""

    key: DecisionKey
    train: int
    held: int
    right: int
    wrong: int
    """Right and wrong ones among those to learn from."""

    @property
    def shortfall(self) -> str:
        parts = [(self.train, TRAIN, "labels to learn from"), (self.held, HELD, "held-out labels")]
        if self.train >= TRAIN:
            parts += [(self.right, EACH, "right ones to learn from"), (self.wrong, EACH, "wrong ones to learn from")]
        return "; ".join(f"{found} {what}, {least} are needed" for found, least, what in parts if found < least)

    def to_json(self) -> dict[str, Json]:
        return {"tool": self.key[0], "decision": self.key[1], "too_few": self.shortfall}


def fit(observations: Iterable[Observation]) -> tuple[list[Fit], list[TooFew]]:
    """A map for every tool and decision that has labels enough, and those that have not."""
    by_key: dict[DecisionKey, list[Observation]] = defaultdict(list)
    for one in observations:
        by_key[one.key].append(one)
    fits: list[Fit] = []
    refused: list[TooFew] = []
    for key, some in sorted(by_key.items()):
        train = tuple(one for one in some if not one.held)
        held = tuple(one for one in some if one.held)
        right = sum(one.right for one in train)
        few = TooFew(key, len(train), len(held), right, len(train) - right)
        if few.shortfall:
            refused.append(few)
        else:
            found = isotonic(train)
            fits.append(Fit(key, found, train, held, measure_quality(held), measure_quality(apply_map(held, found))))
    return fits, refused


def apply_map(observations: Iterable[Observation], by: Isotonic) -> tuple[Observation, ...]:
    """The same decisions with what their confidence is worth in its place."""
    return tuple(Observation(by(one.confidence), one.right, one.tool, one.decision, one.held) for one in observations)


def overall(fits: Sequence[Fit]) -> tuple[ConfidenceQuality, ConfidenceQuality]:
    """Before and after over all of them together, each decision by the map of its own."""
    held = [one for found in fits for one in found.held]
    after = [one for found in fits for one in apply_map(found.held, found.map)]
    return measure_quality(held), measure_quality(after)


def calibration_of(fits: Iterable[Fit]) -> Calibration:
    """The maps that help."""
    return Calibration({one.key: one.map for one in fits if one.helps})
