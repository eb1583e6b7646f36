"""Suggestions: calibrated labels and what is set today -> caps and bands with what to expect of them. Nothing is set.

A cap is the most that the model's own confidence can count for; under `critique_below` it sends every call of the tool
to a second opinion. Bands say from where on an answer is given and below what a person is asked. What is chosen is
chosen on the labels that were learnt from; what to expect is counted on those that were held out.

What may surprise: what a person is asked about is not in the labels of answers, so nothing is known about answers below
today's bands. A suggestion that loosens says so, and stays a text that somebody has to apply by hand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from circumspect.lab.learning.calibration import Fit, Observation
from circumspect.policy.understanding.confidence import Bands
from circumspect.values import Json

STEP = 0.05
ERROR = 0.05
"""The share of wrong decisions that is put up with, where nobody says otherwise."""
LEAST_CHANCE = 0.5
"""An answer that is more often wrong than right is for a person."""
CRITIQUE_BELOW = 0.7
FEWEST = 50
"""Fewer decisions than this on one side of a threshold say nothing."""
_DEVIATIONS = 1.645


@dataclass(frozen=True, slots=True)
class Capped:
    """What a cap does, by the held-out decisions."""

    cap: float
    checked: float
    """Share of the calls that a second opinion is asked about."""
    error: float | None
    """Share of wrong ones among the calls that go without one; None where there are none."""

    def to_json(self) -> dict[str, Json]:
        error = None if self.error is None else round(self.error, 4)
        return {"confidence_cap": self.cap, "second_opinions": round(self.checked, 4), "error_without": error}


@dataclass(frozen=True, slots=True)
class CapSuggestion:
    tool: str
    now: Capped
    then: Capped

    @property
    def loosens(self) -> bool:
        return self.then.cap > self.now.cap

    def to_json(self) -> dict[str, Json]:
        return {"tool": self.tool, "loosens": self.loosens, "now": self.now.to_json(), "then": self.then.to_json()}


@dataclass(frozen=True, slots=True)
class Banded:
    """What bands do, by the held-out answers."""

    answer_from: float
    escalate_below: float
    answered: float
    error: float | None
    """Share of wrong ones among what is answered; None where nothing is."""
    asked: float
    escalated: float

    def to_json(self) -> dict[str, Json]:
        return {
            "answer_from": self.answer_from,
            "escalate_below": self.escalate_below,
            "answered": round(self.answered, 4),
            "error": None if self.error is None else round(self.error, 4),
            "asked": round(self.asked, 4),
            "escalated": round(self.escalated, 4),
        }


@dataclass(frozen=True, slots=True)
class BandSuggestion:
    now: Banded
    then: Banded
    reached: bool
    """False where no confidence keeps the error as low as wanted: `then` is as strict as there are answers to judge by,
    and is not suggested."""
    table: tuple[Banded, ...] = ()
    """What to expect at every step."""

    @property
    def loosens(self) -> bool:
        return self.then.answer_from < self.now.answer_from or self.then.escalate_below < self.now.escalate_below

    @property
    def changes(self) -> bool:
        before, after = self.now, self.then
        return self.reached and (before.answer_from, before.escalate_below) != (after.answer_from, after.escalate_below)

    def to_json(self) -> dict[str, Json]:
        return {
            "loosens": self.loosens,
            "error_reached": self.reached,
            "now": self.now.to_json(),
            "then": self.then.to_json(),
            "table": [one.to_json() for one in self.table],
        }


# --- caps -----------------------------------------------------------------------------------------------------------


def caps(
    fits: Sequence[Fit], now: Mapping[str, float], error: float = ERROR, critique_below: float = CRITIQUE_BELOW
) -> list[CapSuggestion]:
    """One for each tool whose calls were calibrated and whose cap should be another. `now` has today's caps."""
    found = []
    for one in fits:
        tool, decision = one.key
        if decision != "act" or tool not in now:
            continue
        best = _cap(one, error, critique_below)
        before, after = (_measure_cap(one.held, cap, critique_below) for cap in (now[tool], best))
        # A cap that sends no other call to a second opinion changes a number and nothing else.
        if before.checked != after.checked:
            found.append(CapSuggestion(tool, before, after))
    return found


