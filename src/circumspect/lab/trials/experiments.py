"""Experiments: who is in which arm, and what may be done with an experiment when. Pure.

    drawn = draw(experiment, conversation, began)

Which arm a conversation is in follows from its id, from when it began, and from the share that held at that moment.
So it never changes while the experiment runs, however the share grows, and nobody has to write it down or look it up.
A new share holds from a moment that is a little ahead, so that by then all workers know of it. Stopping is different:
it holds at once, for everybody.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

from circumspect.errors import ConfigError
from circumspect.hashing import stable_share
from circumspect.lab.trials.variants import Overlay, read_overlay
from circumspect.stores.experiments import ExperimentRow, ExperimentState
from circumspect.values import Json, TenantId

ExperimentKind = Literal["ab", "shadow"]
ExperimentUnit = Literal["conversation", "case"]
ExperimentStage = Literal["draft", "running", "rolled_out", "stopped", "finished"]
CONTROL = "control"
NOTICE_SECONDS = 2.0
"""How long before it holds a share is known; workers look once a second."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_MOST_ARMS = 10
_SAME = (
    "tenant", "id", "name", "created_by", "created_at", "winner", "note", "dropped", "started_at", "ended_at",
)  # fmt: skip
"""What an experiment and its row both have as it is."""


@dataclass(frozen=True)
class ExperimentArm:
    name: str
    overlay: Overlay
    weight: float = 1.0
    """Against the other arms that are not control."""
    stopped: str = ""
    """Why it is not served any more."""

    def to_json(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "overlay": self.overlay.to_json(),
            "weight": self.weight,
            "stopped": self.stopped,
        }


@dataclass(frozen=True, slots=True)
class TrafficShare:
    """Of all conversations that begin from this moment on, so many get an arm other than control."""

    at: float
    share: float


@dataclass(frozen=True)
class Experiment:
    tenant: TenantId
    id: str
    name: str
    kind: ExperimentKind
    unit: ExperimentUnit
    state: ExperimentStage
    arms: tuple[ExperimentArm, ...]
    """Control first; a shadow has one arm, which is never served."""
    shares: tuple[TrafficShare, ...]
    plan: Mapping[str, Json]
    created_by: str
    created_at: float
    winner: str | None = None
    note: str = ""
    dropped: int = 0
    started_at: float | None = None
    ended_at: float | None = None

    @property
    def live(self) -> bool:
        return self.state in ("running", "rolled_out")

    @property
    def treatments(self) -> tuple[ExperimentArm, ...]:
        return tuple(arm for arm in self.arms if arm.name != CONTROL)

    @property
    def share(self) -> float:
        """The newest."""
        return self.shares[-1].share if self.shares else 0.0

    @property
    def has_unserved_winner(self) -> bool:
        """Decided for something new that nobody gets: it was not rolled out."""
        return self.state == "finished" and self.winner not in (None, CONTROL)

    def arm(self, name: str) -> ExperimentArm:
        for arm in self.arms:
            if arm.name == name:
                return arm
        names = ", ".join(arm.name for arm in self.arms)
        raise ConfigError(f"'{self.id}' has no arm '{name}'.", fix=f"It has: {names}.")


@dataclass(frozen=True, slots=True)
class Drawn:
    arm: ExperimentArm
    period: int
    """Which of the shares held when the conversation began."""
    counted: bool = True
    """False after a decision: there is nothing left to compare with."""


def draw(experiment: Experiment, unit: str, began: float) -> Drawn | None:
    """The arm of a conversation or a case; None where the experiment has nothing to do with it."""
    if experiment.kind != "ab" or not experiment.live or began < (experiment.started_at or 0.0):
        return None
    ended, winner = experiment.ended_at, experiment.winner
    if experiment.state == "rolled_out" and ended is not None and began >= ended and winner is not None:
        return Drawn(experiment.arm(winner), len(experiment.shares), counted=False)
    period = _period(experiment.shares, began)
    if period is None:
        return None
    arm = _arm(experiment, unit, experiment.shares[period].share)
    return None if arm.stopped else Drawn(arm, period, counted=experiment.state == "running")


