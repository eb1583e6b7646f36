"""A simulated month: a seed and arms that behave in known ways in, turns in the order of time out, with what was
right.

Experiments, shadows and calibration can only be checked where the truth is known. Here it is: which arm is better and
by how much, which does harm, how far every stated confidence is from the chance of being right. Tenants have their
hours and their weekends, conversations their length and their own difficulty (so that their turns are alike), one day
goes badly for everybody.

What may surprise: a conversation is drawn from its own seed and every turn uses up the same draws whatever the arm
does with them. So the same conversation can be played under two arms, as a shadow does, and arms that behave alike do
the very same. The stream asks for the arm of a conversation only when that begins, so that a share may change in
mid-month.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from random import Random
from typing import Literal

from circumspect.hashing import stable_share
from circumspect.lab.trials.estimates import ExperimentMetric

SimulatedDecision = Literal["answer", "act", "ask", "escalate"]
SimulatedOutcome = Literal["answered", "acted", "asked", "escalated", "wrong action"]

TURNS = 100_000
START = datetime(2026, 3, 2, tzinfo=UTC)
DAYS = 30
BAD_DAY = 16
"""Counted from 0: something outside is down, and everything is harder."""
MEAN_LENGTH = 4.0
LONGEST = 24

METRICS: Mapping[str, ExperimentMetric] = {
    metric.name: metric
    for metric in (
        ExperimentMetric("resolved", "proportion", "higher"),
        ExperimentMetric("answered", "proportion", "higher"),
        ExperimentMetric("acted", "proportion", "higher"),
        ExperimentMetric("asked", "proportion", "lower"),
        ExperimentMetric("escalated", "proportion", "lower"),
        ExperimentMetric("wrong", "proportion", "lower"),
        ExperimentMetric("cost", "mean", "lower"),
        ExperimentMetric("tokens", "mean", "lower"),
        ExperimentMetric("seconds", "mean", "lower"),
        ExperimentMetric("calls", "mean", "lower"),
        ExperimentMetric("turns", "mean", "lower"),
    )
}
"""What every unit has a number for: whether it ever happened in the conversation, sums over it, seconds a turn on
average."""


@dataclass(frozen=True, slots=True)
class SimulatedTenant:
    name: str
    size: float
    """Share of the conversations."""
    peak: int
    """Hour of the day, UTC, around which people write."""
    weekend: float
    """How busy a day of it is, against a weekday."""
    ease: float


TENANTS = (
    SimulatedTenant("outdoor-shop", 0.40, 15, 1.3, 0.2),
    SimulatedTenant("bookshop", 0.25, 18, 1.1, 0.4),
    SimulatedTenant("clinic", 0.15, 8, 0.2, -0.3),
    SimulatedTenant("bank", 0.12, 10, 0.3, -0.1),
    SimulatedTenant("pizzeria", 0.08, 19, 1.8, 0.0),
)
TOOLS: Mapping[str, tuple[float, float]] = {
    "": (0.55, 1.5),
    "get_order_status": (0.26, 5.4),
    "book_appointment": (0.08, 3.4),
    "update_address": (0.06, 3.8),
    "cancel_order": (0.05, 2.0),
}
"""How often it is what the user needs, and how easy it is to get right; the first needs words only."""
_TOOL_NAMES = tuple(TOOLS)
_TOOL_STEPS = tuple(accumulate(often for often, _ in TOOLS.values()))

MISCALIBRATION: Mapping[tuple[str, SimulatedDecision], tuple[float, float]] = {
    ("", "answer"): (1.3, 0.8),
    ("get_order_status", "act"): (0.0, 0.9),
    ("book_appointment", "act"): (1.4, 0.7),
    ("update_address", "act"): (-1.2, 0.7),
    ("cancel_order", "act"): (1.5, 0.6),
}
"""What is stated for a tool and a decision, on the scale of log odds: shift + slope * truth."""
_USUAL_MISCALIBRATION = (0.7, 0.7)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How an arm behaves. Two that are equal cannot be told apart, whatever they are called."""

    skill: float = 0.0
    """On the log odds of being right."""
    asks: float = 0.35
    escalates: float = 0.25
    recklessness: float = 0.0
    """On the log odds of an action being wrong; it also asks that much less before it acts."""
    cost: float = 0.004
    """US dollars a model call."""
    seconds: float = 2.0


