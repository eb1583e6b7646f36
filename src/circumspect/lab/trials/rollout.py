"""The ladder 10, 50, 100 %: how a rollout stands in, which share the new arm gets next and why out.

The table below is all there is; its first line that applies decides. A rollout climbs one rung at a time and only when
everything speaks for it; it falls to 0 from anywhere, at once, and stays there until a person starts another one.
Nothing here moves traffic: whoever does, shows the answer first where a person wants to confirm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, NamedTuple

from circumspect.lab.trials.statistics import ArmComparison, ArmSplit, ComparisonDecision, Stop

RolloutMove = Literal["stopped", "down", "held", "stays", "up", "done"]


@dataclass(frozen=True, slots=True)
class Rung:
    share: int
    """Per cent of the units that get the new arm."""
    units: int = 0
    """Of the new arm, to be seen at this share before the next."""
    time: timedelta = timedelta()
    """At this share, before the next: mornings are not like nights, nor weekends like weekdays."""
    accepts: tuple[ComparisonDecision, ...] = ()
    """What the main metric may say for the next rung."""


LADDER = (
    Rung(10, 500, timedelta(days=1), ("better", "no difference", "no difference yet")),
    Rung(50, 1000, timedelta(days=7), ("better", "no difference")),
    Rung(100),
)
"""At 10 % only the guards and harm matter; before everybody gets it, it has to be better, or known to be no worse."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """How it stands. Units and time are those since the share was last changed."""

    share: int
    units: int = 0
    time: timedelta = timedelta()
    stopped: bool = False
    """A guard or a person has stopped it."""
    held: bool = False
    """A person wants the share to stay."""
    unseen: tuple[str, ...] = ()
    """Guards that have too few units to speak (`statistics.unseen`)."""
    split: ArmSplit | None = None
    ladder: tuple[Rung, ...] = LADDER

    @property
    def rung(self) -> Rung:
        """The highest that has been reached; below all of them, a rung that asks for nothing."""
        return next((rung for rung in reversed(self.ladder) if rung.share <= self.share), Rung(0, accepts=_ANY))

    @property
    def next_share(self) -> int:
        return next((rung.share for rung in self.ladder if rung.share > self.share), self.share)


@dataclass(frozen=True, slots=True)
class RolloutStep:
    share: int
    why: str
    move: RolloutMove


class _Look(NamedTuple):
    state: Rollout
    comparison: ArmComparison | None
    stop: Stop | None

    @property
    def decision(self) -> ComparisonDecision:
        return "no difference yet" if self.comparison is None else self.comparison.decision


class _Line(NamedTuple):
    applies: Callable[[_Look], bool]
    move: RolloutMove
    why: Callable[[_Look], str]


_ANY: tuple[ComparisonDecision, ...] = ("better", "no difference", "no difference yet", "worse")

_TABLE = (
    _Line(lambda now: now.state.stopped, "stopped", lambda now: "It was stopped; only a person can start it again."),
    _Line(
        lambda now: now.stop is not None, "down", lambda now: f"A guard stopped it: {now.stop.why if now.stop else ''}"
    ),
    _Line(lambda now: now.decision == "worse", "down", lambda now: f"{_name(now)} is worse than in control."),
    _Line(lambda now: now.state.next_share == now.state.share, "done", lambda now: "All units get it."),
    _Line(lambda now: now.state.held, "held", lambda now: "A person wants it to stay here."),
    _Line(
        lambda now: now.state.split is not None and now.state.split.is_broken,
        "stays",
        lambda now: "Units do not fall into the arms as they should; find out why before believing any figure.",
    ),
    _Line(
        lambda now: now.state.units < now.state.rung.units,
        "stays",
        lambda now: f"{now.state.units} of {now.state.rung.units} units seen at {now.state.share} %.",
    ),
    _Line(
        lambda now: now.state.time < now.state.rung.time,
        "stays",
        lambda now: f"At {now.state.share} % for {_days(now.state.time)} of {_days(now.state.rung.time)} days.",
    ),
    _Line(
        lambda now: now.state.share > 0 and bool(now.state.unseen),
        "stays",
        lambda now: f"Too little is known yet about {', '.join(now.state.unseen)}.",
    ),
    _Line(
        lambda now: now.decision not in now.state.rung.accepts,
        "stays",
        lambda now: f"{_name(now)}: {now.decision}; it takes {' or '.join(now.state.rung.accepts)}.",
    ),
    _Line(
        lambda now: True,
        "up",
        lambda now: f"Guards hold; {now.state.units} units seen at {now.state.share} %; {_name(now)}: {now.decision}.",
    ),
)


def next_step(state: Rollout, comparison: ArmComparison | None, stop: Stop | None) -> RolloutStep:
    """`comparison` of the main metric, `stop` from `guarded`; both over every period since the rollout began."""
    now = _Look(state, comparison, stop)
    line = next(line for line in _TABLE if line.applies(now))
    share = {"stopped": 0, "down": 0, "up": state.next_share}.get(line.move, state.share)
    return RolloutStep(share, line.why(now), line.move)


def _name(now: _Look) -> str:
    return "The main metric" if now.comparison is None else now.comparison.metric.name


def _days(time: timedelta) -> str:
    return f"{time / timedelta(days=1):.3g}"