def has_shadow(experiment: Experiment, turn: str, now: float) -> bool:
    """Whether this turn has a shadow."""
    if experiment.kind != "shadow" or experiment.state != "running":
        return False
    period = _period(experiment.shares, now)
    return period is not None and stable_share(experiment.tenant, experiment.id, turn) < experiment.shares[period].share


def _period(shares: Sequence[TrafficShare], moment: float) -> int | None:
    held = [index for index, one in enumerate(shares) if one.at <= moment]
    return held[-1] if held else None


def _arm(experiment: Experiment, unit: str, share: float) -> ExperimentArm:
    """Two lots: the first says whether, the second which. So a larger share only ever adds to the arms."""
    if stable_share(experiment.tenant, experiment.id, unit) >= share:
        return experiment.arms[0]
    left = stable_share(experiment.tenant, experiment.id, unit, "arm") * sum(
        arm.weight for arm in experiment.treatments
    )
    for arm in experiment.treatments:
        left -= arm.weight
        if left < 0:
            return arm
    return experiment.treatments[-1]


# --- what may be done with it ---------------------------------------------------------------------------------------


def start(experiment: Experiment, share: float, now: float, notice: float = NOTICE_SECONDS) -> Experiment:
    """Begins, or begins again after it was stopped: only with conversations that begin from now on."""
    if experiment.state not in ("draft", "stopped"):
        raise ExperimentState(
            f"'{experiment.id}' is {_describe_state(experiment)}.", fix="Start one that is not running."
        )
    arms = tuple(replace(arm, stopped="") for arm in experiment.arms)
    shares = (*_before(experiment.shares, now), TrafficShare(now + notice, _check_share(share)))
    return replace(
        experiment, state="running", arms=arms, shares=shares, started_at=now + notice, ended_at=None, winner=None
    )


def set_share(experiment: Experiment, share: float, now: float, notice: float = NOTICE_SECONDS) -> Experiment:
    """For conversations that begin from now on; the others keep their arm."""
    if experiment.state != "running":
        raise ExperimentState(f"'{experiment.id}' is {_describe_state(experiment)}.", fix="Start it first.")
    if _check_share(share) == experiment.share:
        return experiment
    return replace(experiment, shares=(*_before(experiment.shares, now), TrafficShare(now + notice, share)))


def stop(experiment: Experiment, why: str, now: float) -> Experiment:
    """Back to what the tenant has, at once and for everybody."""
    if not experiment.live:
        raise ExperimentState(f"'{experiment.id}' is {_describe_state(experiment)}.", fix="There is nothing to stop.")
    shares = (*_before(experiment.shares, now), TrafficShare(now, 0.0))
    return replace(experiment, state="stopped", shares=shares, ended_at=now, note=why)


def stop_arm(experiment: Experiment, name: str, why: str, now: float) -> Experiment:
    """The arm's conversations get control from now on; the last arm takes the experiment with it."""
    arm = experiment.arm(name)
    if name == CONTROL:
        raise ExperimentState("Control cannot be stopped by itself.", fix="Stop the experiment.")
    arms = tuple(replace(one, stopped=why) if one is arm else one for one in experiment.arms)
    after = replace(experiment, arms=arms)
    return stop(after, f"{name}: {why}", now) if all(one.stopped for one in after.treatments) else after


def finish(
    experiment: Experiment, winner: str, roll_out: bool, now: float, notice: float = NOTICE_SECONDS
) -> Experiment:
    """Decided, or decided again. With `roll_out`, every conversation that begins from now on gets the winner; else all
    is as before."""
    if experiment.state not in ("running", "stopped", "finished"):
        fix = "Stop it first." if experiment.state == "rolled_out" else "Finish one that was started."
        raise ExperimentState(f"'{experiment.id}' is {_describe_state(experiment)}.", fix=fix)
    arm = experiment.arm(winner)
    if experiment.kind == "shadow" and roll_out:
        raise ExperimentState("A shadow is not rolled out.", fix="Try it in an experiment first.")
    if roll_out and arm.stopped:
        again = "Start it again" if experiment.state != "finished" else "Make an experiment of it again"
        raise ExperimentState(f"'{winner}' was stopped: {arm.stopped}", fix=f"{again} and look at it longer.")
    decided = experiment.ended_at if experiment.state == "finished" else None
    ended = now if decided is None else decided
    if roll_out and winner != CONTROL:
        # Whoever began after it was decided had what the tenant has, and keeps it.
        shares = experiment.shares if decided is None else (*_before(experiment.shares, ended), TrafficShare(ended, 0))
        return replace(experiment, state="rolled_out", winner=winner, shares=shares, ended_at=now + notice)
    return replace(experiment, state="finished", winner=winner, ended_at=ended)


