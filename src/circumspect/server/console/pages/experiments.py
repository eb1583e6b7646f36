"""Experiments: which run, what each says now, and one of them with its arms, metrics, guards and history.

Looking is for operators and reviewers; what an administrator may do with one is in `experiment_actions`. Making one
stays with the API and the command, where its plan can be written down and kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Depends, Query, Request
from starlette.responses import Response

from circumspect.errors import CircumspectError
from circumspect.lab.trials.conducting import UnknownExperiment, found, next_steps, reported
from circumspect.lab.trials.experiments import Experiment, of_row
from circumspect.lab.trials.measures import planned, read_plan
from circumspect.server.access import services_of
from circumspect.server.console import navigation, page_routes
from circumspect.server.console.experiment_comparison import (
    LADDER,
    Said,
    changes,
    guarding,
    history,
    measured,
    prompts_named,
    sayings,
)
from circumspect.server.console.read_pool import read
from circumspect.server.console.rendering import answer, page
from circumspect.server.console.sentences import told
from circumspect.server.console.visitors import Visitor, tenants_of, visitor
from circumspect.server.if_match import fingerprint
from circumspect.server.problems import not_found
from circumspect.server.responses import IdPath, page_after, paged, visible
from circumspect.server.routes import prompts as prompts_api
from circumspect.stores import action_log, experiments, prompts
from circumspect.stores.action_log import LogRow
from circumspect.stores.codec import moment as moment_of
from circumspect.stores.experiments import ExperimentRow, Sums, Tenants
from circumspect.values import TenantId

navigation.add(
    navigation.Entry(
        "nav-experiments", "/experiments", 65, ("operator", "reviewer"), also=("/shadows", "/prompt-versions")
    )
)
router = page_routes.router()
Looking = Annotated[Visitor, Depends(visitor("operator", "reviewer"))]
TenantAsked = Annotated[str, Query(max_length=64)]
AfterAsked = Annotated[str | None, Query(max_length=400)]
Done = Annotated[str, Query(max_length=10)]
DONE = ("start", "share", "stop", "finish")
ROWS = 20
HISTORY = 100
UNREADABLE = (CircumspectError, ValueError, TypeError, KeyError)
"""What a stored experiment may do that another release has written."""


@dataclass(frozen=True, slots=True)
class Listed:
    row: ExperimentRow
    experiment: Experiment | None
    """None when what is stored cannot be read: then it is not served either."""
    says: Sequence[Said]


@router.get("/experiments")
async def listing(request: Request, who: Looking, tenant: TenantAsked = "", after: AfterAsked = None) -> Response:
    services = services_of(request)
    seen, now = visible(who.principal, tenant or None), services.clock.now().timestamp()
    rows = await read(services, _listed, seen, page_after(after), now)
    shown = paged(rows, ROWS, lambda one: one, lambda one: (one.row.created_at, one.row.id))  # type: ignore[arg-type,return-value]
    names = await tenants_of(request, who)
    return answer(
        request,
        who,
        "experiments/page.html",
        "experiments/_fragment.html",
        rows=shown["items"],
        following=shown["next"],
        told=lambda sentence: told(sentence, who.words),
        tenant=tenant,
        example=tenant or next(iter(names), "shop"),
        tenants=names,
        at=moment_of,
    )


def _listed(connection: sa.Connection, seen: Tenants, after: Any, now: float) -> list[Listed]:
    return [_told(connection, row, now) for row in experiments.listed(connection, seen, after, ROWS + 1, "ab")]


def _told(connection: sa.Connection, row: ExperimentRow, now: float) -> Listed:
    """Only what runs is added up, and only the metric that decides: this is one of many rows."""
    try:
        experiment = of_row(row)
        measuring = read_plan(experiment.plan)
    except UNREADABLE:
        return Listed(row, None, ())
    if experiment.state != "running":
        return Listed(row, experiment, sayings(experiment, {}))
    quiet = now - measuring.quiet_seconds if experiment.unit == "conversation" else None
    only = {measuring.metric.name}
    sums = experiments.sums(connection, experiment.tenant, experiment.id, quiet_since=quiet, only=only)
    return Listed(row, experiment, sayings(experiment, planned(experiment, measuring, sums)))


@router.get("/experiments/{experiment_id}")
async def detail(request: Request, who: Looking, experiment_id: IdPath, done: Done = "") -> Response:
    return await shown(request, who, experiment_id, done=done if done in DONE else "")


async def shown(
    request: Request, who: Visitor, id_: str, *, done: str = "", status: int = 200, quicker: str | None = None
) -> Response:
    """One experiment. `quicker`: somebody changed it before what was asked for could be done, and why it was not."""
    services, now = services_of(request), services_of(request).clock.now().timestamp()
    try:
        experiment, sums, every, log, there = await read(services, _looked_up, visible(who.principal, None), id_, now)
    except UnknownExperiment:
        raise not_found("experiment") from None
    if experiment.kind == "shadow":
        return page_routes.back(f"/shadows/{experiment.id}")
    measuring = read_plan(experiment.plan)

    def told() -> dict[str, Any]:
        report = reported(experiment, sums)
        assert report is not None
        comparisons = {arm: said[0] for arm, said in report.comparisons.items()}
        return {
            "says": sayings(experiment, comparisons),
            "metrics": measured(experiment, measuring, report, who.words),
            "steps": next_steps(experiment, sums, now),
            "guards": guarding(experiment, measuring, every, who.words),
            "units": sum(one.units for one in sums),
        }

    async with services.computing:
        values = await asyncio.to_thread(told)
    return page(
        request,
        who,
        "experiments/detail.html",
        status,
        measuring=measuring,
        done=done,
        quicker=quicker,
        **about(experiment, log, there, who),
        **values,
        tenants=await tenants_of(request, who),
    )


def _looked_up(
    connection: sa.Connection, seen: Tenants, id_: str, now: float
) -> tuple[Experiment, tuple[Sums, ...], Sequence[Sums], Sequence[LogRow], Collection[str]]:
    experiment, sums = found(connection, seen, id_, now)
    every: Sequence[Sums] = ()
    if experiment.kind == "ab":
        watched = {guard.metric.name for guard in read_plan(experiment.plan).guards}
        every = experiments.sums(connection, experiment.tenant, experiment.id, only=watched)
    return experiment, sums, every, *kept(connection, experiment)


def kept(connection: sa.Connection, experiment: Experiment) -> tuple[Sequence[LogRow], Collection[str]]:
    """What was done with it, and which of the versions of prompts that its arms name are there."""
    log = action_log.list_actions(connection, allowed={experiment.tenant}, subject=experiment.id, limit=HISTORY)
    there = {id_ for id_ in prompts_named(experiment) if _is_there(connection, experiment.tenant, id_)}
    return log, there


def _is_there(connection: sa.Connection, tenant: TenantId, id_: str) -> bool:
    return prompts_api.shipped_one(id_) is not None or prompts.get(connection, tenant, id_) is not None


def about(experiment: Experiment, log: Sequence[LogRow], there: Collection[str], who: Visitor) -> dict[str, Any]:
    """What the pages of an experiment and of a shadow have in common."""
    return {
        "experiment": experiment,
        "seen": fingerprint(experiment),
        "ladder": [share for share in LADDER if share != experiment.share],
        "changes": changes,
        "told": lambda sentence: told(sentence, who.words),
        "there": there,
        "history": history(log, who.words),
        "at": moment_of,
    }