TODAY = Behaviour()
BETTER = Behaviour(skill=0.2, escalates=0.24)
HARMFUL = Behaviour(recklessness=1.0, escalates=0.18)
"""By the main metric it is the best of them: it calls a person in least often. It does the wrong thing instead."""


@dataclass(frozen=True, slots=True)
class SimulatedConversation:
    id: str
    tenant: SimulatedTenant
    began: datetime
    day: int
    """Of the month, counted from 0."""
    length: int
    seed: str


@dataclass(frozen=True, slots=True)
class SimulatedTurn:
    at: datetime
    tenant: str
    conversation: str
    id: str
    number: int
    last: bool
    arm: str
    tool: str
    """Empty where words were needed."""
    decision: SimulatedDecision
    confidence: float
    """As stated."""
    chance: float
    """Of the decision being right, before it was drawn: what a perfect calibration would make of the confidence."""
    right: bool
    outcome: SimulatedOutcome
    cost: float
    tokens: int
    seconds: float
    calls: int


@dataclass(frozen=True, slots=True)
class SimulatedUnit:
    """A conversation that is over."""

    at: datetime
    tenant: str
    conversation: str
    arm: str
    turns: int
    metrics: Mapping[str, float] = field(default_factory=dict)


Assign = Callable[[SimulatedConversation], str]


def month(
    seed: int,
    arms: Mapping[str, Behaviour],
    assign: Assign,
    turns: int = TURNS,
    start: datetime = START,
    days: int = DAYS,
) -> Iterator[SimulatedTurn]:
    """Every turn in the order of time; exactly so many."""
    waiting: list[tuple[datetime, str, SimulatedTurn]] = []
    for conversation in conversations(seed, turns, start, days):
        while waiting and waiting[0][0] <= conversation.began:
            yield heapq.heappop(waiting)[2]
        arm = assign(conversation)
        for turn in play(conversation, arms[arm], arm):
            heapq.heappush(waiting, (turn.at, turn.id, turn))
    while waiting:
        yield heapq.heappop(waiting)[2]


def by_lot(name: str, shares: Mapping[str, float]) -> Assign:
    """A stable draw by the id of the conversation; the first arm has what the others leave."""
    arms = tuple(shares)
    steps = tuple(accumulate(shares[arm] for arm in arms[1:]))

    def assign(conversation: SimulatedConversation) -> str:
        place = bisect(steps, stable_share(name, conversation.id))
        return arms[place + 1] if place < len(steps) else arms[0]

    return assign


def conversations(
    seed: int, turns: int = TURNS, start: datetime = START, days: int = DAYS
) -> list[SimulatedConversation]:
    """Those of a month, by when they begin. Their lengths add up to exactly `turns`."""
    chance = Random(f"month {seed}")
    lengths: list[int] = []
    left = turns
    while left > 0:
        length = min(1 + int(chance.expovariate(1 / (MEAN_LENGTH - 0.5))), LONGEST, left)
        lengths.append(length)
        left -= length
    cells = [(tenant, day, hour) for tenant in TENANTS for day in range(days) for hour in range(24)]
    busy = list(accumulate(_busy(tenant, start + timedelta(days=day), hour) for tenant, day, hour in cells))
    drawn = chance.choices(cells, cum_weights=busy, k=len(lengths))
    began = sorted(
        (start + timedelta(days=day, hours=hour, seconds=chance.random() * 3600), number, tenant)
        for number, (tenant, day, hour) in enumerate(drawn)
    )
    return [
        SimulatedConversation(f"m{seed}-{order:05d}", tenant, at, (at - start).days, lengths[number], f"{seed}/{order}")
        for order, (at, number, tenant) in enumerate(began)
    ]


def play(conversation: SimulatedConversation, behaviour: Behaviour, arm: str) -> Iterator[SimulatedTurn]:
    """What happens in it under an arm that behaves like this."""
    chance = Random(conversation.seed)
    at = conversation.began
    ease = conversation.tenant.ease + chance.gauss(0, 1.5) + _hard_times(conversation)
    for number in range(conversation.length):
        tool_lot, own, decision_lot, right_lot, size = (chance.random() for _ in range(5))
        tool = _TOOL_NAMES[min(bisect(_TOOL_STEPS, tool_lot), len(_TOOL_NAMES) - 1)]
        odds = TOOLS[tool][1] + ease + own - 0.5 + behaviour.skill - (behaviour.recklessness if tool else 0.0)
        good = _probability(odds)
        decision = _decide(behaviour, tool, good, decision_lot)
        likely = good if decision in ("answer", "act") else 1 - 0.5 * good
        right = right_lot < likely
        calls = 2 if decision == "act" else 1
        yield SimulatedTurn(
            at,
            conversation.tenant.name,
            conversation.id,
            f"{conversation.id}.{number}",
            number,
            number == conversation.length - 1,
            arm,
            tool,
            decision,
            _state_confidence(tool, decision, likely),
            likely,
            right,
            _outcome(decision, right),
            calls * behaviour.cost * (0.5 + size),
            int(calls * 900 * (0.5 + size)),
            calls * behaviour.seconds * (0.5 + size),
            calls,
        )
        at += timedelta(seconds=20 + chance.expovariate(1 / 70))