def _before(shares: Sequence[TrafficShare], now: float) -> tuple[TrafficShare, ...]:
    """One that nobody has met yet is replaced."""
    return tuple(one for one in shares if one.at <= now)


def _check_share(share: float) -> float:
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise ConfigError(f"The share is {share!r}.", fix="Give a number from 0 to 1: 0.1 is one conversation in ten.")
    return float(share)


def _describe_state(experiment: Experiment) -> str:
    return experiment.state.replace("_", " ")


# --- reading and writing --------------------------------------------------------------------------------------------


def read_arms(kind: ExperimentKind, given: object) -> tuple[ExperimentArm, ...]:
    """Control first, made when nobody names it. Raises `ConfigError` that says where."""
    if not isinstance(given, Sequence) or isinstance(given, str) or not 1 <= len(given) <= _MOST_ARMS:
        raise ConfigError("An experiment has one to ten arms.", fix='arms: [{"name": "new", "overlay": {...}}].')
    arms = [_read_arm(one, f"arms[{index}]") for index, one in enumerate(given)]
    names = [arm.name for arm in arms]
    if len(set(names)) < len(names):
        raise ConfigError("Two arms have the same name.", fix="Give each its own.")
    if kind == "shadow":
        if len(arms) != 1 or names == [CONTROL]:
            raise ConfigError("A shadow has one arm, which is not control.", fix="Live is what it is compared with.")
        return tuple(arms)
    if CONTROL not in names:
        arms.insert(0, ExperimentArm(CONTROL, Overlay()))
    if len(arms) < 2:
        raise ConfigError("There is nothing to compare control with.", fix="Name another arm.")
    return tuple(sorted(arms, key=lambda arm: arm.name != CONTROL))


def _read_arm(given: object, where: str) -> ExperimentArm:
    if not isinstance(given, Mapping):
        raise ConfigError(f"{where} is not an object.", fix='Write {"name": "new", "overlay": {...}}.')
    for key in given:
        if key not in ("name", "overlay", "weight", "stopped"):
            raise ConfigError(f"{where} has an unknown key '{key}'.", fix="It may have: name, overlay, weight.")
    name, weight = given.get("name"), given.get("weight", 1.0)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigError(f"{where} has no name that can be used.", fix="Letters, digits, dots, dashes; at most 64.")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight <= 1000:
        raise ConfigError(f"{where}.weight is not a number above 0.", fix="1 for all arms makes them equal.")
    overlay = read_overlay(given.get("overlay") or {}, f"{where}.overlay")
    return ExperimentArm(name, overlay, float(weight), str(given.get("stopped") or ""))


def from_row(row: ExperimentRow) -> Experiment:
    """Raises `ConfigError` when what is stored cannot be read: then it is not served."""
    kind, shares = _one_of(row.kind, ExperimentKind), cast(Any, row.shares)
    same = {name: getattr(row, name) for name in _SAME}
    return Experiment(
        kind=kind,
        unit=_one_of(row.unit, ExperimentUnit),
        state=_one_of(row.state, ExperimentStage),
        arms=read_arms(kind, row.arms),
        shares=tuple(TrafficShare(float(one["at"]), float(one["share"])) for one in shares),
        plan=row.plan if isinstance(row.plan, Mapping) else {},
        **same,
    )


def to_row(experiment: Experiment) -> ExperimentRow:
    same = {name: getattr(experiment, name) for name in (*_SAME, "kind", "unit", "state", "live")}
    return ExperimentRow(
        arms=[arm.to_json() for arm in experiment.arms],
        shares=[{"at": one.at, "share": one.share} for one in experiment.shares],
        plan=dict(experiment.plan),
        **same,
    )


def _one_of(value: str, known: Any) -> Any:
    if value not in get_args(known):
        raise ConfigError(f"'{value}' is none that we know.", fix=f"One of: {', '.join(get_args(known))}.")
    return value