def _cap(fit: Fit, error: float, critique_below: float) -> float:
    """What the surest tenth is worth, with room for chance; below the second opinion where those that go without one
    are wrong too often."""
    sure = sorted(one.confidence for one in fit.train)[-max(FEWEST, len(fit.train) // 10)]
    cap = _down(1 - _at_most([one for one in fit.train if one.confidence >= sure]))
    alone = [one for one in fit.train if min(one.confidence, cap) >= critique_below]
    if alone and (len(alone) < FEWEST or _at_most(alone) > error):
        cap = min(cap, round(critique_below - STEP, 2))
    return cap


def _measure_cap(observations: Sequence[Observation], cap: float, critique_below: float) -> Capped:
    alone = [one for one in observations if min(one.confidence, cap) >= critique_below]
    return Capped(cap, 1 - len(alone) / len(observations), _wrong(alone) if alone else None)


# --- bands ----------------------------------------------------------------------------------------------------------


def bands(fit: Fit, now: Bands, error: float = ERROR) -> BandSuggestion:
    """For answers. `answer_from` is the lowest step from which on no more than `error` is wrong, with room for chance;
    `escalate_below` the lowest at which an answer is as likely right as wrong."""
    reached, high = False, now.high
    for step in _steps():
        above = [one for one in fit.train if one.confidence >= step]
        if len(above) < FEWEST:
            break
        high = step
        if _at_most(above) <= error:
            reached = True
            break
    low = next((step for step in _steps() if fit.map(step) >= LEAST_CHANCE), 1.0)
    low = min(low, high)
    table = tuple(_measure_bands(fit.held, step, min(low, step)) for step in _steps())
    return BandSuggestion(
        _measure_bands(fit.held, now.high, now.low), _measure_bands(fit.held, high, low), reached, table
    )


def _measure_bands(observations: Sequence[Observation], high: float, low: float) -> Banded:
    answered = [one for one in observations if one.confidence >= high]
    escalated = sum(one.confidence < low for one in observations)
    every = len(observations)
    return Banded(
        high,
        low,
        len(answered) / every,
        _wrong(answered) if answered else None,
        (every - len(answered) - escalated) / every,
        escalated / every,
    )


# --- by hand --------------------------------------------------------------------------------------------------------


def difference(suggested_caps: Sequence[CapSuggestion], suggested_bands: BandSuggestion | None) -> Iterator[str]:
    """The suggestions as the lines to change, for the policy file and for the tenant's file."""
    if suggested_caps:
        yield from ("--- policy.yaml", "+++ policy.yaml", " tools:")
        for one in suggested_caps:
            yield f"   {one.tool}:"
            yield f"-    confidence_cap: {one.now.cap:g}"
            yield f"+    confidence_cap: {one.then.cap:g}{_warning(one.then.cap > one.now.cap)}"
    if suggested_bands and suggested_bands.changes:
        before, after = suggested_bands.now, suggested_bands.then
        yield from ("--- tenant.yaml", "+++ tenant.yaml", " understanding:")
        for name, old, new in (
            ("answer_from", before.answer_from, after.answer_from),
            ("escalate_below", before.escalate_below, after.escalate_below),
        ):
            if old != new:
                yield f"-  {name}: {old:g}"
                yield f"+  {name}: {new:g}{_warning(new < old)}"


def _warning(loosens: bool) -> str:
    return "  # loosens: look at the figures first" if loosens else ""


# --- arithmetic -----------------------------------------------------------------------------------------------------


def _steps() -> list[float]:
    return [round(STEP * number, 2) for number in range(1, round(1 / STEP))]


def _down(share: float) -> float:
    """To the step below."""
    return round(math.floor(share / STEP + 1e-9) * STEP, 2)


def _wrong(observations: Sequence[Observation]) -> float:
    return sum(not one.right for one in observations) / len(observations)


def _at_most(observations: Sequence[Observation]) -> float:
    """The share of wrong ones, with room for chance: the upper end of Wilson's interval, 95 of 100 one-sided."""
    count, share, z = len(observations), _wrong(observations), _DEVIATIONS
    middle = share + z * z / (2 * count)
    spread = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return (middle + spread) / (1 + z * z / count)