def units(turns: Iterable[SimulatedTurn]) -> Iterator[SimulatedUnit]:
    """One number a metric for every conversation, when it is over."""
    open_ones: dict[str, list[SimulatedTurn]] = {}
    for turn in turns:
        seen = open_ones.setdefault(turn.conversation, [])
        seen.append(turn)
        if turn.last:
            del open_ones[turn.conversation]
            yield SimulatedUnit(turn.at, turn.tenant, turn.conversation, turn.arm, len(seen), measures(seen))


def measures(turns: Iterable[SimulatedTurn]) -> dict[str, float]:
    """The turns of one conversation in, its metrics out; see `METRICS`."""
    seen = tuple(turns)
    outcomes = {turn.outcome for turn in seen}
    found: dict[str, float] = {
        "answered": "answered" in outcomes,
        "acted": "acted" in outcomes or "wrong action" in outcomes,
        "asked": "asked" in outcomes,
        "escalated": "escalated" in outcomes,
        "wrong": "wrong action" in outcomes,
        "cost": math.fsum(turn.cost for turn in seen),
        "tokens": sum(turn.tokens for turn in seen),
        "seconds": math.fsum(turn.seconds for turn in seen) / len(seen),
        "calls": sum(turn.calls for turn in seen),
        "turns": len(seen),
    }
    helped = seen[-1].right and seen[-1].outcome in ("answered", "acted")
    found["resolved"] = helped and not (found["wrong"] or found["escalated"])
    return {name: float(value) for name, value in found.items()}


def true_chance(tool: str, decision: SimulatedDecision, confidence: float) -> float:
    """What a stated confidence is worth: the map that calibration should find."""
    shift, slope = MISCALIBRATION.get((tool, decision), _USUAL_MISCALIBRATION)
    return _probability((_odds(confidence) - shift) / slope)


def _state_confidence(tool: str, decision: SimulatedDecision, chance: float) -> float:
    shift, slope = MISCALIBRATION.get((tool, decision), _USUAL_MISCALIBRATION)
    return min(max(round(_probability(shift + slope * _odds(chance)), 2), 0.01), 0.99)


def _decide(behaviour: Behaviour, tool: str, good: float, lot: float) -> SimulatedDecision:
    """The harder it looks, the sooner it asks or calls a person; a reckless arm asks less before it acts."""
    escalates = behaviour.escalates * (1 - good)
    asks = behaviour.asks * (1.2 - good) * (math.exp(-behaviour.recklessness) if tool else 1.0)
    if lot < escalates:
        return "escalate"
    if lot < escalates + asks:
        return "ask"
    return "act" if tool else "answer"


def _outcome(decision: SimulatedDecision, right: bool) -> SimulatedOutcome:
    match decision:
        case "answer":
            return "answered"
        case "act":
            return "acted" if right else "wrong action"
        case "ask":
            return "asked"
        case "escalate":
            return "escalated"


def _busy(tenant: SimulatedTenant, day: datetime, hour: int) -> float:
    away = min((hour - tenant.peak) % 24, (tenant.peak - hour) % 24)
    weekend = tenant.weekend if day.weekday() >= 5 else 1.0
    return tenant.size * weekend * (0.1 + math.exp(-(away**2) / 18))


def _hard_times(conversation: SimulatedConversation) -> float:
    night = -0.3 if conversation.began.hour < 6 else 0.0
    weekend = -0.2 if conversation.began.weekday() >= 5 else 0.0
    return night + weekend + (-1.0 if conversation.day == BAD_DAY else 0.0)


def _probability(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def _odds(probability: float) -> float:
    return math.log(probability / (1 - probability))
