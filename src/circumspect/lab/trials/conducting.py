"""Conducting an experiment: make one, start it, change its share, stop it, decide; and the look that guards take.

Each change is one transaction that reads the experiment under a lock, changes it, and writes it and the log. Workers
see it when they next look.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, cast

import sqlalchemy as sa

from circumspect.errors import CircumspectError, ConfigError
from circumspect.lab.trials import experiments as words
from circumspect.lab.trials.experiments import Experiment, from_row, read_arms, to_row
from circumspect.lab.trials.measures import ExperimentReport, find_stops, next_step, read_plan, report
from circumspect.lab.trials.rollout import RolloutStep
from circumspect.ports import Clock, Ids
from circumspect.stores import SqlStore, action_log, experiments
from circumspect.stores.arm_sums import ArmSums, sum_arms
from circumspect.stores.people import VisibleTenants
from circumspect.values import Json, JsonObject, TenantId

log = logging.getLogger(__name__)

GUARD = "guard"
"""Who did it, in the log, where nobody did."""
_CASES = "An arm for cases may choose the controller and the prompts of reviews."
_SHADOW = ("reads", "budget_usd", "budget_tokens")

Log = Callable[[sa.Connection, Experiment], None]


class UnknownExperiment(ConfigError):
    code = "unknown_experiment"


def draft(
    tenant: TenantId,
    id_: str,
    *,
    name: str,
    arms: object,
    kind: str = "ab",
    unit: str = "conversation",
    plan: Mapping[str, Json] | None = None,
    note: str = "",
    by: str,
    at: float,
) -> Experiment:
    """A new experiment, not started. Raises `ConfigError` for what it cannot be."""
    if kind not in ("ab", "shadow") or unit not in ("conversation", "case"):
        raise ConfigError(
            f"There is no experiment of kind '{kind}' on a {unit}.", fix="ab or shadow; conversation or case."
        )
    chosen = dict(plan or {})
    if kind == "shadow":
        _check_shadow(chosen)
    else:
        read_plan(chosen)
    made = read_arms(cast(words.ExperimentKind, kind), arms)
    if unit == "case":
        _check_cases(made)
    return Experiment(
        tenant=tenant,
        id=id_,
        name=name,
        kind=cast(words.ExperimentKind, kind),
        unit=cast(words.ExperimentUnit, unit),
        state="draft",
        arms=made,
        shares=(),
        plan=chosen,
        created_by=by,
        created_at=at,
        note=note,
    )


def _check_cases(arms: tuple[words.ExperimentArm, ...]) -> None:
    for arm in arms:
        said = arm.overlay.to_json()
        if more := sorted(said.keys() - {"controller", "prompts"}):
            raise ConfigError(f"The arm '{arm.name}' changes {more[0]}, which no review knows.", fix=_CASES)
        if wrong := [name for name in arm.overlay.prompts if not name.startswith("review")]:
            raise ConfigError(f"No review uses the prompt '{wrong[0]}'.", fix=_CASES)


def _check_shadow(plan: Mapping[str, Json]) -> None:
    for key, value in plan.items():
        if key not in _SHADOW:
            raise ConfigError(f"plan has an unknown key '{key}'.", fix=f"A shadow's may have: {', '.join(_SHADOW)}.")
        if key == "reads" and value not in ("recorded", "live"):
            raise ConfigError("plan.reads is neither recorded nor live.", fix="recorded asks no tool at all.")
        if key != "reads" and (isinstance(value, bool) or not isinstance(value, int | float) or value <= 0):
            raise ConfigError(f"plan.{key} is not a number above 0.", fix="Leave it out for no bound.")


def create(connection: sa.Connection, experiment: Experiment, written: Log) -> Experiment:
    experiments.put(connection, to_row(experiment))
    written(connection, experiment)
    return experiment


def change(
    connection: sa.Connection, seen: VisibleTenants, id_: str, step: Callable[[Experiment], Experiment], written: Log
) -> Experiment:
    """Raises `UnknownExperiment`; and `ExperimentState` when it cannot be done now."""
    row = experiments.get(connection, seen, id_, lock=True)
    if row is None:
        raise UnknownExperiment(f"There is no experiment '{id_}'.", fix="`circumspect experiments list` shows them.")
    before = from_row(row)
    after = step(before)
    if after != before:
        experiments.change(connection, to_row(after))
        written(connection, after)
    return after


def load_experiment(
    connection: sa.Connection, seen: VisibleTenants, id_: str, now: float
) -> tuple[Experiment, tuple[ArmSums, ...]]:
    """An experiment, and what its finished conversations came to."""
    row = experiments.get(connection, seen, id_)
    if row is None:
        raise UnknownExperiment(f"There is no experiment '{id_}'.", fix="`circumspect experiments list` shows them.")
    experiment = from_row(row)
    if experiment.kind == "shadow":
        return experiment, ()
    quiet = now - read_plan(experiment.plan).quiet_seconds if experiment.unit == "conversation" else None
    return experiment, tuple(sum_arms(connection, experiment.tenant, experiment.id, quiet_since=quiet))


def find_experiment_id(connection: sa.Connection, seen: VisibleTenants, text: str) -> str:
    """The id of the experiment that somebody calls by its id or its name."""
    if experiments.get(connection, seen, text) is not None:
        return text
    rows = [row for row in experiments.list_experiments(connection, seen, None, 1000) if row.name == text]
    if len(rows) > 1:
        ids = ", ".join(row.id for row in rows[:5])
        raise UnknownExperiment(f"There are {len(rows)} experiments named '{text}'.", fix=f"Say which: {ids}.")
    if not rows:
        raise UnknownExperiment(f"There is no experiment '{text}'.", fix="`circumspect experiments list` shows them.")
    return rows[0].id


def make_report(experiment: Experiment, sums: tuple[ArmSums, ...]) -> ExperimentReport | None:
    """None for a shadow, which has no arms to compare."""
    return None if experiment.kind == "shadow" else report(experiment, read_plan(experiment.plan), sums)


def next_steps(experiment: Experiment, sums: tuple[ArmSums, ...], now: float) -> Mapping[str, RolloutStep]:
    """What the ladder says, by arm."""
    measuring = read_plan(experiment.plan)
    return {arm.name: next_step(experiment, measuring, sums, arm.name, now) for arm in experiment.treatments}


def make_log_writer(name: str, by: str, id_: str, at: datetime, detail: JsonObject | None = None) -> Log:
    """The line in the log of what operators did."""

    def write_log(connection: sa.Connection, experiment: Experiment) -> None:
        action_log.log_action(
            connection, id=id_, at=at, operator=by, action=name, tenant=experiment.tenant, subject=experiment.id,
            detail=detail,
        )  # fmt: skip

    return write_log


# --- by itself ------------------------------------------------------------------------------------------------------


async def guard(store: SqlStore, clock: Clock, ids: Ids) -> int:
    """Look at all that run, and stop the arms that a guard says are harmful. How many were stopped. Every worker does
    this; the lock on the row makes it once."""
    stopped = 0
    for row in await store.tx(experiments.live):
        if row.kind != "ab" or row.state != "running":
            continue
        try:
            stopped += await _guard_experiment(store, row.tenant, row.id, clock, ids)
        except CircumspectError as problem:
            log.warning("an experiment could not be looked at", extra={"experiment": row.id, "problem": str(problem)})
    return stopped


async def _guard_experiment(store: SqlStore, tenant: TenantId, id_: str, clock: Clock, ids: Ids) -> int:
    now = clock.now()
    seen = frozenset({tenant})
    # Guards do not wait for a conversation to be over: harm is to be found early, and it only ever grows.
    row = await store.tx(experiments.get, seen, id_)
    if row is None:
        return 0
    experiment = from_row(row)
    measuring = read_plan(experiment.plan)
    watched = {guard.metric.name for guard in measuring.guards}
    harmful = find_stops(experiment, measuring, await store.tx(sum_arms, tenant, id_, only=watched))
    for arm, stop in harmful.items():
        why = stop.why
        about: dict[str, Any] = {"arm": arm, **stop.to_json()}
        written = make_log_writer("stop_arm", GUARD, ids.new("act"), now, about)

        def step(one: Experiment, arm: str = arm, why: str = why) -> Experiment:
            running = one.state == "running" and not one.arm(arm).stopped
            return words.stop_arm(one, arm, why, now.timestamp()) if running else one

        await store.tx(change, seen, id_, step, written)
        log.warning("an arm was stopped", extra={"tenant": tenant, "experiment": id_, "arm": arm, "problem": why})
    return len(harmful)


async def stop_by_itself(store: SqlStore, experiment: Experiment, why: str, clock: Clock, ids: Ids) -> None:
    now = clock.now()

    def step(one: Experiment) -> Experiment:
        return words.stop(one, why, now.timestamp()) if one.live else one

    written = make_log_writer("stop_experiment", GUARD, ids.new("act"), now, {"why": why})
    await store.tx(change, frozenset({experiment.tenant}), experiment.id, step, written)
    log.warning("an experiment was stopped", extra={"experiment": experiment.id, "problem": why})


async def climb(store: SqlStore, clock: Clock, ids: Ids) -> int:
    """Where the plan says so, give an arm that does well the next share of the ladder. How many got one."""
    climbed = 0
    for row in await store.tx(experiments.live):
        if row.kind == "ab" and row.state == "running" and isinstance(row.plan, Mapping) and row.plan.get("climb"):
            try:
                climbed += await _climb_experiment(store, row.tenant, row.id, clock, ids)
            except CircumspectError as problem:
                log.warning("a share could not be raised", extra={"experiment": row.id, "problem": str(problem)})
    return climbed


async def _climb_experiment(store: SqlStore, tenant: TenantId, id_: str, clock: Clock, ids: Ids) -> bool:
    now, seen = clock.now(), frozenset({tenant})
    experiment, sums = await store.tx(load_experiment, seen, id_, now.timestamp())
    if len(experiment.treatments) != 1:
        return False  # several arms share what there is; which of them gets more is for a person to say
    (step,) = next_steps(experiment, sums, now.timestamp()).values()
    if step.move != "up":
        return False

    def raise_share(one: Experiment) -> Experiment:
        same = one.state == "running" and one.shares == experiment.shares
        return words.set_share(one, step.share / 100, now.timestamp()) if same else one

    written = make_log_writer("set_share", GUARD, ids.new("act"), now, {"share": step.share / 100, "why": step.why})
    after = await store.tx(change, seen, id_, raise_share, written)
    return after.share == step.share / 100
